"""Speculative decoding: a small model drafts tokens, the large one verifies them all in one call.

The text has the law of the target model, whatever the draft is. Names: the papers disagree on
letters (the target is p in Leviathan et al., q in Chen et al.), so we write them out: target_probs
and draft_probs. Letters in shapes: k drafted tokens, T tokens of one call, V vocab.

Sources: Leviathan et al. 2023 (arXiv:2211.17192), Chen et al. 2023 (arXiv:2302.01318).
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Generator, Tensor

from labkit.models.arguments import check_rows, check_sampling, check_start, cut_after


class CachedModel(Protocol):
    """A language model that remembers what it was fed; see `speculation.models`."""

    vocab_size: int

    def n_cached(self) -> int:
        """Tokens in its cache."""

    def feed(self, tokens: Sequence[int]) -> Tensor:
        """Put at least one token behind the cached ones.

        Returns: logits (T V); row i says what may follow tokens[i]. All -inf in a draft's row: it
        has nothing to propose there.
        """

    def rewind(self, n_cached: int) -> None:
        """Forget all but the first n_cached tokens, at no cost."""


@dataclass(frozen=True, slots=True)
class Block:
    """What became of one block: tokens drafted, and how many of them the target accepted.

    position: where in the text, prompt included, the block's first token stands. source, prompt_id:
    of the prompt, for whoever compares them. The token that the target adds is never counted.
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
        """Drafted tokens that were put to the test: all up to the first one rejected."""
        return min(self.n_accepted + 1, self.n_drafted)


def distribution(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Tensor:
    """Probabilities of the next token: temperature, then top-k, then top-p.

    Temperature 0 gives all to the largest logit. Top-k keeps the k most likely tokens; top-p the
    fewest of the most likely that have at least probability top_p together. Of equal tokens the
    first comes first. `logits` stays as it is.

    Shapes: (... V) to (... V); float64 stays float64, all else becomes float32.
    Raises: ValueError for temperature < 0, top_k < 1, top_p outside (0, 1], and for a row of logits
    whose largest is not a finite number (NaN, infinity, all -inf).
    """
    check_sampling(temperature, top_k, top_p)
    logits = logits if logits.dtype == torch.float64 else logits.float()
    largest = logits.amax(-1, keepdim=True)
    if not torch.isfinite(largest).all():
        raise ValueError("the largest logit of each row must be a finite number; there are others")
    if temperature == 0:
        return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
    probs = torch.softmax((logits - largest) / temperature, dim=-1)
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


def residual(target_probs: Tensor, draft_probs: Tensor) -> Tensor:
    """Distribution of the token after a rejection: norm(max(0, target - draft)).

    Where the two are equal nothing is left (and nothing is ever rejected): the target's instead.

    Shapes: (... V) and (... V) to (... V).
    Source: Leviathan et al., Algorithm 1; Chen et al., Algorithm 2.
    """
    left = (target_probs - draft_probs).clamp(min=0)
    mass = left.sum(-1, keepdim=True)
    return torch.where(mass > 0, left / mass, target_probs)


def verify(
    drafted: Sequence[int], draft_probs: Tensor, target_probs: Tensor, rng: Generator | None = None
) -> tuple[int, int]:
    """Which drafted tokens stay, and the token that follows them.

    Token x is accepted with probability min(1, target(x) / draft(x)), each by a uniform of its own.
    The first one rejected is replaced by a token from `residual`; if none is, the target's
    last row gives one token more. No token at all may be drafted: then that is a plain step.

    Shapes: k tokens, each drawn from its row of draft_probs (k V); target_probs (k+1 V).
    Returns: how many are kept, from 0 to k, and the token after them.
    Raises: ValueError for other shapes.
    Source: Leviathan et al., Algorithm 1; Chen et al., Algorithm 2.
    """
    check_rows(drafted, draft_probs, target_probs)
    for i, token in enumerate(drafted):
        uniform = torch.rand(
            (), generator=rng, dtype=target_probs.dtype, device=target_probs.device
        )
        if not uniform < target_probs[i, token] / draft_probs[i, token]:
            return i, sample(residual(target_probs[i], draft_probs[i]), rng)
    return len(drafted), sample(target_probs[-1], rng)


def sample(probs: Tensor, rng: Generator | None = None) -> int:
    """One token from probabilities (V,)."""
    return int(torch.multinomial(probs, 1, generator=rng))


def autoregressive(
    target: CachedModel,
    prompt: Sequence[int],
    n_new: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos: int | None = None,
    rng: Generator | None = None,
) -> list[int]:
    """Up to n_new tokens after the prompt, one by one: each call feeds what the cache lacks.

    Returns: the new tokens; the end-of-text token, if it comes, is the last.
    Raises: ValueError for n_new < 0, an empty prompt, a cache that is not empty, and as
    `distribution`.
    """
    check_start(prompt, n_new, target)
    check_sampling(temperature, top_k, top_p)
    text = list(prompt)
    while len(text) < len(prompt) + n_new:
        logits = target.feed(text[target.n_cached() :])
        text.append(sample(distribution(logits[-1], temperature, top_k, top_p), rng))
        if text[-1] == eos:
            break
    return text[len(prompt) :]


def speculative(
    target: CachedModel,
    draft: CachedModel,
    prompt: Sequence[int],
    n_new: int,
    gamma: int | Callable[[], int],
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos: int | None = None,
    rng: Generator | None = None,
    blocks: list[Block] | None = None,
) -> list[int]:
    """Up to n_new tokens after the prompt, in blocks of up to gamma drafted tokens and one more.

    The last token of the text is in no cache. Both models are first fed the prompt without it, in a
    call of its own. In a block the draft is fed what it lacks (after a full acceptance that is two
    tokens), and drafts token by token, never more than can be used; one call of the target
    verifies them; both caches go back to what the text has kept. A draft with nothing to propose
    ends its part of the block. `blocks` gets a `Block` for each. gamma: a number, or a function
    that is asked for one before each block, where 0 means a plain step.

    Returns: the new tokens; the end-of-text token, if it comes, is the last.
    Raises: ValueError for gamma < 1, n_new < 0, an empty prompt, caches that are not empty, two
    vocabularies, and as `distribution`.
    """
    check_start(prompt, n_new, target, draft, gamma)
    check_sampling(temperature, top_k, top_p)
    text, end = list(prompt), len(prompt) + n_new
    if n_new > 0 and len(prompt) > 1:
        target.feed(text[:-1])
        draft.feed(text[:-1])
    while len(text) < end:
        n_drafts = min(gamma() if callable(gamma) else gamma, end - len(text) - 1)
        drafted: list[int] = []
        draft_probs: list[Tensor] = []
        while len(drafted) < n_drafts:
            logits = draft.feed((text + drafted)[draft.n_cached() :])[-1]
            if torch.isneginf(logits).all():
                break
            draft_probs.append(distribution(logits, temperature, top_k, top_p))
            drafted.append(sample(draft_probs[-1], rng))

        logits = target.feed([text[-1], *drafted])
        target_probs = distribution(logits, temperature, top_k, top_p)
        rows = torch.stack(draft_probs) if drafted else target_probs[:0]
        n_kept, token = verify(drafted, rows, target_probs, rng)

        if blocks is not None:
            blocks.append(Block(len(drafted), n_kept, len(text)))
        text += cut_after([*drafted[:n_kept], token], eos)
        target.rewind(len(text) - 1)
        draft.rewind(min(draft.n_cached(), len(text) - 1))
        if text[-1] == eos:
            break
    return text[len(prompt) :]
