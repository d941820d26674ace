"""Marks for other systems: a table, Canvas, Moodle, Gradescope.

Only complete marks are exported. A sentence reports each person without a mark, and each mark that
belongs to no person on the roster. Numbers are totals after the deduction for lateness, rounded to
the cent; `points` scales them to the points of a lab elsewhere, bonus included.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from autograder.course.roster import Roster
from autograder.exports import canvas, gradescope, moodle, table
from autograder.exports.sheet import ExportError, gather
from autograder.files import write_whole
from autograder.record.folder import roster_of
from labkit.models.own_numbers import printable

FORMATS = {
    "csv": table.as_table,
    "canvas": canvas.as_gradebook,
    "moodle": moodle.as_worksheet,
    "gradescope": gradescope.as_autograder,
}
WRITTEN_BACK = ("canvas", "moodle")  # into the platform's own export, which must be a fresh one

__all__ = ["FORMATS", "ExportError", "ExportOrder", "export", "points_of"]


@dataclass(frozen=True)
class ExportOrder:
    """The settings of an export.

    labs: if empty, all that have results; points: the points of a lab elsewhere, if they differ;
    columns: the LMS's name of a lab, if it does not contain the lab's name.
    """

    form: str
    labs: Sequence[str] = ()
    points: Mapping[str, float] = field(default_factory=dict)
    columns: Mapping[str, str] = field(default_factory=dict)


def export(out: Path, order: ExportOrder, path: Path, roster: Roster | None = None) -> list[str]:
    """Write the marks of an output folder to `path`; returns a sentence for each mark left out.

    Without a roster, the folder's own is used if it has one. Raises: ExportError, GradebookError.
    """
    if order.form not in FORMATS:
        raise ExportError(f"there is no format {order.form!r}; there are {', '.join(FORMATS)}")
    if path.is_dir():
        raise ExportError(f"{path} is a folder: give -o the file to write")
    if roster is None and order.form not in WRITTEN_BACK:
        roster = roster_of(out, None)
    sheet = gather(out, order.labs, order.points, roster)
    write_whole(path, FORMATS[order.form](sheet, order.columns))
    return [printable(note) for note in sheet.notes]  # names in them come from students


def points_of(given: Mapping[str, str]) -> dict[str, float]:
    """What labs are worth, read from text. Raises: ExportError."""
    for lab, text in given.items():
        if not re.fullmatch(r"\d{1,6}(\.\d{1,4})?", text, re.ASCII) or not float(text):
            raise ExportError(f"--points needs a number above 0 for {lab}, got {text}")
    return {lab: float(text) for lab, text in given.items()}
