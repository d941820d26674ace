"""The one place that opens a gradebook, and that says what is wrong if it cannot be used.

A gradebook is an SQLite file. sqlite3 opens it for short queries: importing nbgrader takes seconds.
SQLAlchemy opens it for nbgrader. Both get the path in a form in which no letter of it has a meaning
of its own: a folder may be called `LLM%20course` or `ready?`.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from autograder.errors import Refusal

if TYPE_CHECKING:
    from sqlalchemy import URL

DATABASE = "gradebook.db"
BUSY_S = 20.0
RIGHTS = (
    "ask its owner for the right to write to it and its folder (chmod -R g+w), or work on a copy "
    "of the output folder"
)
MENDS = {  # by how SQLite names the error
    "SQLITE_READONLY": RIGHTS,
    "SQLITE_PERM": RIGHTS,
    "SQLITE_CANTOPEN": RIGHTS,
    "SQLITE_BUSY": "another program writes to it, such as formgrader: wait until it is done",
    "SQLITE_LOCKED": "another program writes to it, such as formgrader: wait until it is done",
    "SQLITE_FULL": "make room on the disk",
    "SQLITE_NOTADB": "restore it from a copy",
    "SQLITE_CORRUPT": "restore it from a copy",
}
UNKNOWN = (
    "make room on the disk, close other programs that have it open, or restore it from a copy. A "
    "network folder may be without locks: then grade into a folder on this machine"
)


class GradebookError(Refusal):
    """The gradebook cannot be used, or nbgrader refused something; the message says what to do."""


def gradebook_of(out: Path) -> Path:
    """Where the gradebook of an output folder is."""
    return out / "course" / DATABASE


@contextmanager
def connected(database: Path) -> Iterator[sqlite3.Connection]:
    """A connection that is closed in the end. It commits nothing by itself. Raises: GradebookError.

    A gradebook that a killed grader left is put right before it is read, if the folder lets us.
    """
    with usable(database):
        address = f"{database.resolve().as_uri()}?mode=rw"
        book = sqlite3.connect(address, uri=True, timeout=BUSY_S, isolation_level=None)
        with closing(book):
            yield book


@contextmanager
def committed(database: Path) -> Iterator[sqlite3.Connection]:
    """A transaction without other writers; all of it is written to disk, or nothing."""
    with connected(database) as book:
        book.execute("pragma synchronous = full")
        book.execute("begin immediate")
        try:
            yield book
            book.execute("commit")
        except BaseException:
            book.rollback()
            raise


def url_of(database: Path) -> URL:
    """The address of a gradebook for SQLAlchemy."""
    from sqlalchemy import URL

    return URL.create("sqlite", database=str(database))


def exists(database: Path) -> bool:
    """Whether there is a gradebook. Raises: GradebookError if the folder cannot be read."""
    with usable(database):
        return database.exists()


@contextmanager
def usable(database: Path) -> Iterator[None]:
    """Turn what SQLite, SQLAlchemy and the system say of a gradebook into one sentence."""
    try:
        yield
    except Exception as error:
        reason = _reason_in(error)
        if reason is None:
            raise
        raise _unusable(database, reason) from error


def _reason_in(error: BaseException | None) -> sqlite3.Error | OSError | None:
    """The error text of the disk or SQLite, also if nbgrader wraps it; None for our own bug."""
    while error is not None:
        original = getattr(error, "orig", error)  # SQLAlchemy's errors have SQLite's inside
        if type(original) in (sqlite3.DatabaseError, sqlite3.OperationalError):
            return original
        if isinstance(error, PermissionError):
            return error
        error = error.__cause__ or error.__context__
    return None


def _unusable(database: Path, reason: sqlite3.Error | OSError) -> GradebookError:
    if isinstance(reason, OSError):
        path, said, name = reason.filename or database, reason.strerror, "SQLITE_PERM"
    else:
        path, said, name = database, reason, getattr(reason, "sqlite_errorname", None) or ""
    mend = next((mend for start, mend in MENDS.items() if name.startswith(start)), UNKNOWN)
    return GradebookError(
        f"{path} cannot be used ({said}): {mend}. Then give the command again. The record is "
        "kept; marks given by hand are only in the gradebook"
    )
