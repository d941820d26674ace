"""What a flag is, the kinds there are, and where a lab's flags are kept.

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
    "same_file": Kind(
        "The same file under several names",
        "One student may have uploaded for both. A folder may have been copied in the LMS. A group "
        "may have handed in together without being registered.",
    ),
    "same_answers": Kind(
        "The same answers in different files",
        "They may have worked together, as far as the course allows it. Both may have taken "
        "answers that the course or the kit has published.",
    ),
    "same_id": Kind(
        "One student id in several submissions",
        "A student may have passed on a notebook for its first cells, or mistyped the id.",
    ),
    "other_id": Kind(
        "A student id that is not the submitter's",
        "The student may have mistyped the id or used an old one. The roster may be out of date.",
    ),
    "accounts": Kind(
        "Several people ran cells of one notebook in Colab",
        "They may be a private and a university account of one person. A TA may have helped in "
        "office hours.",
    ),
    "same_account": Kind(
        "One Colab account ran cells of several submissions",
        "The students may share a computer. They may work as a pair, if the course allows it.",
    ),
    "server": Kind(
        "An inference server is used",
        "The student may have tried it for comparison, and no answer may depend on it.",
    ),
    "grader": Kind(
        "Code that reaches for the grader or the interpreter",
        "The student may have debugged, or copied a recipe for freeing memory. The marks do not "
        "change: they are computed outside the student's process.",
    ),
    "starter": Kind(
        "Parts of the handed-out notebook are missing or changed",
        "The student may have moved the work to a new notebook, or another tool converted it. The "
        "grader uses its own copy of these cells.",
        is_common=True,
    ),
}


@dataclass(frozen=True)
class Flag:
    """Something to look at. kind: a key of KINDS; seen: what was seen, in a sentence."""

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
    """The flags that were written for a lab; none if nobody has looked yet."""
    try:
        rows = json.loads((out / "integrity" / f"{lab}.json").read_bytes())
        return [Flag(row["kind"], tuple(row["students"]), row["seen"]) for row in rows]
    except (OSError, ValueError, TypeError, KeyError):
        return []
