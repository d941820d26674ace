"""The desk's tables beside nbgrader's in gradebook.db, and how a transaction on them is made.

Points and comments stand in nbgrader's own tables alone. The desk's tables say why: the items of
the rubric, the items that an answer was given, and every act with who and when. They name students,
labs and questions, not rows of nbgrader's, so a grading that replaces those rows keeps them valid.
"""

import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from autograder.errors import Refusal
from autograder.record.database import committed, connected, exists

SCHEMA = """
create table if not exists desk_item (
    id integer primary key, lab text not null, question text not null, text text not null,
    points real not null, one_of text not null default '', unique (lab, question, text));
create table if not exists desk_given (
    lab text, question text, student text, item integer,
    primary key (lab, question, student, item));
create table if not exists desk_act (
    id integer primary key, request text not null unique, at text not null, who text not null,
    what text not null, item integer, item_before real, item_after real, undoes integer unique);
create table if not exists desk_change (
    act integer not null, lab text not null, question text not null, student text not null,
    before text not null, after text not null, primary key (act, lab, question, student));
create index if not exists desk_change_of on desk_change (lab, question, student);
create table if not exists desk_split (
    lab text, question text, student text, primary key (lab, question, student));
create table if not exists desk_share (
    lab text, question text, who text, primary key (lab, question, who));
create table if not exists desk_suggestion (
    lab text, question text, student text, digest text, judge text, quotes text,
    primary key (lab, question, student));
create table if not exists desk_appeal (
    id integer primary key, lab text not null, exercise text not null, student text not null,
    text text not null, at text not null, decision text, reason text, who text, decided_at text,
    unique (lab, exercise, student, text));
create table if not exists desk_secret (value text not null);
insert into desk_secret select lower(hex(randomblob(16)))
    where not exists (select 1 from desk_secret);
"""


class DeskTables:
    """The desk's tables in one gradebook; made if they are not there yet."""

    def __init__(self, database: Path, *, for_readers: bool = False) -> None:
        """for_readers: no marks will be written, so existing tables may be in a read-only folder.

        Raises: Refusal if there is no gradebook; GradebookError if it cannot be used.
        """
        if not exists(database):
            raise Refusal(f"{database} does not exist: grade first")
        self._database = database
        if for_readers and self.rows("select 1 from sqlite_master where name = 'desk_secret'"):
            return
        with self.writing() as book:
            for statement in SCHEMA.split(";"):
                book.execute(statement)

    @contextmanager
    def reading(self) -> Iterator[sqlite3.Connection]:
        """A connection that sees one state of the gradebook."""
        with connected(self._database) as book:
            book.execute("begin")
            yield book

    def rows(self, query: str, values: Sequence = ()) -> list[tuple]:
        """What one query finds."""
        with self.reading() as book:
            return book.execute(query, values).fetchall()

    @contextmanager
    def writing(self) -> Iterator[sqlite3.Connection]:
        """A transaction without other writers; all of it is written to disk, or nothing."""
        with committed(self._database) as book:
            yield book

    def secret(self) -> str:
        """The secret behind the names of anonymous answers; it stays with the gradebook."""
        return self.rows("select value from desk_secret")[0][0]
