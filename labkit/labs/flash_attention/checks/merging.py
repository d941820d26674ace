"""Checks of `merge`.

Two states come from the keys of one step: those so far and the new ones. Totals and outputs are
judged relative to the maximum that comes with them, as those of `online_softmax` are.
"""

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor

from labkit.bridge.student import Student
from labkit.checks.compare import joined, list_in, show
from labkit.checks.core import Wrong, check
from labkit.checks.tensors import expect_tensor
from labkit.labs.flash_attention.checks.steps import (
    LEVEL,
    N_BLIND,
    NAMES,
    StepCase,
    at_own_level,
    expect_maximum,
    expect_no_key,
    is_near,
    level_after,
    real_part,
)

State = tuple[Tensor, Tensor, Tensor]
TOLERANCE = 1e-5
# Plain pairs of states that tell the known mistakes apart: a cause has to fit them, too.
PLAIN = (StepCase("later", 5, 6, 4, seed=2), StepCase("later", 3, 2, 5, seed=1))


def states_of(case: StepCase) -> tuple[State, State]:
    """The states over the keys so far and over the new ones, float32."""
    scores, values = case.parts()
    n = case.n_before
    halves = (scores[:, :n], values[:n]), (scores[:, n:], values[n:])
    first, second = (tuple(part.float() for part in level_after(*half)) for half in halves)
    return first, second


def merged(first: State, second: State) -> State:
    """What is right for these states, in float64."""
    first, second = (tuple(part.double() for part in state) for state in (first, second))
    maximum = torch.maximum(first[0], second[0])
    factors = [factor[:, None] for factor in _factors(first, second, maximum)]
    total, output = (
        sum(factor * columns_of(state, which) for factor, state in
            zip(factors, (first, second), strict=True))
        for which in NAMES[1:]
    )  # fmt: skip
    return maximum, total[:, 0], output


def _factors(first: State, second: State, maximum: Tensor) -> list[Tensor]:
    return [(state[0] - maximum.nan_to_num(neginf=0)).exp() for state in (first, second)]


def columns_of(state: State, which: str) -> Tensor:
    """The totals as a column (Q 1), or the outputs (Q D)."""
    return state[2] if which == "output" else state[1][:, None]


def merge_of(student: Student, case: StepCase) -> State:
    """What the student's function makes of both states of a case."""
    return student.once(("merge", case), lambda: _play(student, case))


def _play(student: Student, case: StepCase) -> State:
    first, second = states_of(case)
    got = student.merge(first, second)
    what = "the result should be the maximum, the total and the output"
    parts = zip(list_in(got, what, "three tensors", 3), first, NAMES, strict=True)
    maximum, total, output = (real_part(part, like, name) for part, like, name in parts)
    return maximum, total, output


def expect_sum(student: Student, case: StepCase, which: str, n_queries: int | None = None) -> None:
    """The total or the output of the first queries, relative to any maximum."""
    got, right = merge_of(student, case), merged(*states_of(case))
    factor = at_own_level(got[0], right[0])[:, None]
    found, wanted = columns_of(got, which) * factor, columns_of(right, which)
    found, wanted = found[:n_queries], wanted[:n_queries]
    if which == "total":
        found, wanted = found[:, 0], wanted[:, 0]
    if not torch.allclose(found, wanted, rtol=TOLERANCE, atol=TOLERANCE):
        why = sentences_for(student, case, which)
        expect_tensor(found, wanted, f"the {which}", why=why, tolerance=TOLERANCE)


def sentences_for(student: Student, case: StepCase, which: str) -> str:
    """The sentences for a wrong total or output: mistakes that give it here and in plain states."""
    got, right = (
        columns_of(each, which) for each in (merge_of(student, case), merged(*states_of(case)))
    )
    if is_near(got, right):
        return (
            f"That is the {which} for the right maximum, but the maximum you return is another one."
        )
    found = [why for why, slip in SLIPS.items() if not is_near(right, slip(case, which))]
    for each in (case, *PLAIN):
        got = columns_of(merge_of(student, each), which)
        found = [why for why in found if is_near(got, SLIPS[why](each, which))]
    return " Or: ".join(why.format(which=which) for why in found)


def _slip(mix: Callable[..., Tensor]) -> Callable[[StepCase, str], Tensor]:
    """mix(factor of a, part of a, factor of b, part of b) as a slip of a case."""

    def slip(case: StepCase, which: str) -> Tensor:
        first, second = (tuple(part.double() for part in each) for each in states_of(case))
        maximum = torch.maximum(first[0], second[0])
        one, other = (factor[:, None] for factor in _factors(first, second, maximum))
        return mix(one, columns_of(first, which), other, columns_of(second, which))

    return slip


def _divided(case: StepCase, which: str) -> Tensor:
    _, total, output = merged(*states_of(case))
    return (output if which == "output" else total[:, None]) / total[:, None]


def _by_totals(case: StepCase, which: str) -> Tensor:
    (_, total_a, _), (_, total_b, _) = states = [
        tuple(part.double() for part in each) for each in states_of(case)
    ]
    part_a, part_b = (columns_of(each, which) for each in states)
    one, other = total_a[:, None], total_b[:, None]
    return (one * part_a + other * part_b) / (one + other)


def _unguarded(case: StepCase, which: str) -> Tensor:
    first, second = (tuple(part.double() for part in each) for each in states_of(case))
    maximum = torch.maximum(first[0], second[0])
    one, other = ((state[0] - maximum).exp()[:, None] for state in (first, second))
    return one * columns_of(first, which) + other * columns_of(second, which)


def _overflowing(case: StepCase, which: str) -> Tensor:
    first, second = states_of(case)
    maximum = torch.maximum(first[0], second[0])
    down = maximum.nan_to_num(neginf=0).exp()
    one, other = ((state[0].exp() / down)[:, None] for state in (first, second))
    return (one * columns_of(first, which) + other * columns_of(second, which)).double()


SLIPS: dict[str, Callable[[StepCase, str], Tensor]] = {
    "Both {which}s are added as they are. Multiply each by exp(its maximum - m_new).": _slip(
        lambda one, a, other, b: a + b
    ),
    "The {which} of state_a is not multiplied by exp(m_a - m_new).": _slip(
        lambda one, a, other, b: a + other * b
    ),
    "The {which} of state_b is not multiplied by exp(m_b - m_new).": _slip(
        lambda one, a, other, b: one * a + b
    ),
    "The {which}s are divided by exp(m - m_new). Multiply by it.": _slip(
        lambda one, a, other, b: a / one + b / other
    ),
    "The factors are exchanged: multiply the {which} of state_a by exp(m_a - m_new).": _slip(
        lambda one, a, other, b: other * a + one * b
    ),
    "That is the {which} of state_a alone. Add that of state_b.": _slip(
        lambda one, a, other, b: one * a
    ),
    "That is the {which} of state_b alone. Add that of state_a.": _slip(
        lambda one, a, other, b: other * b
    ),
    "Add both parts. Do not take their mean.": _slip(
        lambda one, a, other, b: (one * a + other * b) / 2
    ),
    "The state with the smaller maximum is left out.": _slip(
        lambda one, a, other, b: a.where(one >= other, b)
    ),
    "Do not divide the {which} by the total here.": _divided,
    "That is a mean by the totals. The outputs of states are not divided: add them.": _by_totals,
    "-inf - (-inf) is NaN. Where both maxima are -inf, subtract 0.": _unguarded,
    "An exponential overflows. Subtract the maximum first, then take exp.": _overflowing,
}

_merge = partial(check, "merge", gate=True)


@_merge("later", "unseen", hint="Take the larger of both maxima, for each query on its own.")
def the_larger_maximum_is_kept(student: Student, case: StepCase) -> None:
    """The new maximum is the larger one of both states, -inf if both are."""
    (maximum_a, *_), (maximum_b, *_) = states_of(case)
    got, right = merge_of(student, case)[0], torch.maximum(maximum_a, maximum_b)
    slips = {
        "That is the maximum of state_a. That of state_b may be larger.": maximum_a,
        "That is the maximum of state_b. That of state_a may be larger.": maximum_b,
        "That is the smaller of the two maxima. Take the larger one.": (
            torch.minimum(maximum_a, maximum_b)
        ),
        "That is one number for all queries. Each has its own.": right.max().expand(len(right)),
        "That is the sum of both maxima. Take the larger one.": maximum_a + maximum_b,
    }
    why = joined(
        words for words, slip in slips.items()
        if right.isfinite().all() and not is_near(slip.double(), right.double())
        and is_near(got, slip.double())
    )  # fmt: skip
    expect_maximum(got, right, why)


@_merge("later", hint="Multiply each total by exp(its maximum - m_new), then add the two.")
def both_totals_come_to_the_new_maximum(student: Student, case: StepCase) -> None:
    """The total is the sum of exp(score - new maximum) over the keys of both groups."""
    expect_sum(student, case, "total")


@_merge("later", hint="Use the factors of the totals. Do not divide by the total here.")
def both_outputs_come_to_the_new_maximum(student: Student, case: StepCase) -> None:
    """The output is the sum of exp(score - new maximum) times value over both groups."""
    expect_sum(student, case, "output")


@_merge("large", hint="Subtract the new maximum first, then take exp.")
def merging_large_scores_does_not_overflow(student: Student, case: StepCase) -> None:
    """Maxima of 10,000 and -10,000 give finite totals and outputs."""
    maximum, *sums = merge_of(student, case)
    for name, part in zip(NAMES[1:], sums, strict=True):
        if not part.isfinite().all():
            why = sentences_for(student, case, name) or (
                "Infinity comes from exp of a large number, or from a division by 0."
            )
            bad = show(part[~part.isfinite()][0])
            raise Wrong(f"the {name}", expected="finite numbers", got=bad, why=why)
    if not (sums[0] > 0).all():
        raise Wrong("the total", expected="a positive number", got=show(sums[0].min()))
    expect_tensor(maximum, torch.full_like(maximum, LEVEL), "the maximum")


@_merge("unseen", hint="Subtract 0 where the new maximum is -inf: -inf - (-inf) is NaN.")
def an_empty_part_adds_nothing(student: Student, case: StepCase) -> None:
    """A state of -inf, 0 and 0 changes nothing; two of them give one."""
    for which in NAMES[1:]:
        expect_sum(student, case, which, n_queries=N_BLIND)
    expect_no_key(*merge_of(student, case)[1:])


OPEN_CASES = {
    "merge": [
        *PLAIN,
        StepCase("later", 4, 3, 1, head_dim=1, seed=3),
        StepCase("later", 1, 3, 4, seed=8),
        StepCase("large", 3, 4, 4, seed=4),
        StepCase("large", 3, 4, 4, seed=5),
        StepCase("unseen", 5, 4, 3, seed=6),
        StepCase("unseen", 4, 0, 3, seed=7),
    ],
}
