"""nbgrader's tables, written by statement: an empty gradebook, and a submission's entries.

nbgrader's own calls make the same tables and rows (tests compare them), but they start a program
for the first, and for a submission load every row as an object and commit several times.
"""

from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

import nbgrader
from alembic.script import ScriptDirectory
from nbgrader.api import (
    Assignment,
    Base,
    BaseCell,
    Comment,
    Grade,
    Notebook,
    Student,
    SubmittedAssignment,
    SubmittedNotebook,
    new_uuid,
)
from sqlalchemy import bindparam, create_engine, insert, select, text, update
from sqlalchemy.dialects.sqlite import insert as sqlite_insert
from sqlalchemy.orm import Session

from autograder.record.database import url_of

_GRADED, _COMMENTED = ("GradeCell", "TaskCell"), ("SolutionCell", "TaskCell")
_GRADES, _SUBMITTED = Grade.__table__, SubmittedAssignment.__table__


@dataclass
class GradebookEntry:
    """A student's entry for a graded cell. hand: the points a person gave; waits: for a person."""

    id: str
    name: str
    auto: float | None
    hand: float | None
    waits: bool


def make_tables(database: Path) -> None:
    """Make nbgrader's tables in a new file, marked with the version of its schema."""
    migrations = ScriptDirectory(Path(nbgrader.__file__).with_name("alembic"))
    engine = create_engine(url_of(database))
    with engine.begin() as connection:
        Base.metadata.create_all(connection)
        connection.execute(text("CREATE TABLE alembic_version (version_num VARCHAR(32) NOT NULL)"))
        connection.execute(
            text("INSERT INTO alembic_version VALUES (:version)"),
            {"version": migrations.get_current_head()},
        )
    engine.dispose()


class Entries:
    """The entries of one assignment, in a session that is the only writer."""

    def __init__(self, session: Session, lab: str) -> None:
        """Raises: sqlalchemy's NoResultFound if the gradebook does not know the assignment."""
        self._session = session
        its_notebook = (
            select(Assignment.id, Notebook.id)
            .join(Notebook, Notebook.assignment_id == Assignment.id)
            .where(Assignment.name == lab, Notebook.name == lab)
        )
        self._assignment, self._notebook = session.execute(its_notebook).one()
        cells = select(BaseCell.id, BaseCell.type).where(BaseCell.notebook_id == self._notebook)
        self._cells = session.execute(cells).all()
        self._of_student = (
            select(
                Grade.id, BaseCell.name, Grade.auto_score, Grade.manual_score,
                Grade.needs_manual_grade,
            )
            .join(BaseCell, BaseCell.id == Grade.cell_id)
            .join(SubmittedNotebook, SubmittedNotebook.id == Grade.notebook_id)
            .join(SubmittedAssignment, SubmittedAssignment.id == SubmittedNotebook.assignment_id)
            .where(
                SubmittedAssignment.assignment_id == self._assignment,
                SubmittedAssignment.student_id == bindparam("student"),
                SubmittedNotebook.notebook_id == self._notebook,
            )
        )  # fmt: skip

    @contextmanager
    def of(self, student: str, handed_in: datetime | None = None) -> Iterator[list[GradebookEntry]]:
        """The student's entries, made if this is their first submission. handed_in: in UTC, as
        nbgrader keeps it; None if it is unknown.

        Automatic points and waiting flags are written at the end, without other writers in
        between: a mark that a person gives at that moment comes before all of it, or after.
        """
        self._session.commit()
        self._session.execute(text("BEGIN IMMEDIATE"))
        try:
            entries = self._read(student) or self._made(student)
            yield entries
            self._write(entries)
            self._session.execute(
                update(_SUBMITTED)
                .where(_SUBMITTED.c.assignment_id == self._assignment)
                .where(_SUBMITTED.c.student_id == student)
                .values(timestamp=handed_in and handed_in.replace(tzinfo=None))
            )
            self._session.commit()
        except BaseException:
            self._session.rollback()
            raise

    def _write(self, entries: Iterable[GradebookEntry]) -> None:
        values = [{"key": each.id, "auto": each.auto, "waits": each.waits} for each in entries]
        change = (
            update(_GRADES)
            .where(_GRADES.c.id == bindparam("key"))
            .values(auto_score=bindparam("auto"), needs_manual_grade=bindparam("waits"))
        )
        if values:
            self._session.connection().execute(change, values)

    def _read(self, student: str) -> list[GradebookEntry]:
        rows = self._session.execute(self._of_student, {"student": student})
        return [GradebookEntry(*row) for row in rows]

    def _made(self, student: str) -> list[GradebookEntry]:
        submission, notebook = new_uuid(), new_uuid()
        graded = [cell for cell, kind in self._cells if kind in _GRADED]
        commented = [cell for cell, kind in self._cells if kind in _COMMENTED]
        connection = self._session.connection()
        connection.execute(
            sqlite_insert(Student.__table__).values(id=student).on_conflict_do_nothing()
        )
        for table, rows in (
            (SubmittedAssignment, [
                {"id": submission, "assignment_id": self._assignment, "student_id": student}
            ]),
            (SubmittedNotebook, [
                {"id": notebook, "assignment_id": submission, "notebook_id": self._notebook}
            ]),
            (Grade, [{"cell_id": cell, "notebook_id": notebook} for cell in graded]),
            (Comment, [{"cell_id": cell, "notebook_id": notebook} for cell in commented]),
        ):  # fmt: skip
            if rows:
                connection.execute(insert(table.__table__), rows)
        return self._read(student)
