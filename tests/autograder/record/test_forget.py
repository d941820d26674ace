"""One student is deleted: nothing of this one stays, and all of the others does."""

import sqlite3
from contextlib import closing

import pytest
from desk_store import open_store
from instances import some_of
from recorded import LAB, record, result_of
from typer.testing import CliRunner

from autograder.builder.source import find_lab
from autograder.cli import app
from autograder.desk.rubric import questions_of
from autograder.desk.states import AnswerId, State
from autograder.record.log import read_results
from autograder.record.marks import marks_of


@pytest.fixture
def out(tmp_path):
    record(tmp_path, [result_of(student) for student in ("adalovelace", "bohr")])
    store = open_store(tmp_path, questions_of(find_lab(LAB)))
    for student in ("adalovelace", "bohr"):
        key = AnswerId(LAB, "growth", student)
        store.give({key: State(1.0, waits=False)}, "bea", f"mark-{student[0]}", {})
    pages = [tmp_path / "feedback" / LAB / f"{name}.html" for name in ("adalovelace", "bohr")]
    for page in [*pages, tmp_path / "similarity" / f"{LAB}.html"]:
        page.parent.mkdir(parents=True, exist_ok=True)
        page.write_text("page")
    (tmp_path / "roster.csv").write_text("adalovelace\nbohr\n")
    return tmp_path


def said_of(out, student):
    return CliRunner().invoke(app, ["forget", str(out), student])


def test_nothing_of_the_student_stays_but_the_files_that_are_named(out):
    said = said_of(out, "adalovelace")
    assert said.exit_code == 0, said.output
    assert f"{out / 'roster.csv'} still has the name adalovelace" in said.output
    files = [path for path in out.rglob("*") if path.is_file()]
    naming = [path for path in files if b"adalovelace" in path.read_bytes()]
    assert naming == [out / "roster.csv"]
    assert not list(out.rglob("*adalovelace*"))
    assert not list((out / "similarity").iterdir())


def test_marks_and_history_of_the_others_stay(out):
    before = marks_of(out)
    said_of(out, "adalovelace")
    assert [result.student for result in read_results(out / "results.jsonl")] == ["bohr"]
    assert marks_of(out) == [mark for mark in before if mark.student == "bohr"]
    with closing(sqlite3.connect(out / "course" / "gradebook.db")) as book:
        assert book.execute("select distinct student from desk_change").fetchall() == [("bohr",)]
    assert (out / "feedback" / LAB / "bohr.html").exists()


def test_an_unknown_name_is_refused_and_nothing_is_deleted(out):
    said = said_of(out, "turing")
    assert said.exit_code != 0
    assert "holds nothing about 'turing'" in said.output
    assert len(read_results(out / "results.jsonl")) == 2


def test_second_marks_of_the_version_before_are_no_error_and_go_with_their_student(out):
    with closing(sqlite3.connect(out / "course" / "gradebook.db")) as book:
        book.execute("create table desk_second (lab, question, student, who, points)")
        rows = [(LAB, "growth", student, "carl", 0.5) for student in ("adalovelace", "bohr")]
        book.executemany("insert into desk_second values (?, ?, ?, ?, ?)", rows)
        book.commit()
    store = open_store(out, questions_of(find_lab(LAB)))
    assert [state.points for state in store.states(LAB, "growth").values()] == [1.0, 1.0]
    assert said_of(out, "adalovelace").exit_code == 0
    with closing(sqlite3.connect(out / "course" / "gradebook.db")) as book:
        assert book.execute("select student from desk_second").fetchall() == [("bohr",)]


NAMES = ("course", "gradebook", "feedback", "results", "submitted", "..")


@pytest.mark.parametrize("name", some_of(NAMES, "feedback", ".."))
def test_a_student_with_the_name_of_a_file_of_ours_takes_nothing_else(out, name):
    if name != "..":
        record(out, [result_of(name)])
    before = marks_of(out)
    said_of(out, name)
    assert marks_of(out) == [mark for mark in before if mark.student != name]
    assert {result.student for result in read_results(out / "results.jsonl")} >= {"bohr"}
    assert (out / "feedback" / LAB / "bohr.html").exists()


def test_the_steps_of_nbgrader_hold_nothing_of_the_student(out):
    for step in ("submitted", "autograded", "feedback"):
        for student in ("adalovelace", "bohr"):
            (out / "course" / step / student / LAB).mkdir(parents=True, exist_ok=True)
    said_of(out, "adalovelace")
    assert not list((out / "course").glob("*/adalovelace"))
    assert len(list((out / "course").glob("*/bohr"))) == 3
