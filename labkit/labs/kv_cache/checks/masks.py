"""Which tokens a mask shows to each new token, and what known mistakes show.

A new token sees all cached tokens, itself, and the new tokens before it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from labkit.checks.compare import expect_equal, joined
from labkit.checks.tensors import tensor_in


@dataclass(frozen=True)
class Shown:
    """The mask of `n_new` tokens after `n_past` cached ones; is_last: of the last layer."""

    mask: Any
    n_past: int
    n_new: int
    is_last: bool = True

    @property
    def n_all(self) -> int:
        return self.n_past + self.n_new

    @property
    def right(self) -> Tensor:
        return self.seen_up_to(self.n_past)

    def seen_up_to(self, last: int) -> Tensor:
        """The mask (T, S) whose first row sees the keys 0 to `last`, and each row one more."""
        return torch.ones(self.n_new, self.n_all, dtype=torch.bool).tril(last)


MASK_SLIPS: dict[str, Callable[[Shown], Tensor]] = {
    "The mask has the first rows of the causal mask. The new tokens have its last rows.": (
        lambda one: one.seen_up_to(0)
    ),
    "New tokens see the new tokens after them.": lambda one: one.seen_up_to(one.n_all),
    "A new token does not see itself.": lambda one: one.seen_up_to(one.n_past - 1),
    "The mask has no columns for the cached tokens.": lambda one: one.right[:, one.n_past :],
    "In the last layer `length` has moved already. Compute the mask before you move it.": (
        lambda one: one.right[: 0 if one.is_last else one.n_new]
    ),
    "The mask is inverted: True means that a token sees a key.": lambda one: ~one.right,
}


def expect_masks(shown: Sequence[Shown], why: str = "") -> None:
    """Each mask is bool and shows what a new token sees. why: a cause that is known already."""
    masks = [tensor_in(one.mask, "the mask") for one in shown]
    why = why or joined(
        sentence
        for sentence, slip in MASK_SLIPS.items()
        if all(_is(mask, slip(one)) for mask, one in zip(masks, shown, strict=True))
    )
    for mask, one in zip(masks, shown, strict=True):
        what = f"the mask of {one.n_new} new tokens and {one.n_past} cached ones"
        shape = [one.n_new, one.n_all]
        expect_equal(list(mask.shape), shape, f"the shape of {what}", why=why)
        expect_equal(str(mask.dtype), "torch.bool", f"the dtype of {what}")
        for i, (got, right) in enumerate(zip(mask, one.right, strict=True)):
            place = f"the keys that new token {i} sees, after {one.n_past} cached ones"
            expect_equal(_keys_in(got), _keys_in(right), place, why=why)


def _is(mask: Tensor, other: Tensor) -> bool:
    return mask.dtype is torch.bool and torch.equal(mask, other)


def _keys_in(row: Tensor) -> list[int]:
    return row.nonzero()[:, 0].tolist()
