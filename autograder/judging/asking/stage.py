"""Where changed definitions are played: in forks of the student's process, behind the wall."""

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, TypeVar

from autograder.judging.asking.edits import Spot, Swap, noted, roles_of
from autograder.judging.asking.plays import Play, staged
from autograder.judging.ends import Overran
from autograder.judging.session import Session
from labkit.bridge.student import Proxy, Student, StudentError
from labkit.bridge.wire import is_array
from labkit.checks.core import Check, Finding, play_check
from labkit.checks.tables.calls import Call
from labkit.checks.why.changes import Change, unchanged

T = TypeVar("T")
FIRST_LIMIT_S = 5.0  # of the student's own time, before it is known how long a play takes
MOST_CALL_CHARS = 60
NUMBER = re.compile(r"[+-]?\d+(\.\d*)?(e[+-]?\d+)?")
MOST_CHARS, MOST_ITEMS = 48, 8  # of a value that a person can work out
MOST_OVERRUNS = 2
ENOUGH_SLIPS = 7  # with which a play runs otherwise: each takes a process of its own
MOST_ALIKE = 1  # lines of which a slip gives the same results in all plays


@dataclass(frozen=True, slots=True)
class Run:
    """What a play gives, and what its notes say: by line and variable, the values in order."""

    result: str = ""
    notes: Mapping[tuple[int, str], tuple[str, ...]] = field(default_factory=dict)


@dataclass(frozen=True)
class Exercise:
    """An exercise of a submission: its cell, its checks with the cases that students see.

    plays: that are asked about; limit_s: the time for one play of a changed definition. slips: how
    the plays run with a slip, each in a process of its own.
    """

    name: str
    source: str
    checks: list[Check]
    cases: list
    plays: tuple[Play, ...] = ()
    limit_s: float = FIRST_LIMIT_S
    slips: tuple[tuple[Change | Swap, list[Run]], ...] = ()

    @property
    def own(self) -> str:
        """The definition as it was handed in."""
        return unchanged(self.source, self.name)

    @cached_property
    def roles(self) -> dict[int, str]:
        """What its statements are called, by line."""
        return roles_of(self.source, self.name)

    @cached_property
    def noted(self) -> tuple[list[Spot], str]:
        """Places where its variables get values, and the definition that notes these."""
        return noted(self.source, self.name)


@dataclass
class Stage:
    """One process of a submission. overruns: changes that did not end, by exercise.

    seed: of the plays. Runs are kept: a fresh process needs a fresh stage, with another seed.
    """

    session: Session
    seed: int = 1
    overruns: Counter[str] = field(default_factory=Counter)
    _runs: dict[tuple, list[Run]] = field(default_factory=dict)

    def rehearse(self, exercise: Exercise) -> tuple[list[Finding], list[Call]]:
        """What all checks find of the definition alone, and the calls they make, short ones first.

        Raises: as `findings`.
        """

        def play(student: Student) -> tuple[list[Finding], list[Call]]:
            listening = _Listening(student, exercise.name)
            found = [play_check(check, listening, exercise.cases) for check in exercise.checks]
            return found, sorted(listening.heard.values(), key=lambda each: len(str(each)))

        return self._played(exercise, exercise.own, play)

    def findings(
        self, exercise: Exercise, definition: str, is_enough: Callable[[list[Finding]], bool]
    ) -> list[Finding]:
        """What the checks find, in their order, until it is enough, with this definition.

        Raises: StudentEnded, WireError, and what checks raise for values that make no sense.
        """

        def play(student: Student) -> list[Finding]:
            found: list[Finding] = []
            for check in exercise.checks:
                found.append(play_check(check, student, exercise.cases))
                if is_enough(found):
                    break
            return found

        return self._played(exercise, definition, play)

    def runs(self, exercise: Exercise, definition: str) -> list[Run]:
        """How each play runs with this definition; a run without a result if it raises, or ends
        too late.
        """
        key = exercise.name, definition, exercise.plays
        if key not in self._runs:
            self._runs[key] = [Run()] * len(exercise.plays)
            text = staged(definition, exercise.plays, self.seed)
            with suppress(Overran, StudentError):
                said = self._played(exercise, text, lambda student: student.plays_of_code())
                self._runs[key] = [_run_of(*one) if one else Run() for one in said]
        return self._runs[key]

    def slips(
        self, exercise: Exercise, edits: Sequence[Change | Swap]
    ) -> tuple[tuple[Change | Swap, list[Run]], ...]:
        """The edits with which a play runs otherwise, with its runs; of lines that all do the same
        to every play, none: such code may be there to mark options. Raises: as `findings`.
        """
        own, found = self.runs(exercise, exercise.noted[1]), []
        for edit in edits:
            runs = self.runs(exercise, noted(edit.definition, exercise.name)[1])
            if runs != own and any(_results(runs)):
                found.append((edit, runs))
            if len(found) == ENOUGH_SLIPS or self.overruns[exercise.name] >= MOST_OVERRUNS:
                break
        del self.overruns[exercise.name]  # what is asked about has run
        lines: dict[tuple, set[int]] = {}
        for edit, runs in found:
            lines.setdefault((*_results(runs),), set()).add(edit.line)
        return tuple((edit, runs) for edit, runs in found
                     if len(lines[(*_results(runs),)]) <= MOST_ALIKE
                     or _results(runs) == _results(own))  # fmt: skip

    def _played(self, exercise: Exercise, definition: str, play: Callable[[Student], T]) -> T:
        try:
            return self.session.in_changed_fork(exercise.name, definition, exercise.limit_s, play)
        except Overran:
            self.overruns[exercise.name] += 1
            raise


def _run_of(result: Any, noted: Any) -> Run:
    notes: dict[tuple[int, str], tuple[str, ...]] = {}
    for line, variable, value in noted:
        notes[line, variable] = (*notes.get((line, variable), ()), shown(value))
    return Run(shown(result), notes)


def _results(runs: Sequence[Run]) -> list[str]:
    return [each.result for each in runs]


class _Listening(Student):
    """Notes the calls of one function whose arguments and result are plain and short."""

    def __init__(self, student: Student, name: str) -> None:
        super().__init__(student._channel, student._text_of)
        self._name = name
        self.heard: dict[str, Call] = {}

    def ask(self, op: str, target: Proxy | None = None, args: tuple = (),
            kwargs: Mapping[str, Any] | None = None, **rest: Any) -> Any:  # fmt: skip
        """The request, noted if it is such a call."""
        result = super().ask(op, target, args, kwargs, **rest)
        if op == "call" and target is not None and target._item == {"$name": self._name}:
            call = Call(args, dict(kwargs or {}))
            is_short = _is_plain([args, call.kwargs]) and len(str(call)) <= MOST_CALL_CHARS
            if is_short and shown(result):
                self.heard.setdefault(str(call), call)
        return result


def _is_plain(value: Any) -> bool:
    if isinstance(value, dict):
        return all(map(_is_plain, [*value, *value.values()]))
    if type(value) in (list, tuple):
        return all(map(_is_plain, value))
    return value is None or type(value) in (bool, int, float, str)


def shown(value: Any) -> str:
    """A value as a person writes it; "" for one that is too long, or no plain value."""
    if is_array(value):
        n_items = 1
        for length in value.shape:
            n_items *= length
        value = value.tolist() if n_items <= MOST_ITEMS else None
        if value is None:
            return ""
    text = _written(value, [MOST_ITEMS + 2])
    return text if len(text) <= MOST_CHARS else ""


def is_alike(text: str, other: str) -> bool:
    """Whether two values have the same numbers and words: a list and a tuple of them are alike."""
    return _words(text) == _words(other)


def _words(text: str) -> list[str | float]:
    found = re.findall(r"[\w.+-]+", text.replace("_", ""))
    return [float(each) if NUMBER.fullmatch(each) else each for each in found]


def _written(value: Any, n_left: list[int]) -> str:
    """As `shown`, or a text that is too long."""
    n_left[0] -= 1
    too_long = "." * (MOST_CHARS + 1)
    if n_left[0] < 0:
        return too_long
    match value:
        case bool() | None:
            return repr(value)
        case str():
            return repr(value[: MOST_CHARS + 1])
        case int() if abs(value) < 10**MOST_CHARS:
            return f"{value:_}" if abs(value) >= 10_000 else str(value)
        case float():
            return f"{value:.6g}"
        case list() | tuple() if len(value) <= MOST_ITEMS:
            inside = ", ".join(_written(each, n_left) for each in value)
            comma = "," if isinstance(value, tuple) and len(value) == 1 else ""
            return f"[{inside}]" if isinstance(value, list) else f"({inside}{comma})"
    return too_long
