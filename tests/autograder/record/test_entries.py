"""Entries in the gradebook: the rows that nbgrader's own calls make, and marks that stay."""

import os
import sqlite3
import sys
from contextlib import closing
from pathlib import Path

import pytest
from nbgrader.api import Base, Gradebook
from recorded import LAB
from sqlalchemy import select

from autograder.builder.notebooks import build_notebook
from autograder.builder.source import find_lab
from autograder.record.entries import Entries, make_tables
from autograder.record.gradebook import CourseBook

IDS = {"id", "assignment_id", "notebook_id", "cell_id"}  # drawn at random


@pytest.fixture
def book(tmp_path):
    with closing(CourseBook(tmp_path)) as course:
        course.add_assignment(LAB, build_notebook(find_lab(LAB), "instructor"))
    with Gradebook(f"sqlite:///{tmp_path / 'gradebook.db'}", "labkit") as book:
        yield book


def test_tables_are_those_that_nbgrader_makes(tmp_path, monkeypatch):
    programs = os.pathsep.join([str(Path(sys.executable).parent), os.environ["PATH"]])
    monkeypatch.setenv("PATH", programs)  # nbgrader calls alembic
    Gradebook(f"sqlite:///{tmp_path / 'theirs.db'}", "labkit").close()
    make_tables(tmp_path / "ours.db")
    Gradebook(f"sqlite:///{tmp_path / 'ours.db'}", "labkit").close()
    theirs, ours = (dumped(tmp_path / name) for name in ("theirs.db", "ours.db"))
    assert ours == theirs
    assert any("alembic_version" in line for line in ours)


def dumped(database):
    with closing(sqlite3.connect(database)) as book:
        return sorted(book.iterdump())


def rows(book):
    """Every table's rows without what is random in them."""
    return {
        table.name: sorted(
            str({k: v for k, v in row.items() if k not in IDS})
            for row in book.db.execute(select(table)).mappings()
        )
        for table in Base.metadata.sorted_tables
    }


def write(book, student):
    with Entries(book.db, LAB).of(student):
        pass


@pytest.mark.filterwarnings("ignore:Object of type")  # nbgrader's own
def test_rows_are_those_of_nbgraders_own_calls(book):
    write(book, "ada")
    ours = rows(book)
    book.remove_student("ada")
    assert not rows(book)["grade"]
    book.add_student("ada")
    book.add_submission(LAB, "ada")
    assert rows(book) == ours
    assert ours["grade"] and ours["comment"]


def test_nbgrader_finds_what_was_written(book):
    with Entries(book.db, LAB).of("ada") as made:
        made[0].auto, made[0].waits = 1.5, False
    grade = book.find_grade(made[0].name, LAB, LAB, "ada")
    assert (grade.auto_score, grade.needs_manual_grade, grade.manual_score) == (1.5, False, None)
    assert book.find_submission(LAB, "ada").score == 1.5


def test_a_second_look_sees_what_a_hand_has_given_and_writing_leaves_it(book):
    entries = Entries(book.db, LAB)
    with entries.of("ada") as made:
        name = made[0].name
    grade = book.find_grade(name, LAB, LAB, "ada")
    grade.manual_score, grade.extra_credit = 2.0, 0.5
    book.db.commit()
    with entries.of("ada") as again:
        entry = next(each for each in again if each.name == name)
        assert entry.hand == 2.0
        entry.auto = 1.0
    book.db.expire_all()
    grade = book.find_grade(name, LAB, LAB, "ada")
    assert (grade.auto_score, grade.manual_score, grade.extra_credit) == (1.0, 2.0, 0.5)


def test_students_and_other_submissions_are_left_alone(book):
    book.add_student("ada", first_name="Ada")
    for student in ("ada", "ben", "ada"):
        write(book, student)
    assert book.find_student("ada").first_name == "Ada"
    assert len(book.assignment_submissions(LAB)) == 2


def test_what_a_person_gives_meanwhile_comes_before_or_after_but_not_in_between(book):
    write(book, "ada")
    entries = Entries(book.db, LAB)
    typed = "update grade set manual_score = 0.75, needs_manual_grade = 0"
    path = book.engine.url.database
    locked = pytest.raises(sqlite3.OperationalError, match="locked")
    with closing(sqlite3.connect(path, timeout=0)) as formgrader, entries.of("ada"), locked:
        formgrader.execute(typed)
    with closing(sqlite3.connect(path)) as formgrader:
        formgrader.execute(typed)
        formgrader.commit()
    with entries.of("ada") as again:
        assert {(each.hand, each.waits) for each in again} == {(0.75, False)}


def test_what_fails_in_between_leaves_everything_as_it_was(book):
    entries = Entries(book.db, LAB)
    with pytest.raises(KeyError), entries.of("ada"):
        raise KeyError("a slip of the grader")
    assert not rows(book)["grade"] and not rows(book)["student"]
    write(book, "ada")
    assert rows(book)["grade"]
