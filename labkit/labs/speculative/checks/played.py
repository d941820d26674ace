"""What the cases of `verify`, `verify_batch` and `verify_tree` share: a call that draws, played.

What comes of it is found once for all checks of a case, with the probability of each outcome.
"""

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import Any, ClassVar

from torch import Tensor

from labkit.bridge.student import Student
from labkit.checks.compare import expect_equal, number_in, show
from labkit.checks.core import Wrong
from labkit.checks.law import Law, Outcome, RandomSource
from labkit.checks.tensors import expect_unchanged
from labkit.labs.speculative.checks.calling import (
    N_RUNS,
    Seeds,
    call,
    call_often,
    expect_repeatable,
    look_after_call,
)
from labkit.labs.speculative.checks.law import (
    TOLERANCE,
    Unfollowed,
    found_law,
    found_once,
    row_law,
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
        self, student: Student, is_excluded: Callable[[Outcome], bool], tiny: str, more: str = ""
    ) -> None:
        """Raise Wrong if an outcome with an excluded token is possible. tiny, more: the causes."""
        found = self.found(student)
        share = found.share(is_excluded)
        if share > 1e-8:
            what = "a text with a token of target probability 0"
            why = tiny if share < TOLERANCE else more
            raise Wrong(what, expected="probability 0", got=f"probability {share:.3g}", why=why)
        if len(found.probabilities) < 2:
            raise Wrong("the result", expected="several outcomes", got="always the same")


def whole_in(got: Any, what: str, most: int) -> int:
    """The whole number in an answer, from 0 to `most`."""
    number = number_in(got, what)
    if not 0 <= number <= most or number != int(number):
        raise Wrong(what, expected=f"a whole number from 0 to {most}", got=show(got))
    return int(number)


def token_slips(
    x: int, target: Sequence[float], draft: Sequence[float], left: Sequence[float]
) -> dict[str, dict[Outcome, float]]:
    """What may come after token x is rejected by known mistakes, each with its sentence."""
    likely = max(range(len(left)), key=left.__getitem__)
    return {
        "That is the rejected token itself.": {(x,): 1.0},
        "That is the target alone. Draw from the residual.": row_law(target),
        "That is the draft again. Draw from the residual.": row_law(draft),
        "That is always the most likely token.": {(likely,): 1.0},
    }
