"""Checks of `tokens_processed`.

It is about two sums: with a cache each token counts once, without one in every later pass.
"""

from dataclasses import dataclass
from functools import partial

from labkit.bridge.student import Student
from labkit.checks.compare import expect_number, number_in, show
from labkit.checks.core import Wrong, check
from labkit.checks.slips import cause_by_replay

PROBES = ((3, 4), (7, 5), (2, 6))  # where all slips differ

_processed = partial(check, "tokens_processed", gate=True)


def cached_slips(n: int, new: int) -> dict[str, float]:
    """What known mistakes count with a cache."""
    return {
        "The last new token is picked, but never fed.": n + new,
        "The prompt is fed as well, once.": new,
        "That is the sum without a cache.": new * n + new * (new - 1) // 2,
    }


def uncached_slips(n: int, new: int) -> dict[str, float]:
    """What known mistakes count without a cache."""
    return {
        "Each pass is counted at the final length.": new * (n + new),
        "Each pass is counted at the length of the last one.": new * (n + new - 1),
        "Each pass counts the token that it makes. It is fed only to the next pass.": (
            new * n + new * (new + 1) // 2
        ),
        "The prompt is fed again in every pass.": n + new * (new - 1) // 2,
        "The new tokens are fed again as well.": n * new,
        "That is the sum with a cache.": n + new - 1,
    }


@dataclass(frozen=True, slots=True)
class CountCase:
    """Counts as numbers: what either way of generating feeds to the model."""

    n_prompt: int
    n_new: int
    cached: int
    uncached: int

    def __str__(self) -> str:
        return f"{self.n_new} tokens after a prompt of {self.n_prompt}"


@_processed(hint="Count the tokens that each pass is fed. Add them up for n_new = 3.")
def with_a_cache_each_token_counts_once(student: Student, case: CountCase) -> None:
    """With a cache, the prompt is processed once, and each new token but the last once."""
    _expect_count(student, case, True, case.cached)


@_processed(hint="Feed n_prompt tokens to the first pass, n_prompt + 1 to the second. Add up all.")
def without_a_cache_each_step_counts_everything(student: Student, case: CountCase) -> None:
    """Without a cache, each pass is fed the prompt and all tokens made so far."""
    _expect_count(student, case, False, case.uncached)


def _expect_count(student: Student, case: CountCase, cached: bool, expected: int) -> None:
    got = student.tokens_processed(case.n_prompt, case.n_new, cached)
    slips = cached_slips if cached else uncached_slips
    what = f"the tokens processed {'with' if cached else 'without'} a cache"
    probes = (*PROBES, (case.n_prompt, case.n_new))
    with cause_by_replay(lambda *sizes: student.tokens_processed(*sizes, cached), probes, slips):
        expect_number(got, expected, what)


@_processed(hint="Return 0 if n_new is 0.")
def no_token_costs_nothing(student: Student, case: CountCase) -> None:
    """For n_new = 0 there is no forward pass, so nothing is processed either way."""
    for cached in (True, False):
        got = student.tokens_processed(case.n_prompt, 0, cached)
        expect_number(got, 0, f"the tokens processed for no new token, cached={cached}")
        what = f"the tokens processed for one new token, cached={cached}"
        one = number_in(student.tokens_processed(case.n_prompt, 1, cached), what)
        if not one > 0:
            raise Wrong(what, expected="more than none", got=show(one))


OPEN_CASES = {
    "tokens_processed": [
        CountCase(n_prompt=3, n_new=1, cached=3, uncached=3),
        CountCase(n_prompt=3, n_new=4, cached=6, uncached=18),
        CountCase(n_prompt=1, n_new=512, cached=512, uncached=131_328),
    ],
}
