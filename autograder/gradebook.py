"""Recording results where nbgrader keeps them, so that its own tools go on from here.

A `CourseBook` owns an nbgrader course folder: sources, released and autograded notebooks, and
`gradebook.db`. There is one writer, with one session and one commit per submission. Marks given by
hand in formgrader stay when a submission is graded again.
"""

from __future__ import annotations

import json
import logging
import os
import sys
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from nbformat import NotebookNode
from nbformat.v4 import new_notebook

from autograder.builder.notebooks import to_bytes
from autograder.results import Result, write_whole
from autograder.shown import notes_cells

CONFIG = '''\
"""nbgrader's settings for this course: its tools, with our engine as the judge."""

c = get_config()  # noqa: F821
c.CourseDirectory.course_id = "labkit"
c.GenerateAssignment.preprocessors = [
    "nbgrader.preprocessors.IncludeHeaderFooter",
    "nbgrader.preprocessors.LockCells",
    "autograder.nbgrader_plugin.ClearAnswers",
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.CheckCellMetadata",
    "nbgrader.preprocessors.ComputeChecksums",
    "nbgrader.preprocessors.SaveCells",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.Autograde.sanitize_preprocessors = [
    "autograder.nbgrader_plugin.Rebuild",
    "nbgrader.preprocessors.ClearOutput",
    "nbgrader.preprocessors.OverwriteKernelspec",
    "nbgrader.preprocessors.CheckCellMetadata",
]
c.Autograde.autograde_preprocessors = [
    "autograder.nbgrader_plugin.TrustedExecute",
    "nbgrader.preprocessors.LimitOutput",
    "nbgrader.preprocessors.SaveAutoGrades",
    "nbgrader.preprocessors.AssignLatePenalties",
    "nbgrader.preprocessors.CheckCellMetadata",
]
'''


class GradebookError(RuntimeError):
    """nbgrader refused something; the message says what and what to do."""


class CourseBook:
    """An nbgrader course folder and its gradebook, open for one writer."""

    def __init__(self, folder: Path) -> None:
        from nbgrader.api import Gradebook  # takes seconds: only who records pays for it

        self.folder = folder.resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        write_whole(self.folder / "nbgrader_config.py", CONFIG.encode())
        with _own_programs_first():
            url = f"sqlite:///{self.folder / 'gradebook.db'}"
            self._gradebook = Gradebook(url, "labkit")

    def add_assignment(self, lab: str, instructor: NotebookNode) -> None:
        """Make `lab` known to the gradebook, with nbgrader's own generate_assignment.

        Raises: GradebookError if cells were added or removed after submissions were recorded.
        """
        path = self.folder / "source" / lab / f"{lab}.ipynb"
        content = to_bytes(instructor)
        released = self.folder / "release" / lab / f"{lab}.ipynb"
        if released.exists() and path.exists() and path.read_bytes() == content:
            return
        write_whole(path, content)
        try:
            _generate_assignment(self.folder, lab)
        except Exception as error:
            path.unlink()
            raise GradebookError(
                f"nbgrader cannot take the new version of {lab} ({error}); grade into a new "
                "output folder, or remove the assignment there first"
            ) from error

    def record(self, result: Result, notebook: list[NotebookNode], submitted: bytes) -> None:
        """Write one result: the marks, and the notebook that formgrader shows."""
        try:
            with _quietly():
                self._record_marks(result)
        except Exception:
            self._gradebook.db.rollback()  # the next submission finds a clean session
            raise
        student, lab = result.student, result.lab
        if result.file_name.endswith(".ipynb"):
            write_whole(self.folder / "submitted" / student / lab / f"{lab}.ipynb", submitted)
        shown = new_notebook(cells=notes_cells(result) + notebook)
        path = self.folder / "autograded" / student / lab / f"{lab}.ipynb"
        write_whole(path, json.dumps(shown, indent=1).encode())

    def _record_marks(self, result: Result) -> None:
        book, student, lab = self._gradebook, result.student, result.lab
        book.update_or_create_student(student)
        book.update_or_create_submission(lab, student)
        points = {name: sum(check.points for check in checks)
                  for name, checks in result.by_exercise.items()}  # fmt: skip
        for grade in book.find_submission_notebook(lab, lab, student).grades:
            exercise = grade.name.removeprefix("check_")
            by_hand = grade.name in result.written
            grade.auto_score = None if by_hand else _recorded(points.get(exercise), result)
            grade.needs_manual_grade = grade.manual_score is not None or grade.auto_score is None
        book.db.commit()

    def close(self) -> None:
        """Close the database."""
        self._gradebook.close()


def _recorded(points: float | None, result: Result) -> float | None:
    """The score of a test cell; a submission that could not be graded has none, not zero."""
    if result.score is None:
        return None
    return round(points or 0.0, 4)


@contextmanager
def _own_programs_first() -> Iterator[None]:
    """Let nbgrader find the `alembic` beside this Python, though no environment is activated."""
    before = os.environ.get("PATH", "")
    os.environ["PATH"] = os.pathsep.join([str(Path(sys.executable).parent), before])
    try:
        yield
    finally:
        os.environ["PATH"] = before


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
    course = CourseDirectory(config=config, root=str(folder), assignment_id=lab)
    converter = GenerateAssignment(coursedir=course, config=config)
    converter.force, converter.create_assignment = True, True
    converter.log.setLevel(logging.ERROR)
    with _quietly(), _own_programs_first():
        converter.start()
