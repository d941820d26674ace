"""Deleting what an output folder holds about one student, as a student may ask by law."""

import re
import shutil
from glob import escape
from pathlib import Path

from autograder.errors import Refusal
from autograder.intake.collect.submission import safe_name
from autograder.record.database import committed, connected, exists, gradebook_of
from autograder.record.log import ResultLog

COMPARISONS = ("similarity", "integrity")  # their pages name several students
PAGES = ("feedback/*/{}.html", "oral/*/sheets/{}.html", "oral/*/keys/{}.html",
         "oral/*/notebooks/{}.json")  # fmt: skip
STEPS = ("submitted", "autograded", "feedback")  # of nbgrader
_SUBMISSIONS = "select id from submitted_assignment where student_id = :student"
_NOTEBOOKS = f"select id from submitted_notebook where assignment_id in ({_SUBMISSIONS})"
_OF_NBGRADER = (
    f"delete from grade where notebook_id in ({_NOTEBOOKS})",
    f"delete from comment where notebook_id in ({_NOTEBOOKS})",
    f"delete from submitted_notebook where assignment_id in ({_SUBMISSIONS})",
    "delete from submitted_assignment where student_id = :student",
    "delete from student where id = :student",
)
_OF_THE_DESK = """
    select sqlite_master.name from sqlite_master, pragma_table_info(sqlite_master.name) as field
     where sqlite_master.type = 'table' and field.name = 'student'
"""


def forget(out: Path, student: str) -> list[Path]:
    """Delete a student's results, files, marks and history of marking.

    Returns: the files below `out` that still hold the name, such as the roster and the tables of
    the class, which `autograder report` writes again. Raises: Refusal if the folder holds nothing
    about this student; BusyError during a grading into it.
    """
    record = ResultLog(out / "results.jsonl")
    try:
        own = _files(out, student)
        keys = [key for key in record.results if key[1] == student]
        n_rows = _delete_rows(gradebook_of(out), student)
        if not (own or keys or n_rows):
            raise Refusal(f"{out} holds nothing about {student!r}: write the name as in marks.csv")
        for key in keys:
            del record.results[key]
        record.finish("", ())
    finally:
        record.close()
    for path in [*own, *(page for name in COMPARISONS for page in (out / name).glob("*.html"))]:
        shutil.rmtree(path) if path.is_dir() else path.unlink()
    return [path for path in sorted(out.rglob("*")) if path.is_file() and _holds(path, student)]


def _files(out: Path, student: str) -> list[Path]:
    """The student's own files and folders, by the places where a grading and nbgrader put them."""
    if student != safe_name(student):  # no path, such as ".."
        return []
    steps = [out / "course" / step / student for step in STEPS]
    return [
        path
        for path in (
            *steps,
            *(each for page in PAGES for each in out.glob(page.format(escape(student)))),
        )
        if path.exists()
    ]


def _delete_rows(database: Path, student: str) -> int:
    """How many rows of the gradebook were about the student; their bytes leave the file, too."""
    if not exists(database):
        return 0
    with committed(database) as book:
        tables = [name for (name,) in book.execute(_OF_THE_DESK)]
        deletions = [
            *_OF_NBGRADER,
            *(f"delete from {t} where student = :student" for t in tables),
        ]
        n_rows = sum(book.execute(each, {"student": student}).rowcount for each in deletions)
    with connected(database) as book:
        book.execute("vacuum")
    return n_rows


def _holds(path: Path, student: str) -> bool:
    name = re.escape(student.encode())
    return re.search(rb"(?<!\w)" + name + rb"(?!\w)", path.read_bytes()) is not None
