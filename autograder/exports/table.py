"""A table for people: everyone in a row, labs side by side, and their sum."""

from collections.abc import Mapping

from autograder.exports.sheet import ExportEntry, ExportSheet, as_csv
from autograder.record.marks import as_points, exact_sum, no_formula

PERSON = ("name", "student_id", "email", "section")


def as_table(sheet: ExportSheet, columns: Mapping[str, str]) -> bytes:
    """A CSV that spreadsheets open: an empty mark means that there is none.

    The sum is empty until all labs have a mark. After the remark stand the points of each part of
    each lab, before lateness and on the lab's own scale. columns: other headings for labs.
    """
    headings = [f"{columns.get(lab, lab)} ({as_points(sheet.worth[lab])})" for lab in sheet.labs]
    full = f"sum ({as_points(float(exact_sum(sheet.worth.values())))})"
    parts = {lab: sheet.parts(lab) for lab in sheet.labs}
    questions = [
        f"{columns.get(lab, lab)}: {name} ({as_points(of)})"
        for lab, own in parts.items()
        for name, of in own.items()
    ]
    rows = [[*PERSON, *headings, full, "remark", *questions]]
    for person, entries in sheet.rows():
        known = [getattr(person, key) for key in PERSON]
        marks = [as_points(entries[lab].points) if lab in entries else "" for lab in sheet.labs]
        points = [
            text
            for lab, own in parts.items()
            for text in (entries[lab].shown_parts(own) if lab in entries else [""] * len(own))
        ]
        rows.append([*known, *marks, _sum_of(sheet, entries), _remark(entries), *points])
    return b"\xef\xbb\xbf" + as_csv([map(no_formula, row) for row in rows])


def _sum_of(sheet: ExportSheet, entries: Mapping[str, ExportEntry]) -> str:
    if len(entries) < len(sheet.labs):
        return ""
    return as_points(float(exact_sum(entry.points for entry in entries.values())))


def _remark(entries: Mapping[str, ExportEntry]) -> str:
    return " ".join(
        f"{lab}: {entry.mark.remark}" for lab, entry in entries.items() if entry.mark.remark
    )
