"""How far to draft, decided block by block.

All of these keep the target's law, for they decide by what is already written (or by the draft's
distribution before a token is drawn from it), never by a drafted token that is then thrown away.

    policy = AdaptiveGamma(draft_s, target_s, verify_s)
    speculative(target, draft, prompt, n_new, policy, blocks=policy.blocks)
"""

from collections.abc import Callable, Sequence
from itertools import takewhile

import torch
from torch import Tensor

from labkit.models.sampling import Block, CachedModel
from labkit.speculative import best_gamma


class AdaptiveGamma:
    """The gamma that would be fastest at the acceptance rate of the last blocks.

    blocks: to be filled as speculation goes on. Before any has come, and as a counterweight
    to the first few, `prior_n` imagined tokens with acceptance `prior` are counted. Where plain
    decoding would be faster, nothing is drafted, but one token in every `probe_every` blocks: else
    the policy would never learn that drafting pays again.
    """

    def __init__(
        self,
        draft_s: float,
        target_s: float,
        verify_s: Callable[[int], float],
        *,
        max_gamma: int = 16,
        window: int = 32,
        prior: float = 0.7,
        prior_n: float = 4.0,
        probe_every: int = 8,
    ) -> None:
        """Seconds as `best_gamma` takes them. window: how many of the last blocks count.

        Raises: ValueError for window, probe_every or max_gamma < 1, prior outside [0, 1], or
        prior_n <= 0.
        """
        if min(window, probe_every, max_gamma) < 1:
            raise ValueError("window, probe_every and max_gamma must be at least 1")
        if not (0 <= prior <= 1 and prior_n > 0):
            raise ValueError(
                f"prior is a probability and prior_n a positive number; got {prior} and {prior_n}"
            )
        self.blocks: list[Block] = []
        self._times = (draft_s, target_s, verify_s, max_gamma)
        self._window, self._probe_every = window, probe_every
        self._prior, self._prior_n = prior, prior_n

    @property
    def alpha(self) -> float:
        """The acceptance rate that the policy goes by now."""
        recent = [block for block in self.blocks if block.n_drafted][-self._window :]
        n_accepted = sum(block.n_accepted for block in recent)
        n_examined = sum(block.examined for block in recent)
        return (n_accepted + self._prior * self._prior_n) / (n_examined + self._prior_n)

    def __call__(self) -> int:
        """Tokens to draft in the next block."""
        gamma = best_gamma(self.alpha, *self._times)
        if gamma > 0:
            return gamma
        n_plain = sum(
            1 for _ in takewhile(lambda block: not block.n_drafted, reversed(self.blocks))
        )
        return 1 if n_plain >= self._probe_every - 1 else 0


class StepwiseGamma:
    """Two more after a block that was accepted in full, one less after any other, at least 1.

    It needs no measured times, and knows no reason to stop. Blocks without a draft change nothing.
    Source: transformers, `num_assistant_tokens_schedule="heuristic"`.
    """

    def __init__(self, first: int = 5, max_gamma: int = 32) -> None:
        """first: tokens to draft in the first block.

        Raises: ValueError unless 1 <= first <= max_gamma.
        """
        if not 1 <= first <= max_gamma:
            raise ValueError(f"1 <= first <= max_gamma is wanted; got {first} and {max_gamma}")
        self.blocks: list[Block] = []
        self._gamma, self._max_gamma, self._n_seen = first, max_gamma, 0

    def __call__(self) -> int:
        """Tokens to draft in the next block."""
        for block in filter(lambda block: block.n_drafted, self.blocks[self._n_seen :]):
            step = 2 if block.n_accepted == block.n_drafted else -1
            self._gamma = min(max(1, self._gamma + step), self._max_gamma)
        self._n_seen = len(self.blocks)
        return self._gamma


class ConfidentDraft:
    """A draft that proposes only where it is sure: where its likeliest token has `least` or more.

    Source: as `assistant_confidence_threshold` in transformers, but decided before a token is
    drawn, from the draft's distribution at temperature 1.
    """

    def __init__(self, draft: CachedModel, least: float) -> None:
        """The draft, which does the work. Raises: ValueError unless 0 <= least <= 1."""
        if not 0 <= least <= 1:
            raise ValueError(f"the least probability lies between 0 and 1, not at {least}")
        self.vocab_size: int = draft.vocab_size
        self._draft, self._least = draft, least

    def n_cached(self) -> int:
        """As the draft's."""
        return self._draft.n_cached()

    def feed(self, tokens: Sequence[int]) -> Tensor:
        """As the draft's, but -inf in the rows where it is not sure enough."""
        logits = self._draft.feed(tokens)
        is_unsure = torch.softmax(logits, dim=-1).amax(dim=-1, keepdim=True) < self._least
        return logits.masked_fill(is_unsure, -torch.inf)  # NaN is not unsure, but an error

    def rewind(self, n_cached: int) -> None:
        """As the draft's."""
        self._draft.rewind(n_cached)
