"""Blocks of drafted tokens for the checks of `verify` and `verify_batch`.

With them: how one is played, and the distributions that known mistakes give.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import accumulate, pairwise
from typing import Any

import torch
from torch import Tensor

from labkit.checks.forms import pair_in
from labkit.checks.law import Outcome
from labkit.labs.speculative.checks.calling import PlayedCase, whole_in
from labkit.labs.speculative.checks.cases import residual_row
from labkit.labs.speculative.checks.law import Weights

Probs = tuple[float, ...]


@dataclass(frozen=True, slots=True)
class VerifyCase(PlayedCase):
    """A block of drafted tokens, and what should become of it.

    draft, target: rows of probabilities. kept: the chance of each token to be kept once those
    before it were. after: the distribution of the token after 0, 1, ... kept ones.
    """

    function = "verify"
    names = ("the drafted tokens", "the draft's probabilities", "the target's probabilities")
    drafted: tuple[int, ...]
    draft: tuple[Probs, ...]
    target: tuple[Probs, ...]
    kept: Probs
    after: tuple[Probs, ...]

    def __str__(self) -> str:
        tokens = f"{self.k} drafted token" + ("s" if self.k != 1 else "")
        return f"{tokens}, a vocabulary of {self.vocab_size}"

    @property
    def k(self) -> int:
        """Drafted tokens."""
        return len(self.drafted)

    @property
    def vocab_size(self) -> int:
        """V."""
        return len(self.target[0])

    @property
    def has_zeros(self) -> bool:
        """Whether there are tokens that the target excludes."""
        return any(share == 0 for row in self.target for share in row)

    @property
    def n_kept_law(self) -> dict[Outcome, float]:
        """The distribution of how many tokens are kept."""
        return leading_law(self.kept)

    def alone(self, i: int) -> VerifyCase:
        """The block of its token i and no other."""
        return VerifyCase(
            self.drafted[i : i + 1],
            self.draft[i : i + 1],
            self.target[i : i + 2],
            self.kept[i : i + 1],
            (self.after[i], self.target[i + 1]),
        )

    def given(self) -> tuple[list[int], Tensor, Tensor]:
        """The drafted tokens, and the draft's and the target's probabilities."""
        draft = torch.tensor(self.draft, dtype=torch.float64).reshape(self.k, self.vocab_size)
        return list(self.drafted), draft, torch.tensor(self.target, dtype=torch.float64)

    def outcome_in(self, got: Any) -> Outcome:
        """How many tokens are kept, and the one after them. Raises Wrong for anything else."""
        limits = {"the number of tokens kept": self.k, "the token after them": self.vocab_size - 1}
        parts = pair_in(got, "the result of `verify`")
        return tuple(
            whole_in(part, *limit) for part, limit in zip(parts, limits.items(), strict=True)
        )


def leading_law(chances: Probs) -> dict[Outcome, float]:
    """How many of several coins in a row show heads before one shows tails."""
    reached = [*accumulate(chances, lambda so_far, chance: so_far * chance, initial=1.0), 0.0]
    return {(n,): here - further for n, (here, further) in enumerate(pairwise(reached))}


def counted_law(chances: Probs) -> dict[Outcome, float]:
    """The distribution of the number of heads of several coins."""
    law = {(0,): 1.0}
    for chance in chances:
        more = {(n + 1,): share * chance for (n,), share in law.items()}
        law = {
            outcome: (1 - chance) * law.get(outcome, 0.0) + more.get(outcome, 0.0)
            for outcome in {**law, **more}
        }
    return law


def kept_slips(case: VerifyCase) -> dict[str, Weights]:
    """The distributions of known mistakes for one drafted token, each with its sentence."""
    x = case.drafted[0]
    target, draft = case.target[0][x], case.draft[0][x]
    slips = {
        "All drafted tokens are accepted. Compare the ratio with a random number.": 1.0,
        "The ratio is inverted: divide target by draft.": min(1.0, draft / target)
        if target
        else 1.0,
        "Accepted and rejected are exchanged.": 1 - case.kept[0],
        "That is the target's probability alone. Divide it by the draft's.": target,
        "The ratio uses the next row. Row i of target_probs is about drafted[i].": min(
            1.0, case.target[1][x] / draft
        ),
    }
    return {slip: leading_law((chance,)) for slip, chance in slips.items()}


def rejected_counted(case: VerifyCase) -> Weights:
    """What comes of one drafted token if a rejected one is counted as kept."""
    kept, (rejected, whole) = case.kept[0], case.after
    pairs = enumerate(zip(rejected, whole, strict=True))
    return {(1, token): (1 - kept) * one + kept * other for token, (one, other) in pairs}


def law_of_row(kept: Weights, after: Sequence[Sequence[float]]) -> Weights:
    """How many tokens of a row are kept, and the next one, which has the distribution after[n]."""
    return {
        (n, token): chance * share
        for (n,), chance in kept.items()
        for token, share in enumerate(after[n])
    }


def row_slips(row: VerifyCase, first: VerifyCase) -> dict[str, Weights]:
    """The distributions of known mistakes for a row of a batch, each with its sentence."""
    drafts = (*first.draft, *[(0.0,) * row.vocab_size] * (row.k + 1))
    borrowed = [residual_row(*pair) for pair in zip(row.target, drafts, strict=False)]
    return {
        "A token after a rejected one was counted. The first rejection ends the block.": (
            law_of_row(counted_law(row.kept), row.after)
        ),
        "The next token comes from the target, also after a rejection.": (
            law_of_row(row.n_kept_law, row.target)
        ),
        "The draft of row 0 was subtracted. Each row has its own draft.": (
            law_of_row(row.n_kept_law, borrowed)
        ),
    }


ONE = VerifyCase(
    (0,),
    ((0.5, 0.3, 0.2),),
    ((0.3, 0.38, 0.32), (0.1, 0.4, 0.5)),
    (0.6,),
    ((0.0, 0.4, 0.6), (0.1, 0.4, 0.5)),
)
TWO = VerifyCase(
    (1, 0),
    ((0.25, 0.5, 0.125, 0.125), (0.4, 0.2, 0.2, 0.2)),
    ((0.375, 0.3, 0.25, 0.075), (0.3, 0.1, 0.3, 0.3), (0.1, 0.2, 0.3, 0.4)),
    (0.6, 0.75),
    ((0.5, 0.0, 0.5, 0.0), (0.0, 0.0, 0.5, 0.5), (0.1, 0.2, 0.3, 0.4)),
)
FALLING = VerifyCase(
    TWO.drafted[::-1], TWO.draft[::-1], (*TWO.target[1::-1], TWO.target[2]), TWO.kept[::-1], ()
)
PLAIN = VerifyCase((), (), ((0.5, 0.125, 0.375),), (), ((0.5, 0.125, 0.375),))
