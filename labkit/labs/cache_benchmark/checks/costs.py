"""Checks of lab 3's sums over passes.

Models are those of the fact tables, named in the case and built where the student's code runs; what
is expected comes with the case.
"""

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from labkit.bridge.requests import hold
from labkit.bridge.student import Student
from labkit.checks.compare import expect_equal, expect_number, list_in, number_in, show, told
from labkit.checks.core import Wrong, check
from labkit.measuring.roofline import ModelWork

# A sum over a dozen passes in single precision is this exact, whoever made it single: passes that
# are tensors make tensors of all that is computed from them. The least slip that changes a sum, one
# cached token more in every step, changes it by 1.2e-6.
SINGLE_PRECISION = 1e-6

Slip = Callable[[int, int], list[int]]
# Slips: what pass i is as (fed, cached) after a prompt; pass 0 is the prefill.
CACHED_SLIPS: dict[str, Slip] = {
    "The tokens of earlier decode steps are in the cache, too.": (
        lambda n_prompt, i: [1, n_prompt] if i else [n_prompt, 0]
    ),
    "The token that a pass is fed is not in the cache before it.": (
        lambda n_prompt, i: [1, n_prompt + i] if i else [n_prompt, 0]
    ),
    "The prefill is fed the prompt alone.": (
        lambda n_prompt, i: [1, n_prompt + i] if i else [n_prompt + 1, 0]
    ),
    "Those are passes without a cache.": lambda n_prompt, i: [n_prompt + i, 0],
}
UNCACHED_SLIPS: dict[str, Slip] = {
    "The new tokens so far are fed again, too.": lambda n_prompt, i: [n_prompt, 0],
    "The first pass is fed the prompt alone.": lambda n_prompt, i: [n_prompt + i + 1, 0],
    "Those are passes with a cache.": (
        lambda n_prompt, i: [1, n_prompt + i - 1] if i else [n_prompt, 0]
    ),
}

LLAMA, GEMMA = "meta-llama/Llama-3.2-1B", "google/gemma-3-1b-it"

_cost = partial(check, "generation_cost", parts=("generation_passes",), gate=True)
_pass = partial(check, "generation_passes", gate=True)


@dataclass(frozen=True, slots=True)
class PassesCase:
    """A generation, and the pairs (fed, cached) of its passes."""

    n_prompt: int
    use_cache: bool
    expected: tuple[tuple[int, int], ...]

    @property
    def n_new(self) -> int:
        return len(self.expected)

    def __str__(self) -> str:
        how = "with" if self.use_cache else "without"
        return f"{self.n_new} tokens after a prompt of {self.n_prompt}, {how} a cache"


@dataclass(frozen=True, slots=True)
class CostCase:
    """A generation by a model of the fact table; flops, and moved_bytes at 2 bytes per number."""

    model: str
    n_prompt: int
    n_new: int
    use_cache: bool
    flops: int
    moved_bytes: int
    width: int = 2

    def __str__(self) -> str:
        how = "with" if self.use_cache else "without"
        return (
            f"{self.model}, {self.n_new} tokens after a prompt of {self.n_prompt}, {how} a cache, "
            f"{self.width} bytes per number"
        )


def _passes(student: Student, case: PassesCase) -> list[list[Any]]:
    """The student's passes as lists of two numbers."""
    got = student.generation_passes(case.n_prompt, case.n_new, case.use_cache)
    pairs = [
        list_in(one, "a pass", "a pair (fed, cached)", 2)
        for one in list_in(got, "the passes", "a list of pairs")
    ]
    return [[number_in(number, "a count of a pass") for number in pair] for pair in pairs]


@_pass(hint="Make one pass for each new token.")
def every_pass_makes_one_token(student: Student, case: PassesCase) -> None:
    """The number of passes is n_new."""
    n_passes = len(_passes(student, case))
    whys = {case.n_new + 1: "No pass is fed the last new token."}
    if not case.n_new:
        whys[1] = "If no token is wanted, there is no prefill either."
    expect_equal(n_passes, case.n_new, "the number of passes", why=whys.get(n_passes, ""))


@_pass(
    hint="Feed the prompt and all new tokens so far in each pass.",
    applies_to=lambda case: case.n_new > 0 and not case.use_cache,
)
def without_a_cache_all_is_fed_again(student: Student, case: PassesCase) -> None:
    """Without a cache, each pass is fed the prompt and all new tokens so far."""
    _expect_pairs(student, case)


@_pass(
    hint="Feed the prompt in the first pass. Then feed one token, with all others cached.",
    applies_to=lambda case: case.n_new > 0 and case.use_cache,
)
def with_a_cache_one_token_is_fed(student: Student, case: PassesCase) -> None:
    """With a cache, the prompt is fed once, and then one token in each pass."""
    _expect_pairs(student, case)


def _expect_pairs(student: Student, case: PassesCase) -> None:
    got = _passes(student, case)
    slips = CACHED_SLIPS if case.use_cache else UNCACHED_SLIPS
    why = told(
        text
        for text, slip in slips.items()
        if got == [slip(case.n_prompt, i) for i in range(case.n_new)]
    )
    for i, expected in enumerate(case.expected):
        pair = got[i] if i < len(got) else "no pass"
        expect_equal(pair, list(expected), f"pass {i + 1}, as (fed, cached)", why=why)


def _costs(student: Student, case: CostCase, width: int = 2) -> list[Any]:
    """FLOPs and bytes as the student's function returns them."""
    work = hold(student.ModelWork.of, case.model)
    got = student.generation_cost(work, case.n_prompt, case.n_new, case.use_cache, width)
    return list_in(got, "the cost", "a pair (FLOPs, moved bytes)", 2)


def _expect_flops(
    student: Student, case: CostCase, slips: Mapping[float, str] | None = None
) -> None:
    got = _costs(student, case)[0]
    expect_number(got, case.flops, "the FLOPs", relative=SINGLE_PRECISION, slips=slips)


@_cost(
    hint="Pass n_cached of each pass to work.flops.",
    applies_to=lambda case: case.use_cache and case.n_prompt == 1 and case.width == 2,
)
def each_step_attends_to_what_is_cached(student: Student, case: CostCase) -> None:
    """The FLOPs of a decode step count its attention to all cached tokens."""
    of_fed = case.n_new * ModelWork.of(case.model).flops(1, 0, 1)
    _expect_flops(student, case, {of_fed: "Attention to the cached tokens was left out."})


@_cost(
    hint="Compute logits for one position in each pass.",
    applies_to=lambda case: case.use_cache and case.n_new == 1 and case.n_prompt > 1,
)
def prefill_needs_one_position_of_logits(student: Student, case: CostCase) -> None:
    """A prefill computes logits only for the last position."""
    of_all = ModelWork.of(case.model).flops(case.n_prompt, 0, case.n_prompt)
    text = "Logits were counted for every position. Only the last one needs them."
    _expect_flops(student, case, {of_all: text})


@_cost(
    hint="Use the passes of your generation_passes without a cache.",
    applies_to=lambda case: not case.use_cache and case.n_new > 1 and case.width == 2,
)
def without_a_cache_every_pass_is_a_prefill(student: Student, case: CostCase) -> None:
    """Without a cache, the FLOPs are those of one prefill per new token, each one token longer."""
    _expect_flops(student, case)


@_cost(
    hint="Pass n_cached + n_fed tokens to work.moved_bytes, for each pass.",
    applies_to=lambda case: case.width == 2,
)
def every_pass_moves_weights_and_cache(student: Student, case: CostCase) -> None:
    """Each pass moves the weights, and keys and values of the cached and the fed tokens."""
    got, work = _costs(student, case)[1], ModelWork.of(case.model)
    none, last = (work.moved_bytes(n, 1, 2) for n in (0, case.n_prompt + case.n_new - 1))
    of_cached = case.moved_bytes - last + none if case.use_cache else case.n_new * none
    lengths = (case.n_prompt, *[1] * (case.n_new - 1))
    of_fed = sum(work.moved_bytes(n, 1, 2) for n in lengths) if case.use_cache else case.moved_bytes
    slips = {
        of_fed: "A pass also moves keys and values of the tokens that are cached.",
        last: "That is what the last pass moves. Add up all passes.",
        of_cached: "A pass also moves keys and values of the tokens that it is fed.",
    }
    expect_number(got, case.moved_bytes, "the moved bytes", relative=SINGLE_PRECISION, slips=slips)


@_cost(hint="Pass width to work.moved_bytes.", applies_to=lambda case: case.width != 2)
def the_width_of_numbers_is_an_argument(student: Student, case: CostCase) -> None:
    """The moved bytes are proportional to `width`."""
    n_bytes = number_in(_costs(student, case, case.width)[1], "the moved bytes")
    of_two = number_in(_costs(student, case, 2)[1], "the moved bytes at 2 bytes per number")
    if not case.moved_bytes / case.n_new / 2 < of_two < math.inf:
        raise Wrong("the moved bytes", expected="the weights at least", got=show(of_two))
    expect_number(
        n_bytes,
        case.width / 2 * of_two,
        "the moved bytes at that width",
        relative=SINGLE_PRECISION,
        slips={case.moved_bytes: "You used 2 bytes per number, but width differs."},
    )


OPEN_CASES = {
    "generation_passes": [
        PassesCase(5, True, expected=((5, 0), (1, 5), (1, 6))),
        PassesCase(5, False, expected=((5, 0), (6, 0), (7, 0))),
        PassesCase(1, True, expected=((1, 0), (1, 1))),
        PassesCase(4, True, expected=()),
        PassesCase(4, False, expected=()),
    ],
    "generation_cost": [
        CostCase(LLAMA, 1, 4, True, flops=9_887_825_920, moved_bytes=9_886_842_880),
        CostCase(LLAMA, 300, 1, True, flops=590_330_904_576, moved_bytes=2_481_459_200),
        CostCase(LLAMA, 10, 3, False, flops=65_829_736_448, moved_bytes=7_415_967_744),
        CostCase(GEMMA, 600, 3, True, flops=861_039_135_232, moved_bytes=6_041_303_808),
        CostCase(LLAMA, 10, 3, True, flops=24_941_740_032, moved_bytes=7_415_967_744, width=4),
    ],
}
