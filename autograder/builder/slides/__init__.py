"""A lab as slides for a hall: one idea on a slide, figures of the records, answers at a key.

    python -m autograder.builder.slides FOLDER

Nothing is measured. `chosen` says what of a lab belongs into its deck, `text` what fits on a slide.
An answer takes the place of its question: the key down reveals it, and the key right leaves it out.
A deck is one file beside the folder `reveal`, and needs no network.
"""

import re
from collections.abc import Collection, Iterator
from html import escape
from importlib.resources import files
from pathlib import Path

import mistune
from pygments.formatters import HtmlFormatter

from autograder.builder.slides.chosen import Slide, slides_of
from autograder.builder.source import Lab, read_labs
from autograder.files import write_whole

REVEAL = ("reset.css", "reveal.css", "reveal.js")
OWN = ("deck.css", "deck.js")
COLORS = "a11y-high-contrast-light"
PAGE = """\
<!DOCTYPE html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>{title}</title>
{styles}
</head>
<body>
<main class="reveal"><div class="slides">
{slides}
</div></main>
<script src="reveal/reveal.js"></script>
<script src="reveal/deck.js"></script>
</body>
</html>
"""


def write_decks(folder: Path, names: Collection[str] = ()) -> list[Path]:
    """Write the decks of these labs (of all if none is named), and the files that they load."""
    for name, content in _loaded():
        write_whole(folder / "reveal" / name, content)
    decks = {
        folder / f"{lab.name}.html": deck(lab)
        for lab in read_labs()
        if not names or lab.name in names
    }
    for path, page in decks.items():
        write_whole(path, page.encode())
    return [*decks]


def deck(lab: Lab) -> str:
    """The slides of a lab as one page."""
    slides = slides_of(lab)
    styles = "\n".join(
        f'<link rel="stylesheet" href="reveal/{name}">'
        for name in (*REVEAL, *OWN)
        if name.endswith(".css")
    )
    shown = "\n".join(map(_section, slides))
    return PAGE.format(title=escape(slides[0].heading), styles=styles, slides=shown)


def _section(slide: Slide) -> str:
    """A slide as HTML; what is a fragment appears at a key."""
    plain = re.sub(r"^(\d+)\.", r"\1\\.", slide.heading)  # no list
    words = mistune.html(plain).strip().removeprefix("<p>").removesuffix("</p>")
    first, *later = slide.moments or (slide.body,)
    parts = [
        f"<div>{first}</div>",
        *(f'<div class="fragment moment">{each}</div>' for each in later),
    ]
    if slide.answer:
        parts.append(f'<div class="fragment answer">{slide.answer}</div>')
    name = slide.kind.replace(" ", "-")
    return (
        f'<section class="{name}">\n<h2>{words}</h2>\n'
        f'<div class="turns">{"".join(parts)}</div>\n</section>'
    )


def _loaded() -> Iterator[tuple[str, bytes]]:
    """What every deck loads: reveal.js, and the look of our slides."""
    theirs = files("sphinx_revealjs") / "_static/revealjs/dist"
    for name in REVEAL:
        yield name, (theirs / name).read_bytes()
    colors = HtmlFormatter(style=COLORS).get_style_defs(".reveal pre")
    for name in OWN:
        own = (files(__package__) / name).read_text(encoding="utf-8")
        yield name, (colors + own if name.endswith(".css") else own).encode()
