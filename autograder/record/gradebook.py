"""Recording results where nbgrader keeps them, so that its own tools go on from here.

A `CourseBook` owns an nbgrader course folder: sources, released and autograded notebooks, and
`gradebook.db`. There is one writer, with one session and one commit per submission. Marks given by
hand in formgrader stay when a submission is graded again.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import stat
import tempfile
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from pathlib import Path
from types import MappingProxyType
from typing import TYPE_CHECKING

from nbformat import NotebookNode

from autograder.builder.notebooks import to_bytes
from autograder.course.times import instant
from autograder.files import write_whole
from autograder.names import names_in_text
from autograder.record.database import (
    DATABASE,
    GradebookError,
    committed,
    connected,
    exists,
    url_of,
    usable,
)
from autograder.record.folder import policy_of
from autograder.record.notes import notes_cells
from autograder.record.results import BESIDE, HANDED_IN, Result, submitted_path

if TYPE_CHECKING:
    from nbgrader.api import Gradebook

    from autograder.record.entries import Entries

CONFIG = '''\
"""nbgrader's settings for this course: its tools, with our engine as the judge."""

from pathlib import Path

import nbgrader
from sqlalchemy import URL

import autograder

c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "labkit"
_gradebook = URL.create("sqlite", database=str(Path(__file__).resolve().with_name("gradebook.db")))
c.CourseDirectory.db_url = _gradebook.render_as_string()  # the folder may be called LLM%20course
c.GenerateAssignment.preprocessors = [
    "nbgrader.preprocessors.IncludeHeaderFooter",
    "nbgrader.preprocessors.InstantiateTests",
    "nbgrader.preprocessors.LockCells",
    "autograder.judging.nbgrader_plugin.ClearAnswers",
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.CheckCellMetadata",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.SaveCells",
    "nbgrader.preprocessors.ClearHiddenTests",
    "nbgrader.preprocessors.ClearMarkScheme",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.Autograde.sanitize_preprocessors = [
    "autograder.judging.nbgrader_plugin.Rebuild",
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.Autograde.autograde_preprocessors = [
    "autograder.judging.nbgrader_plugin.TrustedExecute",
    "nbgrader.preprocessors.LimitOutput",
    "autograder.judging.nbgrader_plugin.SaveMarks",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]
# Formgrader's pages take MathJax from this server, and work without the Internet.
_formgrader = Path(nbgrader.__file__).with_name("server_extensions") / "formgrader"
_ours = Path(autograder.__file__).with_name("record")
c.HTMLExporter.extra_template_basedirs = [f"{_ours}/templates", f"{_formgrader}/templates"]
'''

TIME = "%Y-%m-%d %H:%M:%S.%f UTC"
STUDENTS_OF = """
    select student_id from submitted_assignment
    join assignment on assignment.id = submitted_assignment.assignment_id
    where assignment.name = ?
"""
NAME_OF = "update student set first_name = ?, last_name = ? where id = ?"


class CourseBook:
    """An nbgrader course folder and its gradebook, open for one writer."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder.resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(self.folder / "nbgrader_config.py", CONFIG.encode())
        database = self.folder / DATABASE
        with usable(database):
            if not exists(database):
                _make(database)
            self._gradebook = _open(database)
        self._entries: dict[str, Entries] = {}  # by lab
        self._zone = policy_of(self.folder.parent).timezone

    def add_assignment(self, lab: str, instructor: NotebookNode) -> None:
        """Make `lab` known to the gradebook, with nbgrader's own generate_assignment.

        Raises: GradebookError if cells were added or removed after submissions were recorded.
        """
        content = to_bytes(instructor)
        known = self.folder / f".{lab}.known"  # written last: then gradebook and release are whole
        digest = hashlib.sha256(content).hexdigest().encode()
        if known.exists() and known.read_bytes() == digest and self._has(lab):
            return
        write_whole(self.folder / "source" / lab / f"{lab}.ipynb", content)
        self._entries.pop(lab, None)
        try:
            with usable(self.folder / DATABASE):
                _generate_assignment(self.folder, lab)
        except GradebookError:
            raise
        except Exception as error:
            raise GradebookError(
                f"nbgrader cannot take {lab} into {self.folder} ({error}): if cells were added or "
                "removed since it was first graded there, grade into a new output folder"
            ) from error
        write_whole(known, digest)

    def record(
        self,
        result: Result,
        notebook: list[NotebookNode],
        submitted: bytes,
        beside: Mapping[str, bytes] = MappingProxyType({}),
    ) -> None:
        """Write one result: the marks, and the notebook that formgrader shows.

        A mark given by hand stays; where the answer has changed since, it waits to be confirmed.
        beside: the files that came with the notebook, of which the modules are kept.
        """
        is_notebook = result.file_name.endswith(".ipynb")
        handed_in = instant(result.submitted_at, self._zone) if is_notebook else None
        unchanged = self._unchanged(result, notebook, submitted)
        is_first = not self._path("autograded", result).exists()
        with usable(self.folder / DATABASE):
            self._record_marks(result, handed_in, unchanged)
        path = self._path("submitted", result)
        write_whole(submitted_path(path, result), submitted)
        if is_notebook:
            path.with_name(HANDED_IN).unlink(missing_ok=True)
            path.with_name("timestamp.txt").unlink(missing_ok=True)
            if handed_in:  # formgrader compares it with the database's
                write_whole(path.with_name("timestamp.txt"), f"{handed_in:{TIME}}".encode())
        else:
            path.unlink(missing_ok=True)
        modules = {name: data.decode("utf-8", "replace") for name, data in beside.items()
                   if name.endswith(".py")}  # fmt: skip
        path = path.with_name(BESIDE)
        path.unlink(missing_ok=True)
        if modules:
            write_whole(path, json.dumps(modules).encode())
        shown = {"nbformat": 4, "nbformat_minor": 5, "metadata": {},
                 "cells": notes_cells(result) + notebook}  # fmt: skip
        write_whole(self._path("autograded", result), json.dumps(shown).encode())
        if not is_first:  # a person may have marked the text before at that moment
            with usable(self.folder / DATABASE):
                self._record_marks(result, handed_in, unchanged)

    def _has(self, lab: str) -> bool:
        return any(assignment.name == lab for assignment in self._gradebook.assignments)

    def _path(self, step: str, result: Result) -> Path:
        return self.folder / step / result.student / result.lab / f"{result.lab}.ipynb"

    def _unchanged(self, result: Result, cells: list[NotebookNode], submitted: bytes) -> set[str]:
        """The names of the answers of which a person reads, to the letter, what was recorded last.

        What could not be graded has no answers that could be compared: there the file counts, and
        it counts for an exercise that no check decided, which may call any code in it.
        """
        last = self._path("autograded", result)
        file = submitted_path(self._path("submitted", result), result)
        is_same_file = file.exists() and file.read_bytes() == submitted
        if not last.exists() or (result.score is None and not is_same_file):
            return set()
        try:
            before = _read(json.loads(last.read_bytes())["cells"])
        except ValueError:  # a power cut has torn it
            return set()
        same = {name for name, read in _read(cells).items() if before.get(name) == read}
        return same if is_same_file or not file.exists() else same - {*result.undecided}

    def _record_marks(
        self, result: Result, handed_in: datetime | None, unchanged: set[str]
    ) -> None:
        if result.lab not in self._entries:
            from autograder.record.entries import Entries  # nbgrader takes seconds, see _open

            self._entries[result.lab] = Entries(self._gradebook.db, result.lab)
        points = {name: sum(check.points for check in checks)
                  for name, checks in result.by_exercise.items()}  # fmt: skip
        with self._entries[result.lab].of(result.student, handed_in) as entries:
            for entry in entries:
                exercise = entry.name.removeprefix("check_")
                by_hand = entry.name in result.written
                entry.auto = None if by_hand else _recorded(points.get(exercise), result)
                if entry.hand is None:
                    entry.waits = entry.auto is None or exercise in result.undecided
                elif exercise not in unchanged:
                    entry.waits = True

    def close(self) -> None:
        """Close the database."""
        self._gradebook.close()


def recorded_students(folder: Path, lab: str) -> set[str]:
    """Who has marks for a lab in the gradebook of a course folder. Raises: GradebookError."""
    database = folder / DATABASE
    if not exists(database):
        return set()
    with connected(database) as book:
        return {student for (student,) in book.execute(STUDENTS_OF, (lab,))}


def name_students(folder: Path, names: Mapping[str, tuple[str, str]]) -> None:
    """Write first and last names, by student, for formgrader to show. Raises: GradebookError."""
    database = folder / DATABASE
    if names and exists(database):
        with committed(database) as book:
            book.executemany(NAME_OF, [(*name, student) for student, name in names.items()])


def _make(database: Path) -> None:
    """Make an empty gradebook aside, so that a killed grader never leaves half of one.

    SQLite lets only the owner write to a file that it makes. To one that is there, and to all that
    it makes beside it, it leaves the rights that the umask gives: a team may share a folder.
    """
    from autograder.record.entries import make_tables

    aside = database.with_name(".new")
    shutil.rmtree(aside, ignore_errors=True)
    aside.mkdir()
    (aside / DATABASE).touch()
    make_tables(aside / DATABASE)
    (aside / DATABASE).replace(database)
    aside.rmdir()


def _open(database: Path) -> Gradebook:
    from nbgrader.api import Gradebook  # takes seconds: only who records pays for it

    return Gradebook(url_of(database), "labkit")


def _recorded(points: float | None, result: Result) -> float | None:
    """The score of a test cell; a submission that could not be graded has none, not zero."""
    if result.score is None:
        return None
    return round(points or 0.0, 4)


def _read(cells: list[dict]) -> dict[str, list]:
    """What a person reads of the cells that nbgrader knows, by name.

    That is the text of a cell, its pictures, and the code that its question names.
    """
    found: dict[str, list] = {}
    named: dict[str, list[str]] = {}
    asked = ""
    for cell in cells:
        source = "".join(cell["source"])
        if "nbgrader" in cell["metadata"]:
            name = cell["metadata"]["nbgrader"]["grade_id"]
            found[name] = [source, cell.get("attachments", {})]
            named[name] = names_in_text(asked) if cell["cell_type"] == "markdown" else []
        if cell["cell_type"] == "markdown" and "submitted" not in cell["metadata"]:
            asked = source
    code = {name: read[0] for name, read in found.items()}
    return {name: [*read, [code.get(each) for each in named[name]]]
            for name, read in found.items()}  # fmt: skip


@contextmanager
def _quietly() -> Iterator[None]:
    """Without the warnings that nbgrader's libraries give about nbgrader."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        yield


def _generate_assignment(folder: Path, lab: str) -> None:
    from nbgrader.converters import GenerateAssignment
    from nbgrader.coursedir import CourseDirectory
    from traitlets.config import PyFileConfigLoader

    config = PyFileConfigLoader("nbgrader_config.py", path=str(folder)).load_config()
    with tempfile.TemporaryDirectory() as place, _quietly():
        plain = Path(place, "course")  # nbgrader takes a path for a pattern and part of an address
        plain.symlink_to(folder, target_is_directory=True)
        config.CourseDirectory.db_url = f"sqlite:///{plain / DATABASE}"
        course = CourseDirectory(config=config, root=str(plain), assignment_id=lab)
        converter = GenerateAssignment(coursedir=course, config=config)
        converter.force, converter.create_assignment = True, True
        converter.log.setLevel(logging.ERROR)
        converter.start()
    _share_like(folder / "nbgrader_config.py", folder / "release" / lab)


def _share_like(sample: Path, place: Path) -> None:
    """Give a folder of nbgrader's, which only its owner may write to, the rights of our files."""
    rights = stat.S_IMODE(sample.stat().st_mode)
    for path in (place, *place.rglob("*")):
        path.chmod(rights | (rights & 0o444) >> 2 if path.is_dir() else rights)
