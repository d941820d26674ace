"""Checks of `online_softmax`.

Totals and outputs are judged relative to the maximum that comes with them: a wrong maximum is one
mistake, not three.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from labkit.bridge.student import Student
from labkit.checks.compare import expect_tensor, refuse_blank, show, tensor_in
from labkit.checks.core import Wrong, check

NAMES = ("maximum", "total", "output")
TOLERANCE = 1e-4
LEVEL = 1e4
LARGE_TOLERANCE = 5e-3  # float32 has steps of 1e-3 there
N_BLIND = 3  # queries that miss all earlier keys, all new ones, or both


@dataclass(frozen=True, slots=True)
class StepCase:
    """One step. n_before, n_new: keys so far, and in the new tile. kind: what is special."""

    kind: str
    n_queries: int
    n_before: int
    n_new: int
    head_dim: int = 3
    seed: int = 0

    def __str__(self) -> str:
        special = {"large": f"scores of {LEVEL:,.0f}, ", "unseen": "keys that nobody sees, "}
        sizes = f"{self.n_queries} queries, {self.n_before} keys so far, {self.n_new} new ones"
        return special.get(self.kind, "") + sizes

    @property
    def rises(self) -> bool:
        """Whether the large scores, if there are any, come with the new tile."""
        return self.seed % 2 == 0

    def parts(self) -> tuple[Tensor, Tensor]:
        """Scores (Q S) and values (S D) of all keys, those so far first."""
        rng = torch.Generator().manual_seed(self.seed)
        n_keys = self.n_before + self.n_new
        scores = 2 * torch.randn(self.n_queries, n_keys, generator=rng)
        values = torch.randn(n_keys, self.head_dim, generator=rng)
        if self.kind == "large":
            scores = LEVEL * scores.sign()
            scores[:, -1 if self.rises else 0] = LEVEL
            is_new = torch.arange(n_keys) >= self.n_before
            scores = scores.where(is_new == self.rises, -LEVEL)
        if self.kind == "unseen":  # the first query has seen none, the second only earlier ones
            scores[0], scores[1, self.n_before :] = -torch.inf, -torch.inf
            scores[2, : self.n_before], scores[3, -1] = -torch.inf, -torch.inf
        return scores, values


def level_after(scores: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Maximum, total and output of all these keys at once, in float64."""
    scores, values = scores.double(), values.double()
    if not scores.shape[1]:
        nothing = scores.new_zeros(len(scores))
        return nothing - torch.inf, nothing, nothing[:, None] * values.new_zeros(values.shape[1])
    maximum = scores.amax(-1)
    total = (scores.logsumexp(-1) - maximum).exp().nan_to_num(nan=0.0)
    output = total[:, None] * scores.softmax(-1).nan_to_num(nan=0.0) @ values
    return maximum, total, output


def step_of(student: Student, case: StepCase) -> tuple[Tensor, Tensor, Tensor]:
    """What the student's function makes of the right state: maximum, total and output."""
    return student.once(("online_softmax", case), lambda: _play(student, case))


def _play(student: Student, case: StepCase) -> tuple[Tensor, Tensor, Tensor]:
    scores, values = case.parts()
    n_before = case.n_before
    state = level_after(scores[:, :n_before], values[:n_before])
    got = student.online_softmax(
        *(part.float() for part in state), scores[:, n_before:], values[n_before:]
    )
    refuse_blank(got)
    if not isinstance(got, list | tuple) or len(got) != 3:
        what = "what comes back should be the maximum, the total and the output"
        raise Wrong(what, expected="three tensors", got=show(got))
    maximum, total, output = (
        _real(part, right, name) for part, right, name in zip(got, state, NAMES, strict=True)
    )
    return maximum, total, output


def _real(got: Any, right: Tensor, name: str) -> Tensor:
    part = tensor_in(got, f"the {name}")
    if part.is_complex():
        raise Wrong(f"the {name}", expected="real numbers", got=f"a tensor of {part.dtype}")
    if part.shape != right.shape:
        expected, shape = str(tuple(right.shape)), str(tuple(part.shape))
        raise Wrong(f"the shape of the {name}", expected=expected, got=shape)
    return part.double()


def at_own_level(maximum: Tensor, right_maximum: Tensor) -> Tensor:
    """Factor (Q,) from sums of exp(score - maximum) to those with the right maximum."""
    return (maximum - right_maximum).exp().where(right_maximum.isfinite(), 1)


def expect_sum(
    student: Student, case: StepCase, which: str, why: str, n_queries: int | None = None
) -> None:
    """The total or the output of the first queries, whatever the maximum that was chosen."""
    maximum, *sums = step_of(student, case)
    right_maximum, *right_sums = level_after(*case.parts())
    is_output = which == "output"
    factor = at_own_level(maximum, right_maximum)
    found = sums[is_output] * (factor[:, None] if is_output else factor)
    right = right_sums[is_output][:n_queries]
    tolerance = LARGE_TOLERANCE if case.kind == "large" else TOLERANCE
    expect_tensor(found[:n_queries], right, f"the {which}", why=why, tolerance=tolerance)


_check = partial(check, "online_softmax")


@_check("first", "later", "unseen", hint="The larger of two numbers, for each query on its own.")
def the_maximum_is_that_of_each_query(student: Student, case: StepCase) -> None:
    """The new maximum is the largest score that each query has met so far."""
    got, right = step_of(student, case)[0], level_after(*case.parts())[0]
    scores = case.parts()[0]
    why = ""
    if got.isnan().any():
        why = "inf - inf is no number."
    elif torch.allclose(got, scores[:, case.n_before :].amax(-1).double()):
        why = "That is the new tile's own; a larger one may have come before."
    elif got.isfinite().all() and (got == got[0]).all():
        why = "That is one number for all queries; each has its own."
    is_known = right.isfinite()
    expect_tensor(got.where(is_known, 0), right.where(is_known, 0), "the maximum", why=why)
    if (got[~is_known] != -torch.inf).any():
        why = "Any other number could be larger than scores that are yet to come."
        what = "the maximum of a query that has seen no key"
        raise Wrong(what, expected="-inf", got=show(got[~is_known][0]), why=why)


@_check(
    "first", "later", hint="What was summed up used the old maximum. By which factor is it off now?"
)
def the_total_is_brought_to_the_new_maximum(student: Student, case: StepCase) -> None:
    """The total is the sum of exp(score - maximum) over all keys so far."""
    why = "The old total and the new sum are to use the same maximum."
    expect_sum(student, case, "total", why)


@_check(
    "first", "later", hint="The same factor as for the total. It is not divided by the total here."
)
def the_output_is_brought_to_the_new_maximum(student: Student, case: StepCase) -> None:
    """The output is the sum of exp(score - maximum) times value, not divided yet."""
    why = "The old output and the new part are to use the same maximum, and no division yet."
    expect_sum(student, case, "output", why)


@_check("large", hint="Subtract first, then exp.")
def large_scores_do_not_overflow(student: Student, case: StepCase) -> None:
    """Scores of 10,000 and -10,000 give finite totals and outputs."""
    maximum, total, output = step_of(student, case)
    why = "exp(10,000) is inf in every number format: take differences to the new maximum."
    for name, part in zip(NAMES, (maximum, total, output), strict=True):
        if not part.isfinite().all():
            bad = part[~part.isfinite()][0]
            raise Wrong(f"the {name}", expected="finite numbers", got=show(bad), why=why)
    if not (total > 0).all():
        why = "The largest score has the weight exp(0)."
        raise Wrong("the total", expected="a positive number", got=show(total.min()), why=why)
    expect_tensor(maximum, torch.full_like(maximum, LEVEL), "the maximum")
    if not case.rises:
        for which in ("total", "output"):
            expect_sum(student, case, which, "New scores far below the maximum add nothing.")


@_check("unseen", hint="-inf - (-inf) is not a number.")
def queries_without_keys_stay_as_they_were(student: Student, case: StepCase) -> None:
    """Keys with a score of -inf add nothing, even if a query has seen no key at all."""
    why = "Where the new maximum is -inf, subtract something finite instead."
    for which in ("total", "output"):
        expect_sum(student, case, which, why, n_queries=N_BLIND)


OPEN_CASES = {
    "online_softmax": [
        StepCase("first", 3, 0, 4, seed=1),
        StepCase("later", 5, 6, 4, seed=2),
        StepCase("later", 4, 3, 1, head_dim=1, seed=3),
        StepCase("large", 3, 4, 4, seed=4),
        StepCase("large", 3, 4, 4, seed=5),
        StepCase("unseen", 5, 4, 3, seed=6),
        StepCase("unseen", 4, 0, 3, seed=7),
    ],
}
