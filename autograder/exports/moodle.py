"""Moodle: the grading worksheet of an assignment, with our marks in its Grade column.

Moodle takes it under "Upload grading worksheet". It skips rows whose grade is locked, above the
maximum, or changed there after the worksheet was downloaded. People without a mark are not in it.
"""

from collections.abc import Mapping

from autograder.course.roster import Roster
from autograder.course.worksheet import NO
from autograder.exports.sheet import ExportError, ExportSheet, as_csv, called, check_worth
from autograder.record.marks import as_points

MAX_SHOWN = 12  # headings in one sentence


def as_worksheet(sheet: ExportSheet, columns: Mapping[str, str]) -> bytes:
    """The rows of those who have a mark for the one lab, in the worksheet's language.

    columns: has another name for Grade. Raises: ExportError if the roster is no grading worksheet,
    or of other points.
    """
    lab, roster = sheet.one_lab("Moodle"), sheet.roster
    parts = roster.parts if roster is not None else {}
    grade = next((name for name in (columns.get(lab), parts.get("grade"))
                  if roster is not None and name in roster.columns), None)  # fmt: skip
    if grade is None or not parts:
        raise ExportError(_no_worksheet(roster))
    maximum, is_open = parts.get("maximum", ""), parts.get("is_open", "")
    rows = [roster.columns]
    check_worth(sheet, lab, "Moodle", [each.row.get(maximum, "") for each in sheet.people])
    for person, entries in sheet.rows():
        for entry in entries.values():
            points, whose = as_points(entry.points), called(person)
            if person.row.get(is_open, "").strip().casefold() in NO:
                sheet.notes.append(f"{lab}: Moodle has locked the grade of {whose}, not {points}.")
            elif entry.points > sheet.worth[lab]:
                sheet.notes.append(
                    f"{lab}: the {points} of {whose} are above Moodle's maximum and not written."
                )
            else:
                cells = person.row | {grade: points}
                rows.append([cells.get(column, "") for column in roster.columns])
    return as_csv(rows)


def _no_worksheet(roster: Roster | None) -> str:
    """Why a roster is not a worksheet: the columns that were expected, and those found."""
    wanted = (
        "a Moodle export needs the assignment's grading worksheet (Download grading worksheet) as "
        "--roster. It begins with a column such as Participant 123, and has Grade and Maximum "
        "grade, in any language"
    )
    if roster is None:
        return wanted
    return f"{wanted}. {roster.source} has {', '.join(roster.columns[:MAX_SHOWN])}"
