"""The documents for students as pages, and the links to them in notebooks."""

import html
import re

import mistune

from autograder.builder.readme import COURSE_PAGE, documents
from autograder.places import REPOSITORY

PAGE = """\
<!DOCTYPE html>
<html lang="en"><head><meta charset="utf-8"><title>{title}</title>
<style>body {{ font-family: sans-serif; max-width: 60em; margin: 2em auto; padding: 0 1em }}
td, th {{ text-align: left; padding: 0.3em 1em 0.3em 0 }}</style></head>
<body><h1>{title}</h1>
{body}
</body></html>
"""
FOR_STUDENTS = (COURSE_PAGE, REPOSITORY / "docs/reading.md", REPOSITORY / "docs/glossary.md")
_IN_THE_REPOSITORY = re.compile(r"\]\(\.\./docs/(\w+)\.md")


def pages() -> dict[str, str]:
    """The page of each document, by file name."""
    to_html = mistune.create_markdown(escape=False, plugins=["table"])
    found = {}
    for path in FOR_STUDENTS:
        text = documents().get(path, path.read_bytes()).decode()
        title, _, body = text.removeprefix("# ").partition("\n")
        body = re.sub(r'href="(\w+)\.md"', r'href="\1.html"', to_html(body))
        found[f"{path.stem}.html"] = PAGE.format(title=html.escape(title), body=body)
    return found


def with_links(prose: str, address: str) -> str:
    """The prose of a notebook with its links to documents, as a student has them.

    address: where the course is read; "" if the pages lie beside the notebook, as in a zip.
    """
    return _IN_THE_REPOSITORY.sub(
        rf"]({address.rstrip('/') + '/' if address else ''}\1.html", prose
    )
