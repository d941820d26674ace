"""Students' questions about their marks: a row each, a decision with its reason, the page anew."""

import csv
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from autograder.desk.acts import now
from autograder.desk.states import AnswerId, State, entries_of
from autograder.desk.store import MarkStore
from autograder.desk.tables import DeskTables
from autograder.errors import Refusal
from autograder.pages.cases import NoCaseError, case_cells
from autograder.pages.report import write_feedback
from autograder.record.marks import as_points, marks_of
from autograder.record.results import Result

COLUMNS = ("lab", "exercise", "student", "text")
MOST_CHARS = 5_000
_FIELDS = "id, lab, exercise, student, text, decision, reason, who"


@dataclass(frozen=True)
class Appeal:
    """One question about a mark. exercise: also the name of a written question; decision: None
    until a person decides."""

    id: int
    lab: str
    exercise: str
    student: str
    text: str
    decision: str | None = None
    reason: str | None = None
    who: str | None = None


class Appeals:
    """The appeals of an output folder."""

    def __init__(self, out: Path, tables: DeskTables, store: MarkStore) -> None:
        self._out, self._tables, self._store = out, tables, store

    def all(self) -> list[Appeal]:
        """Every appeal, those without a decision first."""
        query = f"select {_FIELDS} from desk_appeal order by decision is not null, id"
        return [Appeal(*row) for row in self._tables.rows(query)]

    def find(self, number: int) -> Appeal | None:
        """One appeal by its number."""
        return next((each for each in self.all() if each.id == number), None)

    def add(self, lab: str, exercise: str, student: str, text: str) -> None:
        """Keep a question; the same one is kept once. Raises: Refusal if it has no such mark."""
        key = AnswerId(lab, exercise, student)
        if not text.strip():
            raise Refusal(f"The question of {student} about {exercise} has no text.")
        with self._tables.writing() as book:
            if not any(student in entries_of(book, *each) for each in _cells(key)):
                raise Refusal(f"{student} has no mark for {exercise} of {lab}.")
            book.execute(
                "insert or ignore into desk_appeal (lab, exercise, student, text, at) "
                "values (?, ?, ?, ?, ?)",
                (*key, text.strip()[:MOST_CHARS], now()),
            )

    def read(self, path: Path) -> int:
        """Keep the rows of a CSV file; how many it has. Raises: Refusal."""
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            raise Refusal(f"{path} cannot be read: {error}") from error
        rows = list(csv.DictReader(text.splitlines(keepends=True)))
        if missing := [name for name in COLUMNS if rows and rows[0].get(name) is None]:
            raise Refusal(f"{path} needs the columns {', '.join(COLUMNS)}; it has no {missing[0]}")
        for row in rows:
            self.add(*(row[name] or "" for name in COLUMNS))
        return len(rows)

    def state(self, appeal: Appeal) -> tuple[AnswerId, State]:
        """The mark by hand that the appeal is about, and its name in the gradebook."""
        with self._tables.reading() as book:
            for key in _cells(AnswerId(appeal.lab, appeal.exercise, appeal.student)):
                if entry := entries_of(book, *key).get(appeal.student):
                    return key, entry.state
        raise Refusal(f"{appeal.student} has no mark for {appeal.exercise} of {appeal.lab}.")

    def cases(self, appeal: Appeal, results: Collection[Result]) -> list[str]:
        """What `autograder case` prints for the checks that failed; nothing if none did."""
        try:
            own = _own(appeal, results)
            return case_cells(own, appeal.exercise, student=appeal.student) if own else []
        except NoCaseError:
            return []

    def decide(
        self, appeal: Appeal, points: float | None, reason: str, who: str, request: str, seen: str
    ) -> None:
        """Write a decision, with the new points if there are any, in one transaction.

        seen: what the person saw, by `State.seen_with`. Raises: Refusal, ConflictError.
        """
        if not reason.strip():
            raise Refusal("Write the reason: the student reads it.")
        key, state = self.state(appeal)
        kept = "The mark stays." if points is None else f"The mark is {as_points(points)} now."
        given = state if points is None else State(points, state.comment, state.items, False)
        self._store.give(
            {key: given},
            who,
            request,
            {key: seen},
            f"appeal {appeal.id}",
            also=(
                "update desk_appeal set decision = ?, reason = ?, who = ?, decided_at = ? "
                "where id = ?",
                (kept, reason.strip()[:MOST_CHARS], who, now(), appeal.id),
            ),
        )

    def write_page(self, appeal: Appeal, results: Collection[Result]) -> None:
        """Make the student's feedback page again."""
        marks = {mark.student: mark for mark in marks_of(self._out, list(results))
                 if mark.lab == appeal.lab}  # fmt: skip
        for result in _own(appeal, results):
            write_feedback(self._out, result, marks.get(result.student))


def _own(appeal: Appeal, results: Collection[Result]) -> list[Result]:
    return [each for each in results if (each.lab, each.student) == (appeal.lab, appeal.student)]


def _cells(key: AnswerId) -> tuple[AnswerId, AnswerId]:
    """The gradebook's cells that an exercise may have: that of its checks, and a written answer."""
    return key._replace(question=f"check_{key.question}"), key
