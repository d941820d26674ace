"""Tables in documents, made from the sources: points, names and dates are written once."""

import ast
import re
from collections.abc import Mapping
from pathlib import Path

from autograder.builder.course_page import page_tables
from autograder.builder.source import Lab, read_labs
from autograder.places import REPOSITORY

README = REPOSITORY / "README.md"
COURSE_PAGE = REPOSITORY / "docs/course.md"
LECTURERS = REPOSITORY / "docs/lecturers.md"
_OPENING = re.compile(
    r"After this lab you can\s+\* (?P<aims>.*?)\*\*You need\*\* (?P<needs>.*?)\. "
    r".*?\*\*Time:\*\* (?P<hours>[\d.]+(?: to [\d.]+)?) hours",
    re.DOTALL,
)


def documents() -> dict[Path, bytes]:
    """README, the students' page and the lecturers', with their tables as they should be.

    Raises: ValueError if a document lacks the marks around a table.
    """
    return {
        README: filled(README, {"labs": _table()}),
        COURSE_PAGE: filled(COURSE_PAGE, page_tables()),
        LECTURERS: filled(LECTURERS, {"lessons": _lessons()}),
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


def _lessons() -> str:
    """What students can do after each lab, what they need, and how many hours it takes."""
    rows = ["| lab | after it, students can | they need | hours |", "|---|---|---|---|"]
    for lab in read_labs():
        found = _OPENING.search(lab.cells[0].text)
        if not found:
            rows.append(f"| {lab.name} | | | |")
            continue
        said = found.groupdict()
        aims = [" ".join(aim.split()).rstrip(".;") for aim in said["aims"].split("\n* ")]
        aims = " ".join(f"{aim[0].upper()}{aim[1:]}." for aim in aims)
        needs, hours = (" ".join(said[name].split()) for name in ("needs", "hours"))
        rows.append(f"| {lab.name} | {aims} | {needs} | {hours} |")
    return "\n".join(rows) + "\n"
