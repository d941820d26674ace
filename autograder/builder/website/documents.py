"""The documents of the repository as pages: every *.md of its top and below docs, data/README."""

import re
from pathlib import Path

from autograder.places import NOTEBOOKS, REPOSITORY

PATTERNS = ("*.md", "docs/**/*.md", "data/README.md")
LINK = re.compile(r"(?<=\]\()[^)#:\s]+(?=[)#])")


def document_files() -> dict[str, bytes]:
    """The documents, and the files to which they link, by path in the repository."""
    files: dict[str, bytes] = {}
    for path in sorted(path for pattern in PATTERNS for path in REPOSITORY.glob(pattern)):
        text = path.read_text(encoding="utf-8")
        for target in LINK.findall(text):
            linked = (path.parent / target).resolve()
            if linked.is_file() and linked.suffix not in (".md", ".ipynb"):
                files[linked.relative_to(REPOSITORY).as_posix()] = linked.read_bytes()
        files[path.relative_to(REPOSITORY).as_posix()] = with_pages(text, path.parent).encode()
    return files


def with_pages(text: str, folder: Path) -> str:
    """A document of this folder whose links to notebooks lead to the pages of the labs."""

    def page(found: re.Match) -> str:
        is_notebook = (folder / found[0]).resolve().parent == NOTEBOOKS
        return found[0].replace(".ipynb", ".md") if is_notebook else found[0]

    return LINK.sub(page, text)


def title_of(text: str) -> str:
    """What stands after the first #."""
    return text.partition("# ")[2].partition("\n")[0]


def first_paragraph(text: str) -> str:
    """What stands below the title, on one line."""
    return " ".join(text.partition("# ")[2].split("\n\n")[1].split())


def first_sentence(text: str) -> str:
    """The sentence below the title."""
    return re.match(r".+?\.(?=\s|$)|.+", first_paragraph(text))[0]
