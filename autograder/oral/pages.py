"""The pages of `autograder oral`, and the table in which a TA notes what was said.

OUT/oral/LAB/index.html            the class: links, and which kinds of questions were missed
OUT/oral/LAB/answers.csv           a row for each question; the column `said` is a TA's
OUT/oral/LAB/sheets/STUDENT.html   what a student is asked, to print
OUT/oral/LAB/keys/STUDENT.html     the same with the key, for the TA
"""

import csv
import io
import shutil
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path

from autograder.builder.source import Lab
from autograder.errors import Refusal
from autograder.files import write_whole
from autograder.judging.asking.sheet import BLANK, KINDS, Question, Sheet
from autograder.pages.feedback import titles_of
from autograder.pages.render import render_page
from autograder.record.marks import no_formula

COLUMNS = ("student", "question", "exercise", "kind", "line", "key", "said")
WORDS = {
    "line": "a line is left out",
    "change": "a line is changed",
    "trace": "a value in a call",
    "swap": "two lines change places",
    BLANK: "open question",
}
Answers = dict[tuple[str, ...], str]  # what was said, by the other columns


def said_before(out: Path, lab: Lab) -> Answers:
    """What TAs noted. Raises: Refusal if the table has other columns, or is no text."""
    path = out / "oral" / lab.name / "answers.csv"
    if not path.exists():
        return {}
    try:
        head, *rows = csv.reader(io.StringIO(path.read_text(encoding="utf-8-sig")))
    except (ValueError, csv.Error):
        head, rows = [], []
    if tuple(head) != COLUMNS or any(len(row) != len(COLUMNS) for row in rows):
        raise Refusal(f"{path} needs the columns {','.join(COLUMNS)}: correct it, or move it away")
    return {tuple(row[:-1]): row[-1] for row in rows}


def write_pages(out: Path, lab: Lab, sheets: Mapping[str, Sheet], said: Answers) -> Path:
    """Write all pages of a lab; what TAs noted of questions that are still asked stays."""
    folder = out / "oral" / lab.name
    rows = [(*row, said.get(row, "")) for row in _rows(sheets)]
    for place in ("sheets", "keys"):
        shutil.rmtree(folder / place, ignore_errors=True)
    titles = titles_of(lab.name)
    for student, sheet in sheets.items():
        shown = {"lab": lab.name, "student": student, "sheet": sheet, "titles": titles,
                 "parts": _parts(sheet), "words": WORDS}  # fmt: skip
        for place, is_key in (("sheets", False), ("keys", True)):
            page = render_page("oral_sheet.html", **shown, is_key=is_key)
            write_whole(folder / place / f"{student}.html", page)
    write_whole(folder / "answers.csv", _table(rows))
    shown = {"lab": lab.name, "sheets": sheets, "words": WORDS, "kinds": _missed(rows),
             "counts": {name: Counter(each.kind for each in sheet.questions)
                        for name, sheet in sheets.items()}}  # fmt: skip
    write_whole(folder / "index.html", render_page("oral_class.html", **shown))
    return folder / "index.html"


def _parts(sheet: Sheet) -> list[tuple[str, str, list[tuple[int, Question]]]]:
    """The exercises of a sheet: the name, the code, the questions with their numbers."""
    code, parts = dict(sheet.code), {}
    for number, question in enumerate(sheet.questions, 1):
        parts.setdefault(question.exercise, []).append((number, question))
    return [(name, code.get(name, ""), asked) for name, asked in parts.items()]


def _rows(sheets: Mapping[str, Sheet]) -> Iterator[tuple[str, ...]]:
    """The rows of the table, without what was said."""
    for student, sheet in sheets.items():
        for i, each in enumerate(sheet.questions, 1):
            line = str(each.line or "")
            yield no_formula(student), str(i), each.exercise, each.kind, line, each.letter


def _table(rows: list[tuple[str, ...]]) -> bytes:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([COLUMNS, *rows])
    return text.getvalue().encode(errors="replace")


def _missed(rows: list[tuple[str, ...]]) -> list[tuple[str, int, int, int]]:
    """By kind: how many were asked about, answered, and missed."""
    table = []
    for kind in KINDS:
        own = [row for row in rows if row[3] == kind and row[5]]
        said = [(row[6].strip().upper(), row[5]) for row in own if row[6].strip()]
        if own:
            table.append((kind, len(own), len(said), sum(one != key for one, key in said)))
    return table
