"""How the checks of lab 06 call functions that draw: with chance decided, seeded, or left alone."""

from collections.abc import Callable, Iterable, Iterator
from itertools import zip_longest
from typing import Any

from labkit.bridge.requests import call_and_look, scripted, scripted_each
from labkit.bridge.student import Offer, Student
from labkit.checks.core import Wrong
from labkit.checks.law import RandomSource, offered

Seeds = tuple[int, int]  # of the student's generator, and of all others
N_RUNS = 40  # with real random numbers: two such series are alike less than once in 1e9


def call(
    student: Student,
    name: str,
    *args: Any,
    source: RandomSource | None = None,
    seeds: Seeds | None = None,
    **kwargs: Any,
) -> Any:
    """The result of the student's function of that name.

    source: decides what is random. seeds: the function gets a generator as `rng`.
    """
    function, chance = getattr(student, name), _chance(source, seeds)
    if chance is None:
        return function(*args, **kwargs)
    return scripted(function, chance, *args, **kwargs)


def call_often(
    student: Student, name: str, *args: Any, seeds: Seeds, n_runs: int = N_RUNS
) -> Iterator[Any]:
    """The results of n calls, each with its own seeds, which follow from these.

    The first fifth is played in one request, the others in a second, if they are looked at.
    """
    each = [(seeds[0] + 10 * i, seeds[1] + 10 * i) for i in range(n_runs)]
    for some in (each[: n_runs // 5], each[n_runs // 5 :]):
        chances = [_chance(seeds=one) for one in some]
        yield from scripted_each(getattr(student, name), chances, *args)


def look_after_call(
    student: Student, name: str, *args: Any, source: RandomSource | None = None
) -> tuple[Any, list]:
    """The result, and the arguments after the call."""
    return call_and_look(getattr(student, name), *args, source=_chance(source))


def _chance(source: RandomSource | None = None, seeds: Seeds | None = None) -> Offer | None:
    """The extra arguments of a call with scripted chance or with seeds."""
    if seeds is not None:
        return Offer(attributes={"seeds": [*seeds]})
    return None if source is None else offered(source)


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
