"""How the checks of lab 06 call functions that draw: with chance decided, seeded, or left alone.

What comes of a `PlayedCase` is found once for all its checks, with the probability of each outcome.
"""

import random
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar

from torch import Tensor

from labkit.bridge.requests import call_and_look, scripted, scripted_each
from labkit.bridge.student import Offer, Student
from labkit.checks.compare import expect_equal, number_in, show
from labkit.checks.core import Wrong
from labkit.checks.law import Law, Outcome, RandomSource, offered
from labkit.checks.tensors import expect_unchanged
from labkit.labs.speculative.checks.law import TOLERANCE, Unfollowed, found_law, found_once

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


class PlayedCase:
    """A case of a function of which the last argument is `rng`."""

    __slots__ = ()
    function: ClassVar[str]
    names: ClassVar[Sequence[str]]  # of the other arguments, in messages

    def given(self) -> tuple[list[int] | Tensor, ...]:
        """The other arguments, new ones for each call."""
        raise NotImplementedError

    def outcome_in(self, got: Any) -> Outcome:
        """What the function returns, as whole numbers. Raises Wrong for anything else."""
        raise NotImplementedError

    def play(self, student: Student, source: RandomSource | None) -> Outcome:
        """One run of the student's code."""
        return self.outcome_in(call(student, self.function, *self.given(), None, source=source))

    def found(self, student: Student) -> Law:
        """The distribution of what the student's code returns, played once for all checks."""
        return found_once(student, (self.function, self), partial(self.play, student))

    def expect_given_unchanged(self, student: Student) -> None:
        """Raise Wrong if a call changes one of its arguments, whatever is drawn."""
        before = self.given()

        def play(source: RandomSource | None) -> Outcome:
            result, after = look_after_call(student, self.function, *before, None, source=source)
            outcome = self.outcome_in(result)
            for got, one, name in zip(after, before, self.names, strict=False):
                same = expect_equal if isinstance(one, list) else expect_unchanged
                same(got, one, f"{name} after the call")
            return outcome

        try:
            self.found(student)  # another check may know that it cannot be followed
            found_law(play)
        except Unfollowed:
            for _ in range(N_RUNS):
                play(None)

    def expect_rng_decides(self, student: Student, what: str, n_runs: int = N_RUNS) -> None:
        """Raise Wrong unless the results depend on `rng` and on nothing else. what: they are."""
        given = self.given()

        def play(seeds: list[Seeds]) -> Iterator[Outcome]:
            return map(self.outcome_in, call_often(student, self.function, *given, seeds=seeds))

        expect_repeatable(what, play, n_runs)

    def expect_never(
        self, student: Student, is_excluded: Callable[[Outcome], bool], tiny: str
    ) -> None:
        """Raise Wrong if an outcome with an excluded token is possible. tiny: a cause."""
        found = self.found(student)
        share = found.share(is_excluded)
        if share > 1e-8:
            what = "a text with a token of target probability 0"
            why = tiny if share < TOLERANCE else ""
            raise Wrong(what, expected="probability 0", got=f"probability {share:.3g}", why=why)
        if len(found.probabilities) < 2:
            raise Wrong("the result", expected="several outcomes", got="always the same")


def whole_in(got: Any, what: str, most: int) -> int:
    """The whole number in an answer, from 0 to `most`."""
    number = number_in(got, what)
    if not 0 <= number <= most or number != int(number):
        raise Wrong(what, expected=f"a whole number from 0 to {most}", got=show(got))
    return int(number)
