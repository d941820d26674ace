"""Grading as a TA does it: the command line, going on, many jobs, nbgrader's own tools."""

import csv
import json
import os
import shutil
import signal
import sqlite3
import subprocess
import sys
import time

import jsonschema
import nbformat
import pytest
from nbgrader.api import Gradebook
from typer.testing import CliRunner

from autograder.builder.source import find_lab
from autograder.cli import app
from autograder.grading.grade import GradingSettings, grade
from autograder.record.gradebook import CONFIG
from autograder.record.log import read_results
from autograder.record.results import RESULT_SCHEMA
from tests.sample_class import samples_of

LAB = "01_memory"
STUDENTS = ("ada", "carol", "dora", "emil", "greta", "ida", "x04", "x19")
pytestmark = pytest.mark.usefixtures("warm_slots")
SAMPLES = samples_of(LAB, STUDENTS)


def autograder(*args):
    command = [sys.executable, "-m", "autograder", *map(str, args)]
    return subprocess.run(command, capture_output=True, text=True)


@pytest.fixture(scope="module")
def submissions(tmp_path_factory):
    folder = tmp_path_factory.mktemp("submissions")
    for sample in SAMPLES:
        sample.write(folder)
    return folder


@pytest.fixture(scope="module")
def graded(submissions, tmp_path_factory):
    """A grading with one job."""
    out = tmp_path_factory.mktemp("one") / "out"
    done = autograder("grade", LAB, submissions, "-o", out, "--seed", 7, "--jobs", 1)
    assert done.returncode == 0, done.stderr
    return out


def products(out):
    """All that must not depend on how it was graded: marks, messages, pages."""
    pages = {p.relative_to(out): p.read_bytes() for p in (out / "feedback").rglob("*.html")}
    results = [result.without_measurements() for result in read_results(out / "results.jsonl")]
    return results, (out / "marks.csv").read_bytes(), (out / "report.html").read_bytes(), pages


def test_every_submission_has_a_valid_result_a_page_and_a_mark(graded):
    lines = (graded / "results.jsonl").read_text().splitlines()
    for line in lines:
        jsonschema.validate(json.loads(line), RESULT_SCHEMA)
    assert len(lines) == len(SAMPLES)
    with (graded / "marks.csv").open() as file:
        rows = list(csv.DictReader(file))
    assert [row["student"] for row in rows] == sorted(STUDENTS)
    assert next(row for row in rows if row["student"] == "ida")["mark"] == ""
    for student in STUDENTS:
        assert (graded / "feedback" / LAB / f"{student}.html").exists()
    blank = next(result for result in map(json.loads, lines) if result["student"] == "dora")
    assert {check["status"] for check in blank["checks"]} == {"todo"}


def test_two_jobs_that_are_killed_and_go_on_give_the_bytes_of_one(graded, submissions, tmp_path):
    out = tmp_path / "out"
    arguments = ("grade", LAB, submissions, "-o", out, "--jobs", "2", "--seed", "7")
    command = [sys.executable, "-m", "autograder", *arguments]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    log = out / "results.jsonl"
    end = time.monotonic() + 120
    while time.monotonic() < end and (not log.exists() or len(log.read_bytes().splitlines()) < 3):
        time.sleep(0.01)
    process.send_signal(signal.SIGKILL)
    process.wait()
    kept = log.read_bytes()
    assert 3 <= kept.count(b"\n") < len(SAMPLES)
    with log.open("ab") as file:
        file.write(b'{"student": "torn')
    grade(find_lab(LAB), submissions, out, GradingSettings(jobs=2))
    assert products(out) == products(graded)
    before = [json.loads(line)["seconds"] for line in kept.splitlines()]
    after = {r.student: r.seconds for r in read_results(log)}
    assert set(before) <= set(after.values())  # what was done was not done again


@pytest.mark.parametrize(("n_processors", "n_jobs"), [(1, 1), (2, 2), (64, 4)])
def test_there_is_a_job_for_each_processor_up_to_a_few(n_processors, n_jobs, monkeypatch):
    monkeypatch.setattr(os, "sched_getaffinity", lambda pid: set(range(n_processors)))
    started = []
    monkeypatch.setattr("autograder.grading.grade.grade", lambda *args: started.append(args) or [])
    for option in ([], ["--jobs", "7"]):
        done = CliRunner().invoke(app, ["grade", LAB, "class", "-o", "never-made", *option])
        assert done.exit_code == 0, done.output
    assert [run.jobs for _, _, _, run, *_ in started] == [n_jobs, 7]


def test_only_what_changed_is_graded_again_and_a_mark_given_by_hand_stays(
    graded, submissions, tmp_path
):
    out, folder = tmp_path / "out", tmp_path / "in"
    shutil.copytree(graded, out)
    shutil.copytree(submissions, folder)
    database = out / "course" / "gradebook.db"
    with Gradebook(f"sqlite:///{database}", "labkit") as book:
        growth = book.find_grade("growth", LAB, LAB, "ada")
        growth.manual_score, growth.needs_manual_grade = 0.75, False
        book.db.commit()
    ada, dora = (folder / student / LAB / f"{LAB}.ipynb" for student in ("ada", "dora"))
    dora.write_bytes(ada.read_bytes())
    ada.write_bytes(ada.read_bytes() + b"\n")
    shutil.rmtree(folder / "emil")
    before = {r.student: r for r in read_results(out / "results.jsonl")}
    grade(find_lab(LAB), folder, out, GradingSettings())
    after = {r.student: r for r in read_results(out / "results.jsonl")}
    assert set(before) - set(after) == {"emil"}
    assert {name for name in after if after[name] != before[name]} == {"ada", "dora"}
    assert after["dora"].score == after["dora"].max_score
    with sqlite3.connect(database) as db:
        assert (0.75,) in db.execute("select manual_score from grade").fetchall()
    db.close()


def test_the_gradebook_has_every_mark_and_what_is_to_be_read(graded):
    written = {cell.name for cell in find_lab(LAB).cells if cell.kind == "written"}
    results = {result.student: result for result in read_results(graded / "results.jsonl")}
    with Gradebook(f"sqlite:///{graded / 'course' / 'gradebook.db'}", "labkit") as book:
        assert {student.id for student in book.students} == set(STUDENTS)
        for student, result in results.items():
            grades = book.find_submission_notebook(LAB, LAB, student).grades
            by_name = {grade.name: grade for grade in grades}
            assert {name for name, g in by_name.items() if g.needs_manual_grade} >= written
            auto = [grade.auto_score for grade in grades if grade.name not in written]
            if result.score is None:
                assert set(auto) == {None}
            else:
                assert sum(auto) == pytest.approx(result.score, abs=0.01)


def test_the_graded_notebook_shows_answers_outputs_and_marks(graded):
    path = graded / "course" / "autograded" / "carol" / LAB / f"{LAB}.ipynb"
    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    scores = {
        cell.metadata.nbgrader.grade_id: float(cell.outputs[-1].data["text/plain"])
        for cell in notebook.cells
        if cell.metadata.get("nbgrader", {}).get("grade") and cell.cell_type == "code"
    }
    assert scores["check_kv_table"] == 0
    assert scores["check_n_params"] > 0
    assert not any(
        output.get("name") == "stderr"
        for cell in notebook.cells
        for output in cell.get("outputs", [])
        if cell.metadata.get("nbgrader", {}).get("grade")
    )


@pytest.mark.parametrize(
    "args",
    [
        ("grade", "99", "."),
        ("grade", LAB, "does-not-exist"),
        ("grade", LAB, "."),
        ("grade", LAB),
        ("report", "."),
        ("unknown",),
    ],
    ids=" ".join,
)
def test_a_wrong_command_line_is_one_sentence_and_status_2(args, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    out = ("-o", str(tmp_path / "out")) if args[0] == "grade" else ()
    done = CliRunner().invoke(app, [*args, *out])
    assert done.exit_code == 2
    assert "Traceback" not in done.stderr
    assert 1 <= len([line for line in done.stderr.splitlines() if line.strip()]) <= 3


def test_the_version_is_told():
    done = CliRunner().invoke(app, ["--version"])
    assert done.exit_code == 0
    assert done.stdout.startswith("autograder 0.")


def test_the_course_has_the_settings_with_which_nbgrader_judges_by_our_engine(graded):
    assert (graded / "course" / "nbgrader_config.py").read_text(encoding="utf-8") == CONFIG
