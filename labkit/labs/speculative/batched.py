"""Speculative decoding of several texts at once, each with its own number of accepted tokens.

Every row keeps its own length: what one row rejects costs the others nothing but time. The law of
each row is the one that it would have alone.

Letters in shapes: B rows, k drafted tokens, T tokens of one call, V vocab.
"""

from collections.abc import Sequence
from typing import Protocol

import torch
from torch import Generator, Tensor

from labkit.models.arguments import check_sampling, check_vocabularies, check_wanted, cut_after
from labkit.models.sampling import Block
from labkit.speculative import distribution, verify_batch


class BatchModel(Protocol):
    """A model with a cache of its own for each row; see `labkit.engine.cached.EngineBatch`."""

    vocab_size: int

    def n_cached(self) -> list[int]:
        """Tokens in the cache of each row."""

    def feed(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """Put tokens behind the cached ones of each row; none for a row that is left alone.

        Returns: logits (B T V), T of the longest row; what stands behind a row's tokens is finite
        and means nothing.
        """

    def rewind(self, n_cached: Sequence[int]) -> None:
        """Forget all but the first n_cached[i] tokens of row i."""


def speculative_batch(
    target: BatchModel,
    draft: BatchModel,
    prompts: Sequence[Sequence[int]],
    n_new: int,
    gamma: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos: int | None = None,
    rng: Generator | None = None,
    blocks: list[Block] | None = None,
) -> list[list[int]]:
    """Up to n_new tokens after each prompt: `speculative` for all rows at once.

    Rows end by themselves, and draft no more than they can use. `blocks` gets a `Block` per row and
    block, with the row's number as its prompt_id.

    Raises: ValueError as `speculative`, for any of the rows; for another number of prompts than of
    rows.
    """
    _check(target, draft, prompts, n_new, gamma)
    warp = (temperature, top_k, top_p)
    check_sampling(*warp)
    records = [] if blocks is None else blocks
    texts = [list(prompt) for prompt in prompts]
    running = list(range(len(texts))) if n_new > 0 else []
    if running and max(map(len, texts)) > 1:
        target.feed([text[:-1] for text in texts])
        draft.feed([text[:-1] for text in texts])
    while running:
        n_most = [0] * len(texts)
        for row in running:
            n_most[row] = min(gamma, len(prompts[row]) + n_new - len(texts[row]) - 1)
        drafted, draft_probs = _draft_rows(draft, texts, n_most, warp, rng)
        fed = [
            [texts[row][-1], *drafted[row]] if row in running else [] for row in range(len(texts))
        ]
        target_probs = distribution(target.feed(fed), *warp)
        verdicts = _verify_rows(running, drafted, draft_probs, target_probs, rng)
        for row, (n_kept, token) in zip(running, verdicts, strict=True):
            records.append(Block(len(drafted[row]), n_kept, len(texts[row]), prompt_id=str(row)))
            texts[row] += cut_after([*drafted[row][:n_kept], token], eos)
        kept = [len(text) - 1 for text in texts]
        for model in (target, draft):
            model.rewind([min(pair) for pair in zip(model.n_cached(), kept, strict=True)])
        running = [
            row
            for row in running
            if len(texts[row]) < len(prompts[row]) + n_new and texts[row][-1] != eos
        ]
    return [text[len(prompt) :] for text, prompt in zip(texts, prompts, strict=True)]


def _draft_rows(
    draft: BatchModel, texts: list[list[int]], n_most: list[int], warp: tuple, rng: Generator | None
) -> tuple[list[list[int]], list[list[Tensor]]]:
    """For each row up to n_most drafted tokens, and the distributions that they came from."""
    drafted: list[list[int]] = [[] for _ in texts]
    draft_probs: list[list[Tensor]] = [[] for _ in texts]
    drafting = [row for row, n in enumerate(n_most) if n > 0]
    while drafting:
        cached = draft.n_cached()
        fed = [
            (text + drafted[row])[cached[row] :] if row in drafting else []
            for row, text in enumerate(texts)
        ]
        logits = draft.feed(fed)
        proposing = [row for row in drafting if logits[row, len(fed[row]) - 1].max() != -torch.inf]
        if not proposing:
            break
        last = torch.stack([logits[row, len(fed[row]) - 1] for row in proposing])
        probs = distribution(last, *warp)
        tokens = torch.multinomial(probs, 1, generator=rng)[:, 0].tolist()
        for row, token, row_probs in zip(proposing, tokens, probs, strict=True):
            drafted[row].append(token)
            draft_probs[row].append(row_probs)
        drafting = [row for row in proposing if len(drafted[row]) < n_most[row]]
    return drafted, draft_probs


def _verify_rows(
    rows: list[int],
    drafted: list[list[int]],
    draft_probs: list[list[Tensor]],
    target_probs: Tensor,
    rng: Generator | None,
) -> list[tuple[int, int]]:
    """How many tokens each of the rows keeps, and the token after them."""
    k = target_probs.shape[1] - 1
    tokens = torch.zeros(len(rows), k, dtype=torch.long, device=target_probs.device)
    probs = torch.ones_like(target_probs[rows, :k])
    for i, row in enumerate(rows):
        for j, token in enumerate(drafted[row]):
            tokens[i, j], probs[i, j] = token, draft_probs[row][j]
    n_drafted = torch.tensor([len(drafted[row]) for row in rows], device=target_probs.device)
    n_kept, after = verify_batch(tokens, n_drafted, probs, target_probs[rows], rng)
    return list(zip(n_kept.tolist(), after.tolist(), strict=True))


def _check(
    target: BatchModel, draft: BatchModel, prompts: Sequence, n_new: int, gamma: int
) -> None:
    for name, model in (("target", target), ("draft", draft)):
        if len(model.n_cached()) != len(prompts):
            raise ValueError(
                f"the {name} has {len(model.n_cached())} rows, but there are {len(prompts)} prompts"
            )
        if any(model.n_cached()):
            raise ValueError(f"the {name}'s cache holds other texts; rewind all its rows to 0")
    check_vocabularies(target, draft)
    for prompt in prompts:
        check_wanted(prompt, n_new, gamma)
