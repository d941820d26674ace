"""A student's function is judged by its own faults, not by those of the functions that it calls.

With hidden cases the right functions are at hand (`case.right`). A check that fails is played once
more with those in the place of the student's `distribution`, `residual` and `verify`; it fails only
if that fails too. They run on the check's side, so no right answer comes near the student's code.
"""

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from itertools import zip_longest
from typing import Any

import torch

from labkit.bridge.requests import call_and_look, scripted, scripted_each
from labkit.bridge.student import Offer, Student, StudentError
from labkit.chance.source import run_scripted
from labkit.checks.core import Play, Wrong
from labkit.checks.law import RandomSource, offered

PARTS = {
    "autoregressive": ("distribution",),
    "speculative": ("distribution", "residual", "verify"),
    "verify": ("residual",),
    "verify_batch": ("residual", "verify"),
}
Seeds = tuple[int, int]  # of the student's generator, and of all others
N_RUNS = 40  # with real random numbers: two such series are alike less than once in 1e9


class Helped(Student):
    """A student in whose functions the parts are the right ones.

    chance: what these draw from where they are given no generator. It begins anew for each student,
    so that the order of submissions changes nothing.
    """

    def __init__(self, student: Student, right: Any) -> None:
        super().__init__(student._channel)
        self.right, self.chance = right, torch.Generator().manual_seed(1)


def isolated(play: Play) -> Play:
    """A check that is played again with the right parts where it fails with the student's own."""

    @wraps(play)
    def either(student: Student, case: Any) -> None:
        try:
            play(student, case)
            return
        except (Wrong, StudentError) as error:
            if case.right is None:
                raise
            own = error
        helped = student.once("helped", lambda: Helped(student, case.right))
        try:
            play(helped, case)
        except StudentError as error:
            raise own if isinstance(own, Wrong) else error from None

    return either


def call(
    student: Student,
    name: str,
    *args: Any,
    source: RandomSource | None = None,
    seeds: Seeds | None = None,
    **kwargs: Any,
) -> Any:
    """What the student's function of that name returns.

    source: decides what is random. seeds: the function gets a generator as `rng`.
    """
    function, chance = getattr(student, name), _chance(student, name, source, seeds)
    if chance is None:
        return function(*args, **kwargs)
    return scripted(function, chance, *args, **kwargs)


def call_often(
    student: Student, name: str, *args: Any, seeds: Seeds, n_runs: int = N_RUNS
) -> Iterator[Any]:
    """What it returns in so many calls, each with seeds of its own that follow from these.

    The first fifth is played in one request, the others in a second, if they are looked at.
    """
    each = [(seeds[0] + 10 * i, seeds[1] + 10 * i) for i in range(n_runs)]
    for some in (each[: n_runs // 5], each[n_runs // 5 :]):
        chances = [_chance(student, name, seeds=one) for one in some]
        yield from scripted_each(getattr(student, name), chances, *args)


def look_after_call(
    student: Student, name: str, *args: Any, source: RandomSource | None = None
) -> tuple[Any, list]:
    """What it returns, and what its arguments are afterwards."""
    function, chance = getattr(student, name), _chance(student, name, source)
    return call_and_look(function, *args, source=chance)


def _chance(
    student: Student, name: str, source: RandomSource | None = None, seeds: Seeds | None = None
) -> Offer | None:
    """What a call takes that is not to be an ordinary one."""
    more: dict[str, Any] = {}
    if isinstance(student, Helped):
        right = {
            part: _part(getattr(student.right, part), source, student.chance)
            for part in PARTS[name]
        }
        more["parts"] = Offer(attributes=right)
    if seeds is not None:
        more["seeds"] = list(seeds)
    if source is not None:
        return offered(source, **more)
    return Offer(attributes=more) if more else None


def expect_repeatable(what: str, play: Callable[[Seeds], Iterable[Any]]) -> None:
    """What `play(seeds)` gives depends on the student's generator, and on no other.

    It must be improbable that two runs are alike by chance.
    """
    first, again = [*play((1, 2))], [*play((1, 3))]

    def is_other_the_same() -> bool:  # mostly the first result tells
        return all(one == other for one, other in zip_longest(first, play((4, 2))))

    if first != again:
        why = "Another generator is used, not `rng`." if is_other_the_same() else ""
        raise Wrong(f"{what} of two calls differ, although `rng` is in the same state", why=why)
    if is_other_the_same():
        raise Wrong(
            f"{what} of two calls are the same, although `rng` is in different states",
            why="Nothing is drawn, or a generator with a fixed seed is used.",
        )


def _part(function: Callable, source: RandomSource | None, chance: torch.Generator) -> Callable:
    """A right part as the student's code may call it.

    Its chance is the source's. Without one, `verify` does the same for the same arguments if it is
    given a generator (which stays where the student's code runs), and else draws from `chance`.
    """

    def part(*args: Any, rng: Any = None, **kwargs: Any) -> Any:
        if function.__name__ == "verify":
            args, rng = args[:3], args[3] if len(args) > 3 else rng
            if source is None:
                kwargs["rng"] = chance if rng is None else torch.Generator().manual_seed(0)
        if source is None:
            return function(*args, **kwargs)
        return run_scripted(source, function, *args, **kwargs)

    return part
