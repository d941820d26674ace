"""One case again, in the notebook: each call with its arguments, and what came."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from labkit.bridge.local import LocalChannel
from labkit.bridge.student import Proxy, Student, StudentError
from labkit.checks.core import Check, Finding, checks_of, play_check

N_FIRST, N_LAST, MAX_CHARS = 6, 4, 400


@dataclass(frozen=True)
class NotedCall:
    """A call that a check made. result: what came back, or the error."""

    name: str
    args: tuple
    kwargs: Mapping[str, Any]
    result: Any

    def __str__(self) -> str:
        named = [f"{key}={_shown(value)}" for key, value in self.kwargs.items()]
        given = ", ".join([*map(_shown, self.args), *named])
        raised = "raised " if isinstance(self.result, StudentError) else ""
        return f"{self.name}({given}) -> {raised}{_shown(self.result)}"


class WatchedStudent(Student):
    """A student whose calls are noted down, in order."""

    def __init__(self, channel: LocalChannel) -> None:
        super().__init__(channel)
        self._calls: list[NotedCall] = []

    def ask(
        self,
        op: str,
        target: Proxy | None = None,
        args: tuple = (),
        kwargs: Mapping[str, Any] | None = None,
        **more: Any,
    ) -> Any:
        called = "" if target is None else target._item.get("$method", ("", target._kind))[1]
        given = args[1:] if op == "scripted" else args  # the first is the check's own
        try:
            result = super().ask(op, target, args, kwargs, **more)
        except StudentError as error:
            self._note(op, called, given, kwargs or {}, error)
            raise
        self._note(op, called, given, kwargs or {}, result)
        return result

    def _note(self, op: str, called: str, args: tuple, kwargs: Mapping, result: Any) -> None:
        if op in ("call", "scripted"):
            self._calls.append(NotedCall(called, args, kwargs, result))
        elif op == "in_turn":
            values = result if isinstance(result, list) else [result] * len(args)
            for step, value in zip(args, values, strict=True):
                if isinstance(step, tuple):
                    self._calls.append(NotedCall(step[0], step[1:], {}, value))


def replay(topic: str, check: str, case: Any, namespace: Mapping[str, Any]) -> list[NotedCall]:
    """Play one case on a notebook's names. Print its calls and what the check says.

    Of many calls the first and the last are printed; all are returned.

    Raises: ValueError for a check that the lab does not have.
    """
    channel = LocalChannel(namespace)
    channel.student = student = WatchedStudent(channel)
    found = play_check(_check_called(topic, check), student, [case])
    calls = student._calls
    n_between = max(0, len(calls) - N_FIRST - N_LAST)
    lines = [*map(str, calls[:N_FIRST])]
    lines += [f"… {n_between} more calls"] if n_between else []
    print(*lines, *calls[N_FIRST + n_between :], _verdict(found), sep="\n")
    return calls


def _check_called(topic: str, name: str) -> Check:
    for checks in checks_of(topic).values():
        for check in checks:
            if check.name == name:
                return check
    raise ValueError(f"no check {name!r} in this lab")


def _verdict(finding: Finding) -> str:
    return f"{finding.status}: {finding.check.claim}\n{finding.message}".rstrip()


def _shown(value: Any) -> str:
    text = str(value) if isinstance(value, StudentError) else repr(value)
    return text if len(text) <= MAX_CHARS else f"{text[:MAX_CHARS]}…"
