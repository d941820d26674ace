"""A graded output folder without the grading: made-up results, really recorded in a gradebook."""

from contextlib import closing
from dataclasses import replace
from functools import cache

from nbgrader.api import Gradebook

from autograder.builder.notebooks import build_notebook
from autograder.builder.source import find_lab
from autograder.record.gradebook import CourseBook
from autograder.record.results import GRADED, CheckResult, Result, ResultLog, score_of
from labkit.checks.core import checks_of, points_by_weight

LAB = "01_memory"


@cache
def all_checks(lab=LAB):
    """Every check of a lab, passed."""
    found = checks_of(find_lab(lab).topic)
    return [
        CheckResult(cell.name, check.name, points, points, True, "")
        for cell in find_lab(lab).marked
        for check, points in zip(
            found[cell.name], points_by_weight(found[cell.name], cell.points), strict=True
        )
    ]


def result_of(student, fails=(), lab=LAB, **fields):
    """A result in which the exercises of `fails` are worth nothing."""
    checks = [
        replace(check, points=0.0, passed=False, message="wrong") if check.exercise in fails
        else check
        for check in all_checks(lab)
    ]  # fmt: skip
    written = {cell.name: cell.points for cell in find_lab(lab).cells if cell.kind == "written"}
    total = score_of(all_checks(lab))
    given = {"checks": checks, "written": written, "file_name": f"{lab}.ipynb", "key": "k"}
    return Result(student, lab, GRADED, score_of(checks), total, **(given | fields))


def without_mark(student, status="ungradable", lab=LAB, **fields):
    """A result of a file that could not be graded."""
    return replace(result_of(student, lab=lab, problem="No JSON.", **fields),
                   status=status, score=None, checks=[])  # fmt: skip


def record(out, results, answers=None, submitted=b"{}"):
    """Write results to record and gradebook. answers: texts of written answers by name."""
    with (
        closing(CourseBook(out / "course")) as book,
        closing(ResultLog(out / "results.jsonl")) as log,
    ):
        for lab in dict.fromkeys(result.lab for result in results):
            book.add_assignment(lab, build_notebook(find_lab(lab), "instructor"))
        for result in results:
            cells = build_notebook(find_lab(result.lab), "student").cells
            for cell in cells:
                cell.source = (answers or {}).get(cell.id.replace("written-", ""), cell.source)
            book.record(result, cells, submitted)
            log.append(result)


def by_hand(out, student, name, points, bonus=None, comment=None, lab=LAB):
    """What formgrader does when a person types a score, extra credit or a comment."""
    with Gradebook(f"sqlite:///{out / 'course' / 'gradebook.db'}", "labkit") as book:
        grade = book.find_grade(name, lab, lab, student)
        grade.manual_score, grade.extra_credit = points, bonus
        grade.needs_manual_grade = grade.manual_score is None and grade.auto_score is None
        if comment:
            book.find_comment(name, lab, lab, student).manual_comment = comment
        book.db.commit()
