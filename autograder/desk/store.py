"""Giving marks: every act is one transaction, has a name, an author and a time, and can be undone.

A request carries a name of its own, so that one that is sent twice counts once. It also carries a
digest of what its author saw, of the mark and of the text. If another person has changed the mark
since, nothing is written and both people are named; nor is it if the student has changed the text.
"""

import sqlite3
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, replace

from autograder.desk.acts import (
    ConflictError,
    change,
    check_seen,
    conflict_of,
    entry_of,
    is_known,
    named,
    new_act,
    write_points,
)
from autograder.desk.rubric import Question
from autograder.desk.states import (
    AnswerId,
    CurrentItem,
    State,
    entries_of,
    items_of,
    points_of,
    states_of,
    waiting_of,
)
from autograder.desk.tables import DeskTables
from autograder.errors import Refusal
from autograder.record.marks import as_points

_HISTORY = """
    select desk_act.at, desk_act.who, desk_act.what, before, after from desk_change
      join desk_act on desk_act.id = desk_change.act
     where lab = ? and question = ? and student = ? order by desk_act.id
"""
_LAST_OF = """
    select id, item, item_before, item_after from desk_act as act
     where who = ? and undoes is null and what not like 'appeal %'
       and not exists (select 1 from desk_act where undoes = act.id) order by id desc limit 1
"""


@dataclass(frozen=True)
class Deed:
    """One line of an answer's history."""

    at: str
    who: str
    what: str
    before: State
    after: State


@dataclass(frozen=True)
class ItemChange:
    """What new points of an item mean. kept: whose points a person overrode, so they stay."""

    item: CurrentItem
    points: float
    changes: dict[AnswerId, tuple[State, State]]
    kept: int


class MarkStore:
    """The marks of the written questions, for several people at once."""

    def __init__(
        self,
        tables: DeskTables,
        questions: Iterable[Question],
        text_of: Callable[[AnswerId], str],
    ) -> None:
        """The rubrics of these questions are known from now on.

        text_of: a digest of what a student handed in last for an answer.
        """
        self._tables, self._text_of = tables, text_of
        self._questions: dict[tuple[str, str], Question] = {}
        self.know(questions)

    def know(self, questions: Iterable[Question]) -> None:
        """Take in questions; of their rubrics, items that people changed stay as they are."""
        new = [each for each in questions if (each.lab, each.name) not in self._questions]
        if not new:
            return
        with self._tables.writing() as book:
            book.executemany(
                "insert or ignore into desk_item (lab, question, text, points, one_of) "
                "values (?, ?, ?, ?, ?)",
                [(q.lab, q.name, i.text, i.points, i.one_of) for q in new for i in q.items],
            )
        self._questions |= {(each.lab, each.name): each for each in new}

    def items(self, lab: str, question: str) -> list[CurrentItem]:
        """The current rubric."""
        with self._tables.reading() as book:
            return items_of(book, lab, question)

    def states(self, lab: str, question: str) -> dict[str, State]:
        """What every student has for a question."""
        with self._tables.reading() as book:
            return states_of(book, lab, question)

    def given(self, keys: Iterable[AnswerId]) -> dict[AnswerId, State]:
        """What these answers have, without those that are not in the gradebook."""
        with self._tables.reading() as book:
            entries = {key: entries_of(book, *key).get(key.student) for key in keys}
        return {key: entry.state for key, entry in entries.items() if entry}

    def waiting(self) -> dict[tuple[str, str], set[str]]:
        """Whose answers wait for a person, by lab and question."""
        found: dict[tuple[str, str], set[str]] = {}
        with self._tables.reading() as book:
            for lab, question, student in waiting_of(book):
                found.setdefault((lab, question), set()).add(student)
        return found

    def history(self, key: AnswerId) -> list[Deed]:
        """Everything that was done to an answer, first things first."""
        rows = self._tables.rows(_HISTORY, key)
        return [Deed(*row[:3], *map(State.from_json, row[3:])) for row in rows]

    def give(
        self,
        given: Mapping[AnswerId, State],
        who: str,
        request: str,
        seen: Mapping[AnswerId, str],
        what: str = "marked",
        also: tuple[str, tuple] | None = None,
    ) -> bool:
        """Give these answers these states. seen: what the author saw, by `State.seen_with`; also: a
        statement of the same transaction, with its values.

        Returns False if the request was carried out before. Raises: ConflictError.
        """
        asked = {key: (state.points, state.comment, state.items) for key, state in given.items()}
        request = named(request, sorted(asked.items()))
        with self._tables.writing() as book:
            if is_known(book, request):
                return False
            entries = {key: entry_of(book, key) for key in given}
            for key, digest in seen.items():
                check_seen(book, key, entries[key], digest, self._text_of(key))
            act = new_act(book, who, request, what)
            for key, state in given.items():
                change(book, act, key, entries[key], state)
            if also:
                book.execute(*also)
        return True

    def undo(self, who: str, request: str) -> list[AnswerId]:
        """Take back a person's last act that stands; the answers it was about.

        Points of an item go back for answers that were marked with the item since, too.
        Raises: Refusal if there is none; ConflictError if an answer or the item has changed since.
        """
        request = named(request, "undo")
        with self._tables.writing() as book:
            if is_known(book, request):
                return []
            last = book.execute(_LAST_OF, (who,)).fetchone()
            if last is None:
                raise Refusal("There is nothing to undo.")
            undone, item, item_before, item_after = last
            act = new_act(book, who, request, "undone", undoes=undone)
            rows = book.execute(
                "select lab, question, student, before, after from desk_change where act = ?",
                (undone,),
            ).fetchall()
            undone_of = {AnswerId(*names): (after, before) for *names, before, after in rows}
            for key, (after, before) in undone_of.items():
                entry = entry_of(book, key)
                if entry.state != State.from_json(after):
                    raise conflict_of(book, key, entry.state)
                change(book, act, key, entry, State.from_json(before))
            later = {} if item is None else self._undo_points(book, item, item_after, item_before)
            for key, (_, state) in later.items():
                change(book, act, key, entry_of(book, key), state)
            if item is not None:
                write_points(book, act, item, item_after, item_before)
        return [*undone_of, *later]

    def split_students(self, lab: str, question: str) -> set[str]:
        """Whose answers were taken out of their groups."""
        query = "select student from desk_split where lab = ? and question = ?"
        return {student for (student,) in self._tables.rows(query, (lab, question))}

    def split(self, key: AnswerId) -> None:
        """Take an answer out of its group, or put it back."""
        with self._tables.writing() as book:
            where = "where lab = ? and question = ? and student = ?"
            if not book.execute(f"delete from desk_split {where}", tuple(key)).rowcount:
                book.execute("insert into desk_split values (?, ?, ?)", tuple(key))

    def add_item(self, lab: str, question: str, text: str, points: float, one_of: str) -> None:
        """Add an item to a rubric; one with the same text stays as it is."""
        with self._tables.writing() as book:
            book.execute(
                "insert or ignore into desk_item (lab, question, text, points, one_of) "
                "values (?, ?, ?, ?, ?)",
                (lab, question, text, points, one_of),
            )

    def plan_points(self, item: int, points: float) -> ItemChange:
        """What would change if an item had these points. Raises: Refusal if it is unknown."""
        with self._tables.reading() as book:
            return self._plan(book, item, points)

    def set_points(self, item: int, points: float, who: str, request: str, n_seen: int) -> bool:
        """Give an item these points, and every answer that has it its new sum.

        n_seen: the changes that its author saw. Raises: ConflictError if there are more now.
        """
        request = named(request, (item, points))
        with self._tables.writing() as book:
            if is_known(book, request):
                return False
            plan = self._plan(book, item, points)
            if len(plan.changes) != n_seen:
                raise ConflictError("Answers were marked meanwhile. Look at the new list.")
            act = new_act(book, who, request, f"item now {as_points(points)}")
            write_points(book, act, item, plan.item.points, points)
            for key, (_, after) in plan.changes.items():
                change(book, act, key, entry_of(book, key), after)
        return True

    def _undo_points(
        self, book: sqlite3.Connection, item: int, points: float, before: float
    ) -> dict[AnswerId, tuple[State, State]]:
        """What changes besides if an item has its points of before. Raises: ConflictError."""
        plan = self._plan(book, item, before)
        if plan.item.points != points:
            has = f"it has {as_points(plan.item.points)} points now"
            raise ConflictError(f"The points of this item were changed since: {has}.")
        return plan.changes

    def _plan(self, book: sqlite3.Connection, item: int, points: float) -> ItemChange:
        row = book.execute("select lab, question from desk_item where id = ?", (item,)).fetchone()
        if row is None or row not in self._questions:
            raise Refusal("This item does not exist.")
        items = {each.id: each for each in items_of(book, *row)}
        at_most = self._questions[row].points
        old = {name: each.points for name, each in items.items()}
        new = old | {item: points}
        changes, kept = {}, 0
        for student, entry in entries_of(book, *row).items():
            state = entry.state
            if item not in state.items or state.points is None:
                continue
            total = points_of(state.items, new, at_most)
            if state.points != points_of(state.items, old, at_most):
                kept += 1
            elif total != state.points:
                changes[AnswerId(*row, student)] = (state, replace(state, points=total))
        return ItemChange(items[item], points, changes, kept)
