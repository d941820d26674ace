"""Canvas: the gradebook that it exports, with our marks in it, for Grades > Import.

Only people with a mark are written, with the columns that identify a person and those of the labs.
So Canvas changes nothing else, even if it has changed since its export. An empty cell would erase
a mark in Canvas, so a lab without a mark keeps its value.
"""

import re
from collections import Counter
from collections.abc import Mapping

from autograder.exports.sheet import (
    ExportError,
    ExportSheet,
    as_csv,
    called,
    check_worth,
    find_column,
)
from autograder.record.marks import as_points

LAST_OF_PERSON = "Section"
POINTS_ROW = "Points Possible"
KEPT = ("EX", "N/A")  # excused, not assigned
TITLE_AND_ID = re.compile(r".*\s\(\d+\)", re.DOTALL)


def as_gradebook(sheet: ExportSheet, columns: Mapping[str, str]) -> bytes:
    """The roster's own rows with the marks of the labs.

    Raises: ExportError if the roster is no gradebook of Canvas, or a column is missing, of other
    points or that of two labs.
    """
    roster = sheet.roster
    if roster is None or roster.kind != "canvas" or LAST_OF_PERSON not in roster.columns:
        raise ExportError(
            "a Canvas export needs the gradebook that Canvas exports (Grades, Export) as --roster"
        )
    width = roster.columns.index(LAST_OF_PERSON) + 1
    about = roster.columns[:width]
    assignments = [name for name in roster.columns[width:] if TITLE_AND_ID.fullmatch(name)]
    place = {lab: find_column(lab, assignments, columns.get(lab)) for lab in sheet.labs}
    for column, n in Counter(place.values()).items():
        if n > 1:
            both = ", ".join(lab for lab in sheet.labs if place[lab] == column)
            raise ExportError(
                f"{both} would all go into Canvas's column {column}: give --labs with one of them, "
                "or --column LAB=NAME"
            )
    shown = [*about, *place.values()]
    above = [row for row in roster.extra_rows if POINTS_ROW in row.get(about[0], "")]
    for lab, column in place.items():
        check_worth(sheet, lab, "Canvas", [row.get(column, "") for row in above])
        sheet.notes.append(f"{lab}: written to Canvas's column {column}.")
    rows = [shown, *([row.get(column, "") for column in shown] for row in above)]
    for person, entries in sheet.rows():
        marks: dict[str, str] = {}
        for lab, entry in entries.items():
            before, points = person.row.get(place[lab], ""), as_points(entry.points)
            if before.strip().upper() in KEPT:
                sheet.notes.append(
                    f"{lab}: {before} of {called(person)} stays in Canvas, not {points}."
                )
            else:
                marks[place[lab]] = points
        if marks:
            rows.append([(person.row | marks).get(column, "") for column in shown])
    return as_csv(rows)
