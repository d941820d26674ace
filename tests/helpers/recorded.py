"""A graded output folder without the grading: made-up results, really recorded in a gradebook.

So are gradings whose slots are made up: they run in forks, to be killed at any moment.
"""

import json
import os
import sqlite3
import subprocess
import sys
import traceback
from contextlib import closing, contextmanager
from dataclasses import replace
from functools import cache
from pathlib import Path

import nbformat
import pytest
from nbgrader.api import Gradebook

from autograder.builder import source
from autograder.builder.notebooks import build_notebook
from autograder.grading import grade, pools
from autograder.grading.pool import Outcome
from autograder.judging.start import template
from autograder.record.gradebook import CourseBook
from autograder.record.log import ResultLog
from autograder.record.results import GRADED, CheckResult, Result, score_of
from benchmarks.durability import marks_in_gradebook
from labkit.checks.core import checks_of, points_by_weight

LAB = "01_memory"
POINTS = {  # those of the cells on record; a course may change its own
    "n_params": 1.0, "kv_cache_bytes": 1.0, "training": 0.5, "training_or_generation": 1.0,
    "largest_model": 0.5, "peaks": 0.5, "node": 0.5,
    "largest_on_80_gb": 1.0, "longest_sequence": 1.0, "longest_on_l40s": 1.5, "kv_table": 1.5,
    "scaling": 1.0, "growth": 1.0,
}  # fmt: skip


def find_lab(name):
    """A lab whose cells are worth these points."""
    lab = source.find_lab(name)
    cells = [
        replace(cell, points=POINTS.get(cell.name, cell.points)) if cell.points else cell
        for cell in lab.cells
    ]
    return replace(lab, cells=tuple(cells))


@contextmanager
def points_of_the_course():
    """Within it, cells on record are worth what they are worth in the course."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setitem(globals(), "POINTS", {})
        all_checks.cache_clear()
        yield
    all_checks.cache_clear()


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
        replace(check, points=0.0, passed=False, status="failed", message="wrong")
        if check.exercise in fails
        else check
        for check in all_checks(lab)
    ]
    written = {cell.name: cell.points for cell in find_lab(lab).cells if cell.kind == "written"}
    total = score_of(all_checks(lab))
    given = {"checks": checks, "written": written, "file_name": f"{lab}.ipynb", "key": "k",
             "versions": {"seed": "7"}}  # fmt: skip
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
                name = cell.metadata.get("nbgrader", {}).get("grade_id")
                cell.source = (answers or {}).get(name, cell.source)
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


def replayed(submission):
    """What a slot would say: of cy's that nothing can be made of it, of the others some points."""
    student, name = submission.student, submission.file_name
    if student == "cy":
        result = without_mark(student, file_name=name)
    else:
        result = result_of(student, ("kv_table",), file_name=name)
    notebook = json.loads(submission.content)["cells"]
    return Outcome(submission, result, [nbformat.from_dict(cell) for cell in notebook])


class ReplayedSlots:
    """Stands in for `Slots`."""

    def __init__(self, settings, jobs):
        pass

    def grade(self, todo):
        return map(replayed, todo)

    def close(self):
        pass


@contextmanager
def replayed_gradings():
    """Gradings in this process and its forks start no slot and no template; gives the patch."""
    files = {"master": "", "student_path": ""}
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pools, "Slots", ReplayedSlots)
        for module in (pools, template):  # else each fork starts one, for seconds
            patch.setattr(module, "shared_template", lambda: None)
        # forks share tqdm's lock: one that is killed while it holds it would stop all others
        patch.setattr(grade, "tqdm", lambda items, **_: items)
        patch.setattr(grade, "write_slot_files", lambda lab, folder: files)
        patch.setattr(grade, "build_notebook", cache(build_notebook))
        yield patch


NBGRADER = """
import json, sys
import autograder  # it keeps out what takes a second to import
from jupyter_core.application import NoStart
from nbgrader.apps.nbgraderapp import NbGraderApp

failed = []
for arguments in json.loads(sys.argv[1]):
    print("$ nbgrader", *arguments, flush=True)
    app = NbGraderApp.instance()
    app.initialize(arguments)
    try:
        app.start()
    except NoStart:  # the command itself has run
        pass
    except SystemExit:  # and the next one runs
        failed.append(arguments)
    NbGraderApp.clear_instance()
sys.exit(bool(failed))
"""


def run_nbgrader(course, commands):
    """nbgrader's own commands in a course, all in one process: to import it takes seconds."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return subprocess.run(
        [sys.executable, "-c", NBGRADER, json.dumps(commands)],
        cwd=course, env=os.environ | {"PATH": path}, capture_output=True, text=True,
    )  # fmt: skip


def fork(action):
    """Start an action in a process of its own, with what it returns as exit status."""
    process = os.fork()
    if not process:
        status = 98
        try:
            status = action()
        except BaseException:
            traceback.print_exc(file=sys.__stderr__)
        finally:
            os._exit(status)
    return process


def status_of(process):
    return os.waitstatus_to_exitcode(os.waitpid(process, 0)[1])


def products(out):
    """All that a grading leaves: its visible files by name, the gradebook by its rows."""
    files = {
        str(path.relative_to(out)): path.read_bytes()
        for path in out.rglob("*")
        if path.is_file() and path.name[0] != "." and path.name != "gradebook.db"
    }
    with closing(sqlite3.connect(out / "course" / "gradebook.db")) as book:
        assert book.execute("pragma integrity_check").fetchall() == [("ok",)]
    return files, marks_in_gradebook(out)


def assert_same(out, expected):
    files, rows = products(out)
    assert sorted(files) == sorted(expected[0])
    for name, content in files.items():
        assert content == expected[0][name], name
    assert rows == expected[1]
