"""Checks of `residual`: the positive part of target minus draft, normalized."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from labkit.bridge.requests import place_all, values_of
from labkit.bridge.student import Student
from labkit.checks.compare import joined
from labkit.checks.core import Wrong, check
from labkit.checks.tensors import expect_tensor, expect_unchanged, tensor_in
from labkit.labs.speculative.checks.distribution import Rows


@dataclass(frozen=True, slots=True)
class ResidualCase:
    """Two distributions, or rows of them, and the residual of each.

    kind: "generic", "equal" if both are the same, "rows" for several rows, with an equal one.
    expected: where it is no row of several.
    """

    kind: str
    target: Rows
    draft: Rows
    expected: Rows = ()

    def __str__(self) -> str:
        return f"distributions of shape {tuple(self.pair()[0].shape)}, {self.kind}"

    def pair(self) -> tuple[Tensor, Tensor]:
        """The target's and the draft's probabilities."""
        dtype = torch.float64
        return torch.tensor(self.target, dtype=dtype), torch.tensor(self.draft, dtype=dtype)

    def ask(self, student: Student, *pair: Any) -> Tensor:
        """The student's residual; some probability has been subtracted from the target."""
        pair = pair or self.pair()
        got, target = tensor_in(student.residual(*pair), "the residual"), self.pair()[0]
        if isinstance(pair[0], Tensor):
            target = pair[0]
        if got.shape != target.shape:
            wanted, found = str(tuple(target.shape)), str(tuple(got.shape))
            raise Wrong("the shape of the residual", expected=wanted, got=found)
        if torch.allclose(got.double(), target, atol=1e-9):
            raise Wrong("the residual is the target alone")
        return got.double()


_residual = partial(check, "residual", gate=True)


@_residual("generic", hint="Replace negative differences by 0.")
def what_the_target_has_more_is_left(student: Student, case: ResidualCase) -> None:
    """The residual is proportional to max(0, target - draft)."""
    got, expected = case.ask(student), torch.tensor(case.expected, dtype=torch.float64)
    target, draft = case.pair()
    slips = {
        "The two are exchanged: subtract the draft from the target.": (draft - target).clamp(min=0),
        "Negative differences count as positive ones. Replace them by 0.": (target - draft).abs(),
    }
    why = joined(
        text
        for text, left in slips.items()
        if torch.allclose(got / got.sum(), left / left.sum(), atol=1e-5)
    )
    expect_tensor(got / got.sum(), expected, "the residual", why=why)


@_residual("generic", hint="Divide by the sum of the positive differences.")
def the_residual_sums_to_one(student: Student, case: ResidualCase) -> None:
    """The residual is a distribution: it sums to 1."""
    total = case.ask(student).sum()
    expect_tensor(total, torch.ones(()), "the sum", why="Divide the differences by their sum.")


@_residual("equal", "rows", hint="If the sum of a row is 0, return the target's row: 0 / 0 is NaN.")
def equal_distributions_leave_the_target(student: Student, case: ResidualCase) -> None:
    """If both distributions are the same, the target is returned."""
    target, draft = case.pair()
    is_equal = (target == draft).all(-1)
    got = tensor_in(student.residual(target, draft), "the residual")
    if got.shape == target.shape or case.kind == "equal":
        got, right = (got, target) if case.kind == "equal" else (got[is_equal], target[is_equal])
        expect_tensor(
            got, right, "the residual", why="If the sum of a row is 0, return the target's row."
        )
    if case.kind == "equal":
        case.ask(student, target, draft.flip(0))


@_residual(
    "generic",
    weight=0.5,
    hint="Compare the sum with exactly 0, and add no small number to it.",
)
def a_small_difference_counts_in_full(student: Student, case: ResidualCase) -> None:
    """Small differences count: a draft 10,000 times nearer gives the same residual."""
    target, draft = case.pair()
    what = "the residual of two distributions that hardly differ"
    far, close = case.ask(student), (target, target.lerp(draft, 1e-4))
    near = tensor_in(student.residual(*close), what).double()
    why = ""
    if near.shape == target.shape and torch.allclose(near, target, atol=1e-9):
        why = "That is the target. Small differences are no equal distributions."
    expect_tensor(near / near.sum(), far / far.sum(), what, why=why, tolerance=5e-3)


@_residual("rows", hint="Use `sum(-1, keepdim=True)`.")
def each_row_has_a_residual(student: Student, case: ResidualCase) -> None:
    """Each row has its own residual, for any number of dimensions."""
    target, draft = case.pair()
    got = case.ask(student)
    pairs = zip(target.flatten(0, -2), draft.flatten(0, -2), strict=True)
    for one, (target_row, draft_row) in zip(got.flatten(0, -2), pairs, strict=True):
        if not torch.equal(target_row, draft_row):
            alone = case.ask(student, target_row, draft_row)
            expect_tensor(
                one,
                alone,
                "the residual of a row",
                why="It differs from the residual of this row alone.",
            )


@_residual(
    *("generic", "equal"),
    weight=0.5,
    hint="Avoid `-=` and `clamp_`: they change their argument.",
)
def both_distributions_stay_as_they_are(student: Student, case: ResidualCase) -> None:
    """The call changes neither of its arguments."""
    placed = place_all(student, case.pair())
    ask = student.residual if case.kind == "equal" else partial(case.ask, student)
    ask(*placed)
    after = values_of(student, placed)
    for got, before, name in zip(after, case.pair(), ("target", "draft"), strict=True):
        expect_unchanged(got, before, f"the {name}'s probabilities after the call")


OPEN_CASES = {
    "residual": [
        ResidualCase("generic", (0.5, 0.3, 0.1, 0.1), (0.2, 0.2, 0.2, 0.4), (0.75, 0.25, 0, 0)),
        ResidualCase("equal", (0.5, 0.2, 0.3), (0.5, 0.2, 0.3)),
        ResidualCase(
            "rows",
            ((0.5, 0.3, 0.2), (0.6, 0.4, 0.0), (0.25, 0.25, 0.5)),
            ((0.7, 0.2, 0.1), (0.6, 0.4, 0.0), (0.25, 0.35, 0.4)),
        ),
    ],
}
