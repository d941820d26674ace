"""Moodle: the grading worksheet of an assignment, with our marks in its Grade column.

Moodle takes it under "Upload grading worksheet". It passes over rows whose grade is locked, above
the maximum or was changed there after the worksheet was downloaded. Whoever has no mark is not in
it.
"""

from collections.abc import Mapping

from autograder.exports.sheet import ExportError, ExportSheet, as_csv, called, check_worth
from autograder.record.marks import as_points

GRADE = ("Grade", "成績", "成绩")
MAXIMUM = ("Maximum grade", "Maximum Grade", "最高成績", "最高分數", "最高成绩")
IS_OPEN = ("Grade can be changed", "可以更改成績", "成績可以更改", "可以更改成绩")
NO = ("no", "否", "不")


def as_worksheet(sheet: ExportSheet, columns: Mapping[str, str]) -> bytes:
    """The rows of those who have a mark for the one lab. columns: has another name for Grade.

    Raises: ExportError if the roster is no grading worksheet, or of other points.
    """
    lab, roster = sheet.one_lab("Moodle"), sheet.roster
    known = roster.columns if roster is not None and roster.kind == "moodle" else []
    grade = next((name for name in (columns.get(lab), *GRADE) if name in known), None)
    if grade is None:
        raise ExportError(
            "a Moodle export needs the assignment's grading worksheet (Download grading worksheet) "
            "as --roster"
        )
    maximum = next((name for name in MAXIMUM if name in known), "")
    is_open = next((name for name in IS_OPEN if name in known), "")
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
