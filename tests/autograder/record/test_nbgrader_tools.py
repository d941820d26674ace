"""nbgrader's own tools on a whole lab of ours: each takes what we build and what we record."""

import csv
import json
from html import unescape
from types import SimpleNamespace

import nbformat
import pytest
from nbgrader.apps.api import NbGraderAPI
from nbgrader.coursedir import CourseDirectory
from recorded import LAB, by_hand, points_of_the_course, record, result_of, run_nbgrader

from autograder.builder.notebooks import build_notebook, to_bytes
from autograder.builder.source import find_lab
from autograder.judging import nbgrader_plugin
from autograder.judging.judge import Verdict
from autograder.practice import solved_notebook
from tests.sample_class import expected_score, sample_class

COMMANDS = [
    ["validate", "instructor.ipynb", "student.ipynb"],
    ["generate_assignment", LAB, "--force", "--create"],
    ["autograde", LAB],
    ["generate_feedback", LAB],
    ["export", "--to", "grades.csv"],
]
SAMPLES = {sample.student: sample for sample in sample_class() if sample.lab == LAB}


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """A course in which ada is on record, carol and erin are not, after all of the commands."""
    out = tmp_path_factory.mktemp("tools")
    solved = json.dumps(solved_notebook(find_lab(LAB))).encode()
    with points_of_the_course():
        record(out, [result_of("ada")], submitted=solved)
    by_hand(out, "ada", "growth", 0.75, comment="Why not <b>linear</b>?")
    course = out / "course"
    for edition in ("instructor", "student"):
        notebook = build_notebook(find_lab(LAB), edition)
        (course / f"{edition}.ipynb").write_bytes(to_bytes(notebook))
    for student in ("carol", "erin"):
        SAMPLES[student].write(course / "submitted")
    return course


@pytest.fixture(scope="module")
def said(course):
    """What the tools say, by command."""
    done = run_nbgrader(course, COMMANDS)
    assert done.returncode == 0, done.stderr[-2000:]
    parts = done.stdout.split("$ nbgrader ")[1:]
    return {part.split()[0]: part for part in parts}


def test_validate_passes_the_instructors_notebook_and_finds_every_blank_of_the_students(said):
    lab = find_lab(LAB)
    n_blank = len(lab.marked) + sum(cell.kind == "written" for cell in lab.cells)
    solved, blank = said["validate"].split("VALIDATION FAILED", 1)
    assert "Success! Your notebook passes all the tests." in solved
    assert f"ON {n_blank} CELL(S)" in blank


def test_generate_assignment_makes_the_very_notebook_that_we_build(course, said):
    released = nbformat.read(course / "release" / LAB / f"{LAB}.ipynb", as_version=4)
    ours = build_notebook(find_lab(LAB), "student")
    assert [cell.source for cell in released.cells] == [cell.source for cell in ours.cells]
    known = [cell.metadata.get("nbgrader") for cell in released.cells]
    assert known == [cell.metadata.get("nbgrader") for cell in ours.cells]


def test_autograde_gives_the_marks_that_we_give_and_leaves_those_on_record(course, said):
    with (course / "grades.csv").open(newline="") as file:
        scores = {row["student_id"]: float(row["score"]) for row in csv.DictReader(file)}
    assert scores == {
        "ada": pytest.approx(expected_score(SAMPLES["ada"]) + 0.75, abs=0.01),
        "carol": pytest.approx(expected_score(SAMPLES["carol"]), abs=0.01),
        "erin": pytest.approx(expected_score(SAMPLES["erin"]), abs=0.01),
    }


def test_feedback_shows_marks_and_comments(course, said):
    pages = {
        student: (course / "feedback" / student / LAB / f"{LAB}.html").read_text(encoding="utf-8")
        for student in ("ada", "carol", "erin")
    }
    of = sum(cell.points for cell in find_lab(LAB).cells)
    ada, carol = (expected_score(SAMPLES[student]) for student in ("ada", "carol"))
    assert f"(Score: {ada + 0.75} / {float(of)})" in " ".join(unescape(pages["ada"]).split())
    assert "Why not" in pages["ada"]
    assert f"(Score: {carol} / {float(of)})" in " ".join(unescape(pages["carol"]).split())


def test_formgrader_shows_when_work_was_handed_in(tmp_path):
    (tmp_path / "policy.toml").write_text('timezone = "Asia/Taipei"\n')
    times = {"ada": "2026-10-15T23:59:58+00:00", "bo": "2026-10-16T07:59:58", "cy": ""}
    record(tmp_path, [result_of(name, submitted_at=time) for name, time in times.items()])
    api = NbGraderAPI(CourseDirectory(root=str(tmp_path / "course")))
    shown = {each["student"]: each for each in api.get_submissions(LAB)}
    stamps = {name: each["timestamp"] for name, each in shown.items()}
    assert stamps == {"ada": "2026-10-15T23:59:58", "bo": "2026-10-15T23:59:58", "cy": None}
    assert api.get_autograded_students(LAB) == set(times)
    record(tmp_path, [result_of("ada", submitted_at="")])
    assert api.get_autograded_students(LAB) == set(times)


def test_a_check_of_ours_that_breaks_leaves_the_cells_to_a_person(monkeypatch):
    made = build_notebook(find_lab(LAB), "student")
    session = SimpleNamespace(problems=[])
    judge = SimpleNamespace(grade_rebuilt=lambda rebuilt: (Verdict([], ["it broke"]), session))
    monkeypatch.setattr(nbgrader_plugin, "_judge", lambda *names: judge)
    monkeypatch.setattr(nbgrader_plugin, "_is_lab", lambda names: True)
    made.metadata["labkit_steps"] = []
    names = {"assignment": LAB, "notebook": LAB, "student": "s"}
    _, resources = nbgrader_plugin.TrustedExecute().preprocess(made, {"nbgrader": names})
    assert resources["waiting"] == [f"check_{cell.name}" for cell in find_lab(LAB).marked]
