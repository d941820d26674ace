"""Cells that contain their text twice; two editors of one notebook may cause this.

If a handed-out text stands twice, a tool did it. Then each cell that is exactly the same text twice
is read once, and a note asks a person to look.
"""

from collections.abc import Sequence
from dataclasses import replace

from autograder.intake.master import Master
from autograder.intake.read import SubmittedCell
from autograder.names import squeeze

FEWEST_CHARS = 12  # shorter texts may be meant so: "1\n1"
BETWEEN = ("", "\n", "\n\n")


def read_once(
    master: Master, submitted: Sequence[SubmittedCell]
) -> tuple[list[SubmittedCell], list[str]]:
    """The cells as they were before they were doubled, and a note if any was."""
    halves = {i: half for i, cell in enumerate(submitted) if (half := half_of(cell.source))}
    handed_out = {squeeze(cell.source) for cell in master.cells}
    if not any(squeeze(half) in handed_out for half in halves.values()):
        return list(submitted), []
    once = [replace(cell, source=halves.get(i, cell.source)) for i, cell in enumerate(submitted)]
    n = len(halves)
    told = "the text of 1 cell stands twice in it" if n == 1 else (
        f"the text of {n} cells stands twice in them"
    )  # fmt: skip
    return once, [f"{told}: it was read once; a person has to see whether the answers are whole"]


def half_of(text: str) -> str:
    """The half of a text that is the same text twice; else ""."""
    for between in BETWEEN:
        n = (len(text) - len(between)) // 2
        if n >= FEWEST_CHARS and text == text[:n] + between + text[:n]:
            return text[:n]
    return ""
