"""The tools of lab 6's samplers: models with a cache, blocks, top-k and top-p, and a draw."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Generator, Tensor


class CachedModel(Protocol):
    """A language model with a cache of the tokens that it was fed."""

    vocab_size: int

    def n_cached(self) -> int:
        """Tokens in its cache."""

    def feed(self, tokens: Sequence[int]) -> Tensor:
        """Append at least one token to the cached ones.

        Returns: logits (T V); row i is about the token after tokens[i]. A row of a draft that is
        all -inf means that it has nothing to propose there.
        """

    def rewind(self, n_cached: int) -> None:
        """Forget all but the first n_cached tokens, at no cost."""


@dataclass(frozen=True, slots=True)
class Block:
    """One block: how many tokens were drafted, and how many of them the target accepted.

    position: the length of the text before the block, prompt included. source, prompt_id: of the
    prompt, for comparisons. The token that the target adds is never counted.
    Raises: ValueError unless 0 <= n_accepted <= n_drafted.
    """

    n_drafted: int
    n_accepted: int
    position: int = 0
    source: str = ""
    prompt_id: str = ""

    def __post_init__(self) -> None:
        if not 0 <= self.n_accepted <= self.n_drafted:
            raise ValueError(
                f"{self.n_accepted} of {self.n_drafted} drafted tokens cannot have been accepted; "
                "the token that the target adds does not count"
            )

    @property
    def examined(self) -> int:
        """Drafted tokens that were examined: all up to the first rejected one, and that one."""
        return min(self.n_accepted + 1, self.n_drafted)


def sample(probs: Tensor, rng: Generator | None = None) -> int:
    """Draw one token from probabilities (V,), as an int. rng None means torch's own generator."""
    return int(torch.multinomial(probs, 1, generator=rng))


def keep_top(probs: Tensor, top_k: int | None = None, top_p: float | None = None) -> Tensor:
    """Apply top-k, then top-p, to probabilities (... V); each row again sums to 1.

    Top-k keeps the k most likely tokens, or all if there are no more. Top-p keeps the most likely
    of the tokens left, and as few as possible, so that their sum is at least top_p. One token is
    always kept. Of equally likely tokens the first come first. None and top_p = 1 keep all.

    Returns: a tensor of the shape and dtype of `probs`, which is not changed.
    Raises: nothing for settings out of range; `check_sampling` refuses them.
    """
    if top_k is None and top_p is None:
        return probs
    ranked, order = probs.sort(dim=-1, descending=True, stable=True)
    if top_k is not None:
        ranked[..., top_k:] = 0
        ranked /= ranked.sum(-1, keepdim=True)
    if top_p is not None and top_p < 1:
        mass_before = ranked.cumsum(-1) - ranked
        ranked[mass_before >= top_p] = 0
        ranked /= ranked.sum(-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, order, ranked)


def on_cpu(logits: Tensor) -> Tensor:
    """The logits where samplers draw: on the CPU, half precision as float32."""
    return logits.to("cpu", torch.promote_types(logits.dtype, torch.float32))
