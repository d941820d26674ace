"""The smallest case that a check fails on, drawn as calls, and the line that decides it."""

import inspect
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from string import ascii_lowercase
from types import CodeType, FrameType
from typing import Any, Self

from labkit.bridge.local import local_student
from labkit.bridge.wire import is_array
from labkit.checks.core import Check, Finding, play_check
from labkit.checks.kernel import TookTooLong, time_limit
from labkit.checks.why.asked import in_silence, passes, play_here
from labkit.checks.why.changes import changes_of
from labkit.checks.wrong import Wrong

LIMIT_S = 5  # for all cases of a check, and once more for all changes
MOST_CALLS, MOST_NUMBERS, LONGEST = 6, 8, 40


@dataclass(frozen=True, slots=True)
class Failure:
    """A case that fails alone. calls: what is called, in order; line: the last own line, or 0."""

    finding: Finding
    said: str
    calls: tuple[str, ...]
    line: int

    @property
    def size(self) -> tuple[int, int]:
        return len(self.calls), sum(map(len, self.calls))

    def drawn(self) -> str:
        """The calls as code, and what the check says of them."""
        calls = self.calls
        if len(calls) > MOST_CALLS:
            calls = (*calls[:2], f"... {len(calls) - 4} more calls ...", *calls[-2:])
        return "\n".join([*(f"`{call}`" for call in calls), self.said])


def smallest_failure(
    check: Check, namespace: Mapping[str, Any], cases: Sequence[Any]
) -> Failure | None:
    """The failing case with the fewest and shortest calls; None if none fails alone, in time."""
    found: list[Failure] = []
    own = _code_of(namespace.get(check.exercise))
    if not own:  # an answer that is a value has no calls
        return None
    try:
        with in_silence(), time_limit(LIMIT_S):
            for case in cases:
                if check.applies_to(case):
                    with _Traced(own) as traced:
                        finding = play_check(check, local_student(namespace), [case])
                    if finding.status == "failed":
                        said = finding.message.removeprefix(f"{case}: ")
                        calls, line = traced.until(said)
                        if not calls or getattr(case, "is_call", False):
                            calls = (str(case),)
                        found.append(Failure(finding, said, calls, line))
    except (TookTooLong, Exception):
        pass  # what was found before counts
    return min(found, key=lambda each: each.size, default=None)


def goal(failure: Failure, source: str, namespace: Mapping[str, Any], cases: Sequence[Any]) -> str:
    """What a line must achieve for the claim to hold. source: the cell of the definition.

    It is the first line of which a small change makes the check pass, or else the last that runs.
    """
    check, lines = failure.finding.check, source.splitlines()
    if line := _deciding_line(check, source, namespace, cases):
        return (
            f"Look at line {line} of your cell: `{lines[line - 1].strip()}`\n"
            "With a small change of it, this check passes. After it, this has to hold: "
            f"{check.claim}"
        )
    if 0 < failure.line <= len(lines):
        last = f"line {failure.line}, the last of your lines that runs in this case"
        return (
            f"`{lines[failure.line - 1].strip()}`\nThis is {last}. After it at the latest, this "
            f"has to hold: {check.claim}"
        )
    return f"After your code, this has to hold: {check.claim}"


def _deciding_line(
    check: Check, source: str, namespace: Mapping[str, Any], cases: Sequence[Any]
) -> int:
    play, end = play_here(namespace, [check], cases), time.perf_counter() + LIMIT_S
    for change in changes_of(source, check.exercise):
        if time.perf_counter() > end:
            break
        if passes(play, change.definition):
            return change.line
    return 0


class _Traced:
    """Notes the calls from outside into the functions of some code, while it is active."""

    def __init__(self, own: Sequence[CodeType]) -> None:
        self._calls: list[str] = []
        self._objects: list[Any] = []  # kept, so that no two have one id
        self._line = 0
        self._refused: list[tuple[str, int, int]] = []  # what was wrong, after how many calls, line
        self._own, self._depth, self._before = {id(code) for code in own}, 0, sys.gettrace()

    def until(self, said: str) -> tuple[tuple[str, ...], int]:
        """The calls up to the first comparison of which this is said, and the last own line."""
        marks = [(n, line) for what, n, line in self._refused if said.startswith(what)]
        n_calls, line = marks[0] if marks else (len(self._calls), self._line)
        return tuple(self._calls[:n_calls]), line

    def __enter__(self) -> Self:
        sys.settrace(self._begin)
        return self

    def __exit__(self, *_: object) -> None:
        sys.settrace(self._before)

    def _begin(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any] | None:
        if frame.f_code is Wrong.__init__.__code__:
            self._refused.append((frame.f_locals["what"], len(self._calls), self._line))
        if id(frame.f_code) not in self._own:
            return None
        if not self._depth:
            self._calls.append(self._drawn_call(frame))
        self._depth += 1
        return self._go_on

    def _go_on(self, frame: FrameType, event: str, _: Any) -> Callable[..., Any]:
        if event == "line":
            self._line = frame.f_lineno
        elif event == "return":
            self._depth -= 1
        return self._go_on

    def _drawn_call(self, frame: FrameType) -> str:
        """As a student would write it. Objects are called a, b, c and so on."""
        code, values = frame.f_code, frame.f_locals
        names = code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]
        name, args = code.co_qualname, [each for each in names if each not in ("self", "cls")]
        if "self" in names:
            kind, _, method = name.rpartition(".")
            own = self._name_of(values["self"])
            name = f"{own} = {kind}" if method == "__init__" else f"{own}.{method}"
        shown = [f"{each}={drawn(values[each])}" for each in args if each in values]
        return f"{name}({', '.join(shown)})"

    def _name_of(self, value: Any) -> str:
        known = [i for i, each in enumerate(self._objects) if each is value]
        if not known:
            known = [len(self._objects)]
            self._objects.append(value)
        return ascii_lowercase[known[0] % len(ascii_lowercase)]


def _code_of(value: Any) -> list[CodeType]:
    """The code of a function, or of the methods of a class."""
    if inspect.isclass(value):
        parts = [getattr(each, "fget", each) for each in vars(value).values()]
        parts = [getattr(each, "__func__", each) for each in parts]
    else:
        parts = [inspect.unwrap(value)] if callable(value) else []
    return [part.__code__ for part in parts if inspect.isfunction(part)]


def drawn(value: Any) -> str:
    """A value in a call, in at most LONGEST characters. It may be an object of any kind."""
    try:
        if is_array(value):
            is_short = math.prod(value.shape) <= MOST_NUMBERS
            text = f"tensor({_rounded(value.tolist())})" if is_short else ""
            is_short = is_short and len(text) <= LONGEST
            return text if is_short else f"<tensor of shape {tuple(value.shape)}>"
        text = f"{value:_}" if type(value) is int and abs(value) >= 10_000 else repr(value)
    except Exception:
        text = "<>"
    if text.startswith("<"):
        return f"<{type(value).__name__}>"
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 3]}..."


def _rounded(value: Any) -> Any:
    if isinstance(value, list):
        return [_rounded(each) for each in value]
    return round(value, 3) if isinstance(value, float) else value
