"""Checks of `online_softmax`.

It is about bringing what was summed up to the new maximum, for all scores and for queries without
keys; without one of these it earns at most half.
"""

from functools import partial

import torch

from labkit.bridge.student import Student
from labkit.checks.compare import show
from labkit.checks.core import Wrong, check
from labkit.checks.tensors import expect_tensor
from labkit.labs.flash_attention.checks.steps import (
    LEVEL,
    N_BLIND,
    NAMES,
    PLAIN,
    StepCase,
    expect_maximum,
    expect_no_key,
    expect_sum,
    level_after,
    sentences_for,
    sentences_for_maximum,
    step_of,
)

_softmax = partial(check, "online_softmax", gate=True)


@_softmax(
    "first", "later", "unseen", hint="Take the larger of two numbers, for each query on its own."
)
def the_maximum_is_that_of_each_query(student: Student, case: StepCase) -> None:
    """The new maximum is the largest score that each query has met so far."""
    got, right = step_of(student, case)[0], level_after(*case.parts())[0]
    expect_maximum(got, right, sentences_for_maximum(student, case))


@_softmax(
    "first", "later", hint="Multiply the old total by exp(m - m_new), then add the new terms."
)
def the_total_is_brought_to_the_new_maximum(student: Student, case: StepCase) -> None:
    """The total is the sum of exp(score - maximum) over all keys so far."""
    expect_sum(student, case, "total")


@_softmax(
    "first", "later", hint="Use the same factor as for the total. Do not divide by the total here."
)
def the_output_is_brought_to_the_new_maximum(student: Student, case: StepCase) -> None:
    """The output is the sum of exp(score - maximum) times value, not divided yet."""
    expect_sum(student, case, "output")


@_softmax("large", hint="Subtract the new maximum first, then take exp.")
def large_scores_do_not_overflow(student: Student, case: StepCase) -> None:
    """Scores of 10,000 and -10,000 give finite totals and outputs."""
    maximum, total, output = step_of(student, case)
    for name, part in zip(NAMES[1:], (total, output), strict=True):
        if not part.isfinite().all():
            why = sentences_for(student, case, name)
            if part.isinf().any():  # several slips overflow alike
                why = "Infinity comes from exp of a large number, or from a division by 0."
            bad = show(part[~part.isfinite()][0])
            raise Wrong(f"the {name}", expected="finite numbers", got=bad, why=why)
    if not (total > 0).all():
        raise Wrong("the total", expected="a positive number", got=show(total.min()))
    expect_tensor(maximum, torch.full_like(maximum, LEVEL), "the maximum")
    if not case.rises:
        for which in NAMES[1:]:
            expect_sum(student, case, which)


@_softmax("unseen", hint="Subtract 0 where the new maximum is -inf: -inf - (-inf) is NaN.")
def queries_without_keys_stay_as_they_were(student: Student, case: StepCase) -> None:
    """Keys with a score of -inf add nothing, even if a query has seen no key at all."""
    for which in NAMES[1:]:
        expect_sum(student, case, which, n_queries=N_BLIND)
    expect_no_key(*step_of(student, case)[1:])


OPEN_CASES = {
    "online_softmax": [
        *PLAIN,
        StepCase("later", 4, 3, 1, head_dim=1, seed=3),
        StepCase("later", 1, 3, 4, seed=8),
        StepCase("later", 4, 3, 5, seed=9, dtype=torch.float16),
        StepCase("large", 3, 4, 4, seed=4),
        StepCase("large", 3, 4, 4, seed=5),
        StepCase("unseen", 5, 4, 3, seed=6),
        StepCase("unseen", 4, 0, 3, seed=7),
    ],
}
