"""How the checks of lab 06 call functions that draw: with chance decided, seeded, or left alone."""

import random
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from typing import Any

from labkit.bridge.requests import call_and_look, scripted, scripted_each
from labkit.bridge.student import Offer, Student
from labkit.checks.core import Wrong
from labkit.checks.law import RandomSource, offered

# Of the student's generator, of all others, and how many numbers were drawn from the first before.
Seeds = tuple[int, int, int]
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


def call_often(student: Student, name: str, *args: Any, seeds: Sequence[Seeds]) -> list:
    """The results of a call with each of these seeds, in one request."""
    return scripted_each(getattr(student, name), [_chance(seeds=one) for one in seeds], *args)


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


def expect_repeatable(
    what: str, play: Callable[[list[Seeds]], Iterable[Any]], n_runs: int = 1
) -> None:
    """What `play` gives for each of some seeds depends on the student's generator, and on no other.

    It must be improbable that n runs with two states of it are alike by chance. Seeds are drawn
    afresh, and nobody can tell which two calls have the same: counting calls is no answer. One seed
    of the generator is that of several states, so it takes more than the seed to know the state.
    """
    chance = random.SystemRandom()
    any_seed = partial(chance.getrandbits, 31)
    first = [(any_seed(), any_seed(), chance.randrange(99)) for _ in range(n_runs)]
    again = [(seed, any_seed(), n_drawn) for seed, _, n_drawn in first]
    other = [(seed, others, n_drawn + chance.randrange(1, 99)) for seed, others, n_drawn in first]
    n_few = max(n_runs // 5, 1)  # mostly they tell that another state gives another result
    asked = [*first, *again, *other[:n_few]]
    order = chance.sample(range(len(asked)), len(asked))
    found = dict(zip(order, play([asked[i] for i in order]), strict=True))
    got = [found[i] for i in range(len(asked))]

    def is_other_the_same() -> bool:
        few, rest = got[:n_few], got[n_few:n_runs]
        return got[2 * n_runs :] == few and (not rest or [*play(other[n_few:])] == rest)

    if got[:n_runs] != got[n_runs : 2 * n_runs]:
        why = "Another generator is used, not `rng`." if is_other_the_same() else ""
        raise Wrong(f"{what} of two calls differ, although `rng` is in the same state", why=why)
    if is_other_the_same():
        raise Wrong(
            f"{what} of two calls are the same, although `rng` is in different states",
            why="Nothing is drawn, or a generator with a fixed seed is used.",
        )
