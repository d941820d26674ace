"""Tables in documents, made from the sources: nobody writes points, names and dates twice."""

import ast
from collections.abc import Mapping
from pathlib import Path

from autograder.builder.course_page import page_tables
from autograder.builder.source import REPOSITORY, Lab, read_labs

README = REPOSITORY / "README.md"
COURSE_PAGE = REPOSITORY / "docs/course.md"


def documents() -> dict[Path, bytes]:
    """README and the students' page, with their tables as they should be.

    Raises: ValueError if a document lacks the marks around a table.
    """
    return {
        README: filled(README, {"labs": _table()}),
        COURSE_PAGE: filled(COURSE_PAGE, page_tables()),
    }


def filled(path: Path, tables: Mapping[str, str]) -> bytes:
    """A document with these tables between their marks."""
    text = path.read_text(encoding="utf-8")
    for name, table in tables.items():
        begin, end = (
            f"<!-- {name}: `autograder build` writes this -->\n",
            f"<!-- end of {name} -->\n",
        )
        before, has_begin, rest = text.partition(begin)
        _, has_end, after = rest.partition(end)
        if not has_begin or not has_end:
            raise ValueError(f"{path.name} has no lines {begin.strip()!r} and {end.strip()!r}")
        text = before + begin + table + end + after
    return text.encode()


def _table() -> str:
    rows = ["| lab | what students build | points | by hand |", "|---|---|---|---|"]
    return "\n".join([*rows, *map(_row, read_labs())]) + "\n"


def _row(lab: Lab) -> str:
    by_checks = sum(cell.points for cell in lab.marked)
    by_hand = sum(cell.points for cell in lab.cells if cell.kind == "written")
    link = f"[{lab.name}](notebooks/{lab.name}.ipynb)"
    return f"| {link} | {summary(lab)} | {by_checks:g} | {by_hand:g} |"


def summary(lab: Lab) -> str:
    """What students build: the first line of the package that ships beside the answers."""
    text = (REPOSITORY / f"labkit/labs/{lab.topic}/__init__.py").read_text(encoding="utf-8")
    return ast.get_docstring(ast.parse(text)).splitlines()[0].removesuffix(".")
