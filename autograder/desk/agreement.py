"""How far two people agree: a sample of each question is marked twice, the second time blindly.

Second marks count for nobody. They stand beside the first ones in the gradebook. Cohen's kappa is
the share of equal marks, less what chance gives: 1 for full agreement, 0 for chance.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

from autograder.desk.answers import AnswerSheet
from autograder.desk.states import Key, State, states_of
from autograder.desk.tables import Tables

SAMPLE = 20
_FIRST = """
    select student, who from desk_change join desk_act on desk_act.id = desk_change.act
     where lab = ? and question = ? order by desk_act.id
"""


@dataclass(frozen=True)
class Agreement:
    """What the pairs of marks of one question say. kappa: None if all marks are equal."""

    n: int
    same: float
    difference: float
    kappa: float | None


class SecondMarks:
    """The second marks of a sample, in the gradebook beside the first ones."""

    def __init__(self, tables: Tables) -> None:
        self._tables = tables

    def next(self, sheet: AnswerSheet, who: str) -> str | None:
        """The next answer of the sample that somebody else marked, and this person did not."""
        lab, question = sheet.question.lab, sheet.question.name
        with self._tables.reading() as book:
            first = dict(book.execute(_FIRST, (lab, question)).fetchall())
            states = states_of(book, lab, question)
            done = {student for (student,) in book.execute(
                "select student from desk_second where lab = ? and question = ? and who = ?",
                (lab, question, who),
            )}  # fmt: skip
        read = [
            (name, answer.key.student)
            for name, answer in sheet.answers.items()
            if answer.key.student in first and not states.get(answer.key.student, State()).waits
        ]
        for name, student in read[:SAMPLE]:
            if first[student] != who and student not in done:
                return name
        return None

    def give(self, key: Key, who: str, points: float) -> None:
        """Keep a second mark; a person's own earlier one is replaced."""
        with self._tables.writing() as book:
            book.execute(
                "insert or replace into desk_second values (?, ?, ?, ?, ?)", (*key, who, points)
            )

    def agreement(self, lab: str, question: str) -> Agreement | None:
        """How far first and second marks agree; None if there are no second ones."""
        with self._tables.reading() as book:
            states = states_of(book, lab, question)
            rows = book.execute(
                "select student, points from desk_second where lab = ? and question = ?",
                (lab, question),
            ).fetchall()
        pairs = [
            (states[student].points, points)
            for student, points in rows
            if student in states and states[student].points is not None
        ]
        return agreement_of(pairs) if pairs else None


def agreement_of(pairs: Sequence[tuple[float, float]]) -> Agreement:
    """The agreement of pairs of marks. Source: Cohen, 1960."""
    n = len(pairs)
    same = sum(first == second for first, second in pairs) / n
    ours, theirs = Counter(first for first, _ in pairs), Counter(second for _, second in pairs)
    chance = sum(ours[points] * theirs[points] for points in ours) / n**2
    kappa = None if chance == 1 else (same - chance) / (1 - chance)
    return Agreement(n, same, sum(abs(first - second) for first, second in pairs) / n, kappa)
