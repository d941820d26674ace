"""One act on marks, in a transaction of the caller's: who did what to which answers, and when."""

import sqlite3
from datetime import UTC, datetime

from autograder.desk.states import AnswerId, Entry, State, digest_of, entries_of, write_state
from autograder.errors import Refusal
from autograder.record.marks import as_points

_LAST = """
    select desk_act.who, desk_act.at from desk_change
      join desk_act on desk_act.id = desk_change.act
     where lab = ? and question = ? and student = ? order by desk_act.id desc limit 1
"""

_SENT = """
    select request from desk_act
     where request = ?1 or request > ?1 || ':' and request < ?1 || ';'
"""


class ConflictError(Refusal):
    """Another person was faster; the message says who, when and what."""


def entry_of(book: sqlite3.Connection, key: AnswerId) -> Entry:
    """What an answer was given. Raises: Refusal if it is not in the gradebook."""
    entry = entries_of(book, *key).get(key.student)
    if entry is None:
        raise Refusal("The gradebook does not have this answer any more. Open the page again.")
    return entry


def now() -> str:
    """The time of an act."""
    return datetime.now(UTC).isoformat(timespec="seconds")


class NewTextError(ConflictError):
    """Another text was handed in since the author read the answer."""


def named(request: str, content: object) -> str:
    """A request's own name, with a digest of what it asks for."""
    return f"{request}:{digest_of(repr(content))}"


def is_known(book: sqlite3.Connection, request: str) -> bool:
    """Whether a request was carried out before.

    Raises: ConflictError if it asked for something else then.
    """
    name, _, _ = request.rpartition(":")  # alone, as versions before have written it
    sent = {each for (each,) in book.execute(_SENT, (name,))}
    if sent and not sent & {name, request}:
        raise ConflictError(
            "This form was sent before, with another mark. That one stands, and this one is not "
            "saved. Open the answer again to change it."
        )
    return bool(sent)


def check_seen(book: sqlite3.Connection, key: AnswerId, entry: Entry, seen: str, text: str) -> None:
    """Raises: ConflictError if the mark, NewTextError if the text is not what its author saw.

    seen: as `State.seen_with` gives it; text: the digest of what was handed in last.
    """
    if seen.partition("-")[0] != entry.state.digest:
        raise conflict_of(book, key, entry.state)
    if seen != entry.state.seen_with(text):
        raise NewTextError(
            "The student handed in another text after you opened this page. Your mark is not "
            "saved. Read the new text, then give the mark again."
        )


def new_act(
    book: sqlite3.Connection, who: str, request: str, what: str, undoes: int | None = None
) -> int:
    """Record an act with its author and time; returns its number."""
    return book.execute(
        "insert into desk_act (request, at, who, what, undoes) values (?, ?, ?, ?, ?)",
        (request, now(), who, what, undoes),
    ).lastrowid


def change(book: sqlite3.Connection, act: int, key: AnswerId, entry: Entry, state: State) -> None:
    """Give an answer a state, as a part of an act."""
    write_state(book, key, entry, state)
    book.execute(
        "insert into desk_change values (?, ?, ?, ?, ?, ?)",
        (act, *key, entry.state.to_json(), state.to_json()),
    )


def write_points(book: sqlite3.Connection, act: int, item: int, old: float, new: float) -> None:
    """Give a rubric item its points, as a part of an act."""
    book.execute("update desk_item set points = ? where id = ?", (new, item))
    book.execute(
        "update desk_act set item = ?, item_before = ?, item_after = ? where id = ?",
        (item, old, new, act),
    )


def conflict_of(book: sqlite3.Connection, key: AnswerId, state: State) -> ConflictError:
    """The message for a mark that came too late."""
    who, at = book.execute(_LAST, tuple(key)).fetchone() or ("Somebody", "")
    when = f" at {at[11:16]} UTC" if at else " in formgrader"
    many = "" if state.points == 1 else "s"
    points = "no points" if state.points is None else f"{as_points(state.points)} point{many}"
    return ConflictError(
        f"{who} changed this answer{when}: it has {points} now. Your mark is not saved; look again."
    )
