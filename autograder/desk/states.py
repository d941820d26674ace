"""What an answer has been given, read from nbgrader's tables and the desk's."""

import hashlib
import json
import sqlite3
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

_GRADES = """
    select submitted_assignment.student_id, grade.id, grade.manual_score,
           grade.needs_manual_grade or (grade.manual_score is null and grade.auto_score is null),
           comment.id, comment.manual_comment
      from assignment
      join submitted_assignment on submitted_assignment.assignment_id = assignment.id
      join submitted_notebook on submitted_notebook.assignment_id = submitted_assignment.id
      join grade on grade.notebook_id = submitted_notebook.id
      join base_cell on base_cell.id = grade.cell_id
      left join comment on comment.notebook_id = submitted_notebook.id and comment.cell_id in
           (select id from base_cell as commented
             where commented.notebook_id = base_cell.notebook_id
               and commented.name = base_cell.name)
     where assignment.name = ? and base_cell.name = ?
"""
_WAITING = """
    select assignment.name, base_cell.name, submitted_assignment.student_id
      from assignment
      join submitted_assignment on submitted_assignment.assignment_id = assignment.id
      join submitted_notebook on submitted_notebook.assignment_id = submitted_assignment.id
      join grade on grade.notebook_id = submitted_notebook.id
      join base_cell on base_cell.id = grade.cell_id
     where grade.needs_manual_grade or (grade.manual_score is null and grade.auto_score is null)
"""
_ONE = " and submitted_assignment.student_id = ?"


def digest_of(text: str) -> str:
    """What a form carries to say which text its author saw."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class AnswerId(NamedTuple):
    """Which answer: of which lab, question and student."""

    lab: str
    question: str
    student: str


@dataclass(frozen=True)
class CurrentItem:
    """A current rubric item. one_of: items with the same name here exclude each other."""

    id: int
    text: str
    points: float
    one_of: str = ""


@dataclass(frozen=True)
class State:
    """What an answer has been given. waits: whether a person has yet to read it, or again."""

    points: float | None = None
    comment: str = ""
    items: tuple[int, ...] = ()
    waits: bool = True

    @property
    def digest(self) -> str:
        """Changes with everything that a person gave."""
        return digest_of(self.to_json())

    def seen_with(self, text: str) -> str:
        """What a person sees who has this mark and a text of this digest before them."""
        return f"{self.digest}-{text}"

    def to_json(self) -> str:
        return json.dumps([self.points, self.comment, self.items, self.waits])

    @classmethod
    def from_json(cls, text: str) -> "State":
        points, comment, items, waits = json.loads(text)
        return cls(points, comment, tuple(items), waits)


@dataclass(frozen=True)
class Entry:
    """A state, and nbgrader's rows that hold it."""

    state: State
    grade: str
    comment: str | None


def items_of(book: sqlite3.Connection, lab: str, question: str) -> list[CurrentItem]:
    """The rubric of a question, in order."""
    rows = book.execute(
        "select id, text, points, one_of from desk_item where lab = ? and question = ? order by id",
        (lab, question),
    )
    return [CurrentItem(*row) for row in rows]


def entries_of(
    book: sqlite3.Connection, lab: str, question: str, student: str | None = None
) -> dict[str, Entry]:
    """What every student, or one, was given for a question."""
    given: dict[str, list[int]] = {}
    only, who = ("", ()) if student is None else (" and student = ?", (student,))
    for name, item in book.execute(
        f"select student, item from desk_given where lab = ? and question = ?{only} order by item",
        (lab, question, *who),
    ):
        given.setdefault(name, []).append(item)
    rows = book.execute(_GRADES + (_ONE if who else ""), (lab, question, *who))
    return {
        name: Entry(
            State(points, text or "", tuple(given.get(name, ())), bool(waits)),
            grade,
            comment,
        )
        for name, grade, points, waits, comment, text in rows
    }


def states_of(book: sqlite3.Connection, lab: str, question: str) -> dict[str, State]:
    """What every student was given for a question, without nbgrader's rows."""
    return {student: each.state for student, each in entries_of(book, lab, question).items()}


def waiting_of(book: sqlite3.Connection) -> Iterable[tuple[str, str, str]]:
    """Lab, question and student of each answer that waits for a person."""
    return book.execute(_WAITING)


def write_state(book: sqlite3.Connection, key: AnswerId, entry: Entry, state: State) -> None:
    """Write what an answer is given, in a transaction of the caller's."""
    book.execute(
        "update grade set manual_score = ?, needs_manual_grade = ? where id = ?",
        (state.points, state.waits, entry.grade),
    )
    if entry.comment:
        book.execute(
            "update comment set manual_comment = ? where id = ?",
            (state.comment or None, entry.comment),
        )
    book.execute(
        "delete from desk_given where lab = ? and question = ? and student = ?", tuple(key)
    )
    book.executemany(
        "insert into desk_given values (?, ?, ?, ?)", [(*key, item) for item in state.items]
    )


def points_of(items: Iterable[int], points: Mapping[int, float], at_most: float) -> float:
    """What these items earn together: not below zero, and not above the question's points."""
    total = sum(points[item] for item in items if item in points)
    return round(min(max(total, 0.0), at_most), 4)
