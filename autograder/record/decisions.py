"""What was decided about students' questions on their marks, as the desk keeps it."""

import sqlite3
from contextlib import closing
from dataclasses import dataclass
from pathlib import Path

_DECIDED = """
    select lab, student, exercise, text, decision, reason from desk_appeal
     where decision is not null order by id
"""


@dataclass(frozen=True)
class Decision:
    """A student's question about a mark, and what a person decided."""

    exercise: str
    text: str
    decision: str
    reason: str


def decisions_of(database: Path) -> dict[tuple[str, str], tuple[Decision, ...]]:
    """All decisions, by lab and student; none if the desk was never opened."""
    if not database.exists():
        return {}
    try:
        with closing(sqlite3.connect(f"{database.resolve().as_uri()}?mode=rw", uri=True)) as book:
            rows = book.execute(_DECIDED).fetchall()
    except sqlite3.OperationalError as error:
        if "no such table" in str(error):
            return {}
        raise
    found: dict[tuple[str, str], tuple[Decision, ...]] = {}
    for lab, student, *fields in rows:
        found[lab, student] = (*found.get((lab, student), ()), Decision(*fields))
    return found
