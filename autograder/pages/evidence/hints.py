"""At which hint people stop, counted from the outputs of the notebooks that were handed in.

A student can change these outputs, or clear them. No mark depends on them, and nobody is named.
"""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path

from autograder.builder.source import find_lab
from autograder.files import write_whole
from autograder.pages.evidence.handed_in import HandedIn
from labkit.checks.hints.tries import LAST_STEP


@dataclass(frozen=True)
class HintRow:
    """An exercise. passed and stopped: how many passed its visible checks after so many hints, and
    how many had this as their last hint and did not pass.
    """

    exercise: str
    passed: list[int]
    stopped: list[int]


def write_hints(out: Path, lab: str, everybody: Iterable[HandedIn]) -> Path:
    """Write the counts of a lab, for the class report."""
    counts = Counter(
        (name, tries.is_passed, tries.step)
        for each in everybody
        for name, tries in each.tries.items()
        if tries.is_passed or tries.step
    )
    steps = range(LAST_STEP + 1)
    rows = [
        HintRow(name, *([counts[name, is_passed, step] for step in steps]
                        for is_passed in (True, False)))
        for name in (cell.name for cell in find_lab(lab).marked)
        if any(counts[name, is_passed, step] for is_passed in (True, False) for step in steps)
    ]  # fmt: skip
    path = _path(out, lab)
    write_whole(path, json.dumps([asdict(row) for row in rows]).encode())
    return path


def read_hints(out: Path, lab: str) -> list[HintRow]:
    """The counts that were written for a lab; none if no file was written."""
    try:
        return [HintRow(**row) for row in json.loads(_path(out, lab).read_bytes())]
    except (OSError, ValueError, TypeError):
        return []


def _path(out: Path, lab: str) -> Path:
    return out / "integrity" / f"{lab}.hints.json"
