"""Forms that answers and arguments take: lists, pairs, objects, refusals."""

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from functools import partial
from typing import Any

from labkit.bridge.requests import hold_attribute, in_turn, method_of
from labkit.bridge.student import Proxy, StudentError
from labkit.bridge.wire import is_array
from labkit.checks.compare import finite_number_in, refuse_blank, show, why_none
from labkit.checks.core import Wrong

MOST_NUMBERS = 10_000


def numbers_in(got: Any, what: str, n: int | None = None) -> list[float]:
    """The numbers in a list, tuple or flat array; `n` of them if it is given."""
    refuse_blank(got)
    wanted = "a list of numbers" if n is None else f"{n} numbers"
    if is_array(got) and len(got.shape) == 1:
        got = got[:MOST_NUMBERS].tolist()
    if not isinstance(got, list | tuple) or (n is not None and len(got) != n):
        raise Wrong(what, expected=wanted, got=show(got))
    return [float(finite_number_in(each, what)) for each in got[:MOST_NUMBERS]]


class HeldObject:
    """An object made by the student's class: its attributes by value, its methods to call."""

    def __init__(self, made: Proxy, methods: Collection[str]) -> None:
        self._made, self._methods = made, methods

    def __getattr__(self, name: str) -> Any:
        return method_of(self._made, name) if name in self._methods else getattr(self._made, name)

    def in_turn(self, *steps: str | tuple) -> list:
        """What attributes (`"length"`) and calls (`("append", k, v)`) give, in one request."""
        return in_turn(self._made, *steps)

    def held(self, name: str) -> Proxy:
        """An attribute as the object it is, to be looked at again later."""
        return hold_attribute(self._made, name)


def shown_by(
    build: Callable[[], HeldObject], *steps: str | tuple
) -> tuple[HeldObject, Iterator[Any]]:
    """A new object, and what the steps give on it (see `HeldObject.in_turn`), in one request.

    If a step raises, the object is another one, which takes each step when its value is wanted: so
    a check looks at what the earlier steps gave before it hears of the exception.
    """
    made = build()
    with suppress(StudentError):
        return made, iter(made.in_turn(*steps))
    other = build()
    return other, (_given_by(other, step) for step in steps)


def _given_by(made: HeldObject, step: str | tuple) -> Any:
    return getattr(made, step) if isinstance(step, str) else getattr(made, step[0])(*step[1:])


def expect_refusal(call: Callable[[], Any], kind: str, what: str, *, why: str = "") -> None:
    """The call raises the exception called `kind` (in the student's code)."""
    try:
        call()
    except StudentError as error:
        if error.is_unwritten:
            raise
        if not error.is_a(kind):
            raise Wrong(what, expected=f"a {kind}", got=str(error), why=why) from None
        return
    raise Wrong(what, expected=f"a {kind}", got="no error", why=why)


def expect_refusals(
    function: Callable[..., Any], calls: Mapping[str, Sequence], *, why: str = ""
) -> None:
    """Each of these arguments raises a ValueError; a message shows the argument."""
    for what, arguments in calls.items():
        expect_refusal(partial(function, *arguments), "ValueError", what, why=why)


def pair_in(got: Any, what: str, *, why: str = "") -> tuple[Any, Any]:
    """The two parts of an answer that should be a pair."""
    if not isinstance(got, tuple | list) or len(got) != 2:
        raise Wrong(what, expected="a pair", got=show(got), why=why or why_none(got))
    return got[0], got[1]
