"""The front page: what moves, the labs, the guides; and the menu of all pages."""

from collections.abc import Iterable, Mapping

from autograder.builder.readme import summary
from autograder.builder.source import Lab, read_course, read_labs
from autograder.builder.website.documents import first_paragraph, first_sentence, title_of
from autograder.builder.website.players import player_files

MOVING = {  # what the player of a lab shows
    "batching": "Two servers, and what each request waits for",
    "speculative": "Speculation, token by token",
    "flash_attention": "FlashAttention, tile by tile",
}
READERS = {  # all other documents are for developers
    "students": ("docs/course.md", "docs/glossary.md", "docs/reading.md"),
    "TAs": ("README.md", "docs/submissions.md", "docs/marks.md", "docs/cluster.md"),
    "lecturers": (
        "docs/lecturers.md",
        "docs/corrections.md",
        "docs/platforms.md",
        "docs/accessibility.md",
    ),
}
PAGE = """\
# {title}

{first}

{moving}

## The labs

| lab | what you build |
|---|---|
{labs}

{guides}

{menu}
"""
GUIDES = """\
## For {reader}

| guide | what it says |
|---|---|
{rows}"""
MENU = """\
```{{toctree}}
:hidden:
:caption: {caption}

{pages}
```"""


def front_files(
    documents: Mapping[str, bytes],
    gallery: Iterable[str],
    reference: Iterable[str],
) -> dict[str, bytes]:
    """The front page, by its path in the site."""
    texts = {name: text.decode() for name, text in documents.items() if name.endswith(".md")}
    guides = _by_reader(texts)
    labs = read_labs()
    menu = {
        "Labs": [f"notebooks/{lab.name}" for lab in labs],
        **{f"For {reader}": names for reader, names in guides.items()},
        "Figures": [name for name in gallery if name.endswith(".md")],
        "labkit": reference,
    }
    page = PAGE.format(
        title=read_course().title,
        first=first_paragraph(texts["README.md"]),
        moving="\n\n".join(_moving(lab) for lab in labs if lab.topic in MOVING),
        labs="\n".join(f"| [](notebooks/{lab.name}.md) | {summary(lab)} |" for lab in labs),
        guides="\n\n".join(
            GUIDES.format(reader=reader, rows="\n".join(_row(name, texts) for name in names))
            for reader, names in guides.items()
        ),
        menu="\n\n".join(
            MENU.format(caption=caption, pages="\n".join(pages)) for caption, pages in menu.items()
        ),
    )
    return {"index.md": page.encode()}


def _by_reader(names: Iterable[str]) -> dict[str, list[str]]:
    named = {name for group in READERS.values() for name in group}
    mistakes = sorted(name for name in names if name.startswith("docs/mistakes/"))
    groups = READERS | {"developers": sorted(set(names) - named - {*mistakes})}
    groups["students"] = (*groups["students"], *mistakes)
    return {reader: [name for name in group if name in names] for reader, group in groups.items()}


def _row(name: str, texts: Mapping[str, str]) -> str:
    return f"| [{title_of(texts[name])}]({name}) | {first_sentence(texts[name])} |"


def _moving(lab: Lab) -> str:
    """The section with a lab's player, below its figures."""
    player, _ = player_files(lab)
    return f"**[{MOVING[lab.topic]}](notebooks/{lab.name}.md)**\n\n{player.replace('../', '')}"
