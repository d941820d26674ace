"""What the notebook of lab 8 says about an answer: whether it can be read, and nothing else."""

import html
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from labkit.bridge.local import local_student
from labkit.bridge.student import MissingName, Student
from labkit.checks.card import CARD, mark, with_code
from labkit.checks.compare import show
from labkit.checks.core import Unfinished, Wrong
from labkit.checks.notebook import Checker, Report
from labkit.labs.papers.checks.marks import ItemCase, read_letters, read_number, who
from labkit.labs.papers.words import say


@dataclass(frozen=True)
class Reading(Report):
    """One line on an answer; only the grader, which has the key, gives points for it."""

    said: str = ""

    @property
    def status(self) -> str:
        """What the worst of the checks found: "failed" or "todo", else "read"."""
        found = {finding.status for finding in self.findings}
        return next(status for status in ("failed", "todo", "read") if status in found)

    def __str__(self) -> str:
        return f"{self.exercise}: {self.said}"

    def _html(self) -> str:
        name = f"{mark(self.status)} <b>{html.escape(self.exercise)}</b>"
        return f'<div style="{CARD}">{name}: {with_code(self.said)}</div>'


class PapersChecker(Checker):
    """Reads answers and says what was read.

    check = PapersChecker(globals())
    check("q02", points=0.25)
    """

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        super().__init__("papers", namespace)
        self._names = namespace

    def _report(self, exercise: str, points: float) -> Reading:
        report = super()._report(exercise, points)
        said = what_is_read(local_student(self._names), exercise)
        return Reading(report.exercise, report.findings, points, said=said)


def what_is_read(student: Student, answer: str) -> str:
    """What is read of an answer, in the student's language, or what keeps it from being read."""
    case = ItemCase(answer)
    try:
        _, language = who(student)
        if answer == case.item.id:
            letters = read_letters(student, case)
            what = "read letters" if len(letters) > 1 else "read"
            return say(what, language, read=" ".join(letters), n=len(letters))
        fields = case.item.numbers.fields
        values = {field: read_number(student, case, field) for field in fields}
        read = ", ".join(f"{field} = {show(value)}" for field, value in values.items())
        return say("read", language, read=read)
    except Unfinished as unfinished:
        return str(unfinished)
    except MissingName as missing:
        return f"the notebook does not define `{missing}`."
    except Wrong as wrong:
        return wrong.sentences()
