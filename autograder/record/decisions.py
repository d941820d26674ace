"""What the desk knows beside points: the rubric items that an answer was given, and what was
decided about students' questions on their marks.
"""

from dataclasses import dataclass
from pathlib import Path

from autograder.record.database import connected, exists

_DECIDED = """
    select lab, student, exercise, text, decision, reason from desk_appeal
     where decision is not null order by id
"""

_GIVEN = """
    select given.lab, given.student, given.question, item.text from desk_given as given
      join desk_item as item on item.id = given.item order by item.id
"""
Student = tuple[str, str]  # lab and name


@dataclass(frozen=True)
class Decision:
    """A student's question about a mark, and what a person decided."""

    exercise: str
    text: str
    decision: str
    reason: str


def decisions_of(database: Path) -> dict[Student, tuple[Decision, ...]]:
    """All decisions, by lab and student; none if the desk was never opened."""
    found: dict[Student, tuple[Decision, ...]] = {}
    for lab, student, *fields in _rows(database, _DECIDED):
        found[lab, student] = (*found.get((lab, student), ()), Decision(*fields))
    return found


def reasons_of(database: Path) -> dict[Student, dict[str, list[str]]]:
    """The texts of the rubric items that were given, by lab and student, then by question."""
    found: dict[Student, dict[str, list[str]]] = {}
    for lab, student, question, text in _rows(database, _GIVEN):
        found.setdefault((lab, student), {}).setdefault(question, []).append(text)
    return found


def _rows(database: Path, query: str) -> list[tuple]:
    if not exists(database):
        return []
    with connected(database) as book:
        is_there = "select 1 from sqlite_master where name = 'desk_item'"
        return book.execute(query).fetchall() if book.execute(is_there).fetchone() else []
