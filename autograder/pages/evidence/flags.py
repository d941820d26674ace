"""Flags: their kinds, and the file of a lab's flags.

A flag is evidence and no verdict. It says what was seen and how it may have come about innocently;
it never changes a mark, and no student's page shows it.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

from autograder.files import write_whole
from autograder.pages.render import render_page


@dataclass(frozen=True)
class Kind:
    """A kind of flag.

    innocent: how it comes about without anything wrong; is_common: whether many have it, so that
    the class report counts them only.
    """

    title: str
    innocent: str
    is_common: bool = False


KINDS = {
    "same": Kind(
        "The same answers in several submissions",
        "They may have worked together, as far as the course allows it. One may have uploaded for "
        "both. Both may have taken answers that the course or the kit has published.",
    ),
    "server": Kind(
        "An inference server is used",
        "The student may have tried it for comparison, and no answer may depend on it.",
    ),
    "given": Kind(
        "Parts of the handed-out notebook are missing or changed",
        "The student may have moved the work to a new notebook, or another tool converted it. The "
        "grader uses its own copy of these cells.",
        is_common=True,
    ),
    "todo": Kind(
        "The TODO line of an unwritten part is gone",
        "The student may have begun to write this part, and stopped.",
        is_common=True,
    ),
}


@dataclass(frozen=True)
class Flag:
    """A sign to look at. kind: a key of KINDS; seen: a sentence on what was found."""

    kind: str
    students: tuple[str, ...]
    seen: str


def write_flags(out: Path, lab: str, flags: Sequence[Flag]) -> Path:
    """Write a lab's flags: `integrity/LAB.html` for people, `LAB.json` for the class report."""
    path = out / "integrity" / f"{lab}.html"
    content = json.dumps([asdict(flag) for flag in flags], indent=1)
    write_whole(path.with_suffix(".json"), content.encode())
    groups = [
        (kind, [flag for flag in flags if KINDS[flag.kind] is kind]) for kind in KINDS.values()
    ]
    write_whole(path, render_page("integrity.html", lab=lab, groups=groups))
    return path


def read_flags(out: Path, lab: str) -> list[Flag]:
    """The flags that were written for a lab, of known kinds; none if no file was written."""
    try:
        rows = json.loads((out / "integrity" / f"{lab}.json").read_bytes())
        flags = [Flag(row["kind"], tuple(row["students"]), row["seen"]) for row in rows]
        return [flag for flag in flags if flag.kind in KINDS]
    except (OSError, ValueError, TypeError, KeyError):
        return []
