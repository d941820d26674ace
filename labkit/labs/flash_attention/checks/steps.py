"""The shared parts of `online_softmax`'s checks: one step, its right result, and known mistakes.

Totals and outputs are judged relative to the maximum that comes with them: a wrong maximum is one
mistake, not three.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from labkit.bridge.student import Student
from labkit.checks.compare import list_in, show
from labkit.checks.core import Wrong
from labkit.checks.tensors import expect_tensor, tensor_in

NAMES = ("maximum", "total", "output")
TOLERANCE = 1e-4
LEVEL = 1e4  # of the scores that are large
LARGE_TOLERANCE = 5e-3  # float32 has steps of 1e-3 there
N_BLIND = 3  # queries that miss all earlier keys, all new ones, or both


@dataclass(frozen=True, slots=True)
class StepCase:
    """One step. n_before, n_new: keys so far, and in the new tile. kind: what is special.

    dtype: of the values.
    """

    kind: str
    n_queries: int
    n_before: int
    n_new: int
    head_dim: int = 3
    seed: int = 0
    dtype: torch.dtype = torch.float32

    def __str__(self) -> str:
        special = {
            "large": f"scores of {LEVEL:,.0f}, ",
            "unseen": "keys that some queries do not see, ",
        }
        sizes = f"{self.n_queries} queries, {self.n_before} keys so far, {self.n_new} new keys"
        dtype = f", values of {self.dtype}" if self.dtype != torch.float32 else ""
        return special.get(self.kind, "") + sizes + dtype

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
        return scores, values.to(self.dtype)


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
    """The student's next state, from the right state before: maximum, total and output."""
    return student.once(("online_softmax", case), lambda: _play(student, case))


def _play(student: Student, case: StepCase) -> tuple[Tensor, Tensor, Tensor]:
    scores, values = case.parts()
    n_before = case.n_before
    state = level_after(scores[:, :n_before], values[:n_before])
    got = student.online_softmax(
        *(part.float() for part in state), scores[:, n_before:], values[n_before:]
    )
    what = "the result should be the maximum, the total and the output"
    parts = list_in(got, what, "three tensors", 3)
    maximum, total, output = (
        real_part(part, right, name) for part, right, name in zip(parts, state, NAMES, strict=True)
    )
    return maximum, total, output


def real_part(got: Any, right: Tensor, name: str) -> Tensor:
    """A part of a state in float64. Raises Wrong unless it is real and has the right shape."""
    part = tensor_in(got, f"the {name}")
    if part.is_complex():
        raise Wrong(f"the {name}", expected="real numbers", got=f"a tensor of {part.dtype}")
    if part.shape != right.shape:
        expected, shape = str(tuple(right.shape)), str(tuple(part.shape))
        raise Wrong(f"the shape of the {name}", expected=expected, got=shape)
    return part.double()


# Plain steps that tell the known mistakes apart: a cause has to fit them, too.
PLAIN = (StepCase("first", 3, 0, 4, seed=1), StepCase("later", 5, 6, 4, seed=2))


def sentences_for_maximum(student: Student, case: StepCase) -> str:
    """The sentences for a wrong maximum (Q,): what it is in this case and in plain ones."""
    found = list(_maxima(case))
    for each in (case, *PLAIN):
        got, maxima = step_of(student, each)[0], _maxima(each)
        found = [why for why in found if is_near(got, maxima[why])]
    return " Or: ".join(found)


def _maxima(case: StepCase) -> dict[str, Tensor]:
    scores, values = case.parts()
    n_before = case.n_before
    before, _, _ = level_after(scores[:, :n_before], values[:n_before])
    new = scores[:, n_before:].double()
    return {
        "That is the maximum of the new tile alone. A larger score may have come before.": (
            new.amax(-1)
        ),
        "That is the smaller of the two maxima. Take the larger one.": (
            torch.minimum(before, new.amax(-1))
        ),
        "That is the old maximum. Return the new one.": before,
        "That is one number for all queries. Each has its own.": torch.maximum(before, new.max()),
    }


def at_own_level(maximum: Tensor, right_maximum: Tensor) -> Tensor:
    """Factor (Q,) from sums of exp(score - maximum) to those with the right maximum."""
    return (maximum - right_maximum).exp().where(right_maximum.isfinite(), 1)


def expect_sum(student: Student, case: StepCase, which: str, n_queries: int | None = None) -> None:
    """The total or the output of the first queries, relative to any maximum."""
    maximum, *sums = step_of(student, case)
    right_maximum, *right_sums = level_after(*case.parts())
    is_output = which == "output"
    factor = at_own_level(maximum, right_maximum)
    found = sums[is_output] * (factor[:, None] if is_output else factor)
    right = right_sums[is_output][:n_queries]
    tolerance = LARGE_TOLERANCE if case.kind == "large" else TOLERANCE
    if torch.allclose(found[:n_queries], right, rtol=tolerance, atol=tolerance):
        return
    why = sentences_for(student, case, which)
    expect_tensor(found[:n_queries], right, f"the {which}", why=why, tolerance=tolerance)


def expect_maximum(got: Tensor, right: Tensor, why: str) -> None:
    """The maximum of each query; -inf of one that has seen no key."""
    is_known = right.isfinite()
    expect_tensor(got.where(is_known, 0), right.where(is_known, 0), "the maximum", why=why)
    if (got[~is_known] != -torch.inf).any():
        why = "Any other number could be larger than the scores of later keys."
        what = "the maximum of a query that has seen no key"
        raise Wrong(what, expected="-inf", got=show(got[~is_known][0]), why=why)


def expect_no_key(total: Tensor, output: Tensor) -> None:
    """Both are 0 for the first query, which has seen no key."""
    for which, got in zip(NAMES[1:], (total, output), strict=True):
        if got[0].any():
            shown = show(got[0][got[0] != 0][0])
            what = f"the {which} of a query that has seen no key"
            raise Wrong(what, expected="exactly 0", got=shown)


def sentences_for(student: Student, case: StepCase, which: str) -> str:
    """The sentences for a wrong total or output: mistakes that give it here and in plain steps."""
    index = NAMES.index(which)
    got, right = step_of(student, case)[index], level_after(*case.parts())[index]
    if is_near(got, right):
        return (
            f"That is the {which} for the right maximum, but the maximum you return is another one."
        )
    found = [why for why, slipped in slips_of(case, which) if not is_near(right, slipped)]
    for each in (case, *PLAIN):
        got, slips = step_of(student, each)[index], dict(slips_of(each, which))
        found = [why for why in found if is_near(got, slips[why])]
    return " Or: ".join(found)


def is_near(got: Tensor, slipped: Tensor) -> bool:
    return torch.allclose(got, slipped, rtol=TOLERANCE, atol=TOLERANCE, equal_nan=True)


def slips_of(case: StepCase, which: str) -> Iterator[tuple[str, Tensor]]:
    """The sentences of known mistakes, each with its total (Q,) or output (Q D).

    A total is an output whose values are all 1.
    """
    scores, values = (part.double() for part in case.parts())
    n_before = case.n_before
    new = scores[:, n_before:]
    before, total, output = level_after(scores[:, :n_before], values[:n_before])
    total = total[:, None]
    is_output = which == "output"
    tile = values[n_before:] if is_output else values.new_ones(case.n_new, 1)
    state = output if is_output else total
    top = new.amax(-1)
    unguarded = torch.maximum(before, top)
    level = unguarded.where(unguarded.isfinite(), 0)
    old, weights = (before - level).exp()[:, None], (new - level[:, None]).exp()
    part = weights @ tile
    found = {
        f"The old {which} is not multiplied by exp(m - m_new).": state + part,
        f"The old {which} is divided by exp(m - m_new). Multiply by it.": state / old + part,
        "Multiply only the old part by exp(m - m_new), not the part of the new tile.": (
            old * (state + part)
        ),
        f"That is the {which} of the new tile alone. Add the old one.": part,
        "The weights of the new tile use the old maximum. Subtract the new one.": (
            old * state + (new - before[:, None]).exp() @ tile
        ),
        "The weights of the new tile are exp(score). Subtract the new maximum first.": (
            old * state + new.exp() @ tile
        ),
        "The factor uses the largest score of the new tile. It should be exp(m - m_new).": (
            (top - level).exp()[:, None] * state + part
        ),
        "An exponential overflows. Subtract the maximum first, then take exp.": (
            before.exp()[:, None] / level.exp()[:, None] * state
            + (new.exp() / level.exp()[:, None]) @ tile
        ),
        "-inf - (-inf) is NaN. Where the new maximum is -inf, subtract 0.": (
            (before - unguarded).exp()[:, None] * state + (new - unguarded[:, None]).exp() @ tile
        ),
    }
    if is_output:
        new_total = old * total + weights.sum(-1, keepdim=True)
        found["Do not divide the output by the total here."] = (old * output + part) / new_total
        found["The factor is exp(m - m_new), not the quotient of the totals."] = (
            total / new_total * output + part
        )
    yield from ((why, each if is_output else each[:, 0]) for why, each in found.items())
