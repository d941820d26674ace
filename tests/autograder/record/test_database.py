"""The file that all marks are in: who may open it, folders of any name, and what goes wrong.

As reported for other programs: jupyter/nbgrader 1000 and 1518, grader-service 296,
jupyterhub/helm-chart 27, privacyidea 2663, GUFI 126.
"""

import getpass
import os
import sqlite3
import stat
from contextlib import closing

import pytest
from nbgrader.api import Gradebook
from recorded import record, result_of
from sqlalchemy import make_url
from sqlalchemy.exc import OperationalError
from traitlets.config import PyFileConfigLoader
from typer.testing import CliRunner

from autograder.cli import app
from autograder.desk.tables import DeskTables
from autograder.record.database import (
    GradebookError,
    committed,
    connected,
    gradebook_of,
    usable,
)
from autograder.record.forget import forget
from autograder.record.marks import marks_of

ODD_NAMES = ["LLM%20course", "ready?", "a?mode=memory", "x#y & z=1", "[2026] *", "課程 100%"]


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """An output folder of a team: its umask lets all of the group write."""
    before = os.umask(0o002)
    try:
        out = tmp_path_factory.mktemp("team") / "out"
        record(out, [result_of("ada")])
    finally:
        os.umask(before)
    return out


def test_the_gradebook_and_all_beside_it_have_the_rights_that_the_umask_gives(graded):
    for path in [gradebook_of(graded), *graded.rglob("*")]:
        expected = 0o775 if path.is_dir() else 0o664
        assert stat.S_IMODE(path.stat().st_mode) == expected, path


@pytest.mark.parametrize("name", ODD_NAMES)
def test_a_folder_of_any_name_is_graded_into_and_nothing_is_written_outside(tmp_path, name):
    place = tmp_path / "place"
    for out in (place / name / "out", place / "plain" / name):
        record(out, [result_of("ada"), result_of("cy")])
        record(out, [result_of("ada", fails=("kv_table",))])
        assert {mark.student for mark in marks_of(out)} == {"ada", "cy"}
        DeskTables(gradebook_of(out)).secret()
        forget(out, "cy")
        with connected(gradebook_of(out)) as book:
            assert book.execute("select id from student").fetchall() == [("ada",)]
        config = PyFileConfigLoader("nbgrader_config.py", path=str(out / "course")).load_config()
        address = config.CourseDirectory.db_url  # where nbgrader's own tools look
        assert make_url(address).database == str(gradebook_of(out).resolve())
        with closing(Gradebook(address, "labkit")) as book:
            assert [student.id for student in book.students] == ["ada"]
    assert [path.name for path in tmp_path.iterdir()] == ["place"]
    assert {path.name for path in place.iterdir()} == {name, "plain"}
    assert [path.name for path in (place / name).iterdir()] == ["out"]
    assert [path.name for path in (place / "plain").iterdir()] == [name]


def told_of(code, words, wrapped):
    error = sqlite3.OperationalError(words)
    error.sqlite_errorname = code
    return OperationalError("select", {}, error) if wrapped else error


@pytest.mark.parametrize("wrapped", [False, True])
@pytest.mark.parametrize(
    ("code", "words", "mend"),
    [
        ("SQLITE_READONLY", "attempt to write a readonly database", "chmod -R g+w"),
        ("SQLITE_READONLY_DIRECTORY", "attempt to write a readonly database", "chmod -R g+w"),
        ("SQLITE_CANTOPEN", "unable to open database file", "chmod -R g+w"),
        ("SQLITE_BUSY", "database is locked", "wait until it is done"),
        ("SQLITE_FULL", "database or disk is full", "make room on the disk"),
        ("SQLITE_NOTADB", "file is not a database", "restore it from a copy"),
        ("SQLITE_IOERR_LOCK", "disk I/O error", "without locks"),
    ],
)
def test_each_error_of_sqlite_is_one_sentence_with_the_path_and_how_to_mend_it(
    tmp_path, code, words, mend, wrapped
):
    path = tmp_path / "gradebook.db"
    with pytest.raises(GradebookError) as refused, usable(path):
        raise told_of(code, words, wrapped)
    for part in (str(path), words, mend, "The record is kept"):
        assert part in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_folder_that_nobody_may_enter_is_a_sentence_with_its_path(tmp_path):
    denied = PermissionError(13, "Permission denied", str(tmp_path / "course"))
    words = r"course cannot be used \(Permission denied\): ask"
    with pytest.raises(GradebookError, match=words), usable(tmp_path / "course" / "gradebook.db"):
        raise denied


def test_a_fault_of_ours_keeps_its_traceback(tmp_path):
    with pytest.raises(ValueError, match="ours"), usable(tmp_path / "gradebook.db"):
        raise ValueError("ours")


def test_what_is_not_finished_leaves_nothing_in_the_gradebook(graded):
    with pytest.raises(ValueError, match="in between"), committed(gradebook_of(graded)) as book:
        book.execute("insert into student (id) values ('eve')")
        raise ValueError("in between")
    with connected(gradebook_of(graded)) as book:
        assert ("eve",) not in book.execute("select id from student").fetchall()


def read_only(path):
    """A gradebook as a person without rights opens it: root, who runs tests, has all."""
    real = sqlite3.connect

    def connect(address, **options):
        return real(address.replace("mode=rw", "mode=ro"), **options)

    return connect


def test_marking_in_a_read_only_folder_is_one_sentence_and_reading_goes_on(graded, monkeypatch):
    database = gradebook_of(graded)
    DeskTables(database)
    monkeypatch.setattr(sqlite3, "connect", read_only(database))
    assert DeskTables(database, for_readers=True).secret()
    with pytest.raises(GradebookError, match="readonly database"):
        DeskTables(database)
    done = CliRunner().invoke(app, ["mark", str(graded), "--ta", "eve"])
    assert (done.exit_code, done.output.count("\n")) == (2, 1)
    assert f"{database} cannot be used" in done.output
    assert "chmod -R g+w" in done.output


@pytest.mark.parametrize("error", [KeyError("getpwuid(): uid not found: 4711"), OSError("no name")])
def test_a_user_id_without_a_name_is_asked_for_one(graded, monkeypatch, error):
    def nameless():
        raise error

    monkeypatch.setattr(getpass, "getuser", nameless)
    done = CliRunner().invoke(app, ["mark", str(graded)])
    assert (done.exit_code, done.output.count("\n")) == (2, 1)
    assert "give --ta with your name" in done.output
