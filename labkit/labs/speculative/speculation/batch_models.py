"""Batches of texts with caches of unlike lengths, as `batched` wants them."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from labkit.labs.speculative.speculation.models import (
    check_full_attention,
    check_rewind,
    empty_cache,
)
from labkit.models.sampling import CachedModel


class RowsModel:
    """One model with a cache per row, fed one after the other: the plain form."""

    def __init__(self, models: Sequence[CachedModel]) -> None:
        """A batch with as many rows as models.

        Raises: ValueError for none, for two vocabularies, and for one model in two rows.
        """
        if len(set(map(id, models))) < len(models):
            raise ValueError("a model has one cache: each row needs a model of its own")
        sizes = {model.vocab_size for model in models}
        if len(sizes) != 1:
            raise ValueError(f"all rows must have one vocabulary; got {sorted(sizes) or 'no row'}")
        self.vocab_size: int = sizes.pop()
        self._models = list(models)

    def n_cached(self) -> list[int]:
        """Tokens in the cache of each row."""
        return [model.n_cached() for model in self._models]

    def feed(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """Cache tokens of each row, if any; logits (B T V), 0 behind a row's tokens."""
        check_fed(rows, len(self._models))
        found = [
            model.feed(row) if len(row) else None
            for model, row in zip(self._models, rows, strict=True)
        ]
        some = next(logits for logits in found if logits is not None)
        padded = some.new_zeros(len(rows), max(map(len, rows)), self.vocab_size)
        for i, logits in enumerate(found):
            if logits is not None:
                padded[i, : len(logits)] = logits
        return padded

    def rewind(self, n_cached: Sequence[int]) -> None:
        """Forget all but the first n_cached[i] tokens of row i. Raises: ValueError if too few."""
        check_rewinds(n_cached, self.n_cached())
        for model, n in zip(self._models, n_cached, strict=True):
            model.rewind(n)


class TransformersBatch:
    """A model of transformers with one cache for all rows, in which each row has holes.

    Every call adds as many slots to each row as its longest row needs. A slot that a row does not
    use, or has taken back, is a hole: the mask hides it, and the row's positions count only what
    it holds. So nothing is moved on a rewind; `n_slots` shows what the holes cost.
    """

    def __init__(self, model: Any, n_rows: int) -> None:
        """The model as it was loaded, with empty caches.

        Raises: ValueError for a model whose layers do not all see the whole text.
        """
        check_full_attention(model)
        self.vocab_size: int = model.config.vocab_size
        self._model = model
        self._cache = empty_cache()
        self._held = torch.zeros(n_rows, 0, dtype=torch.bool)

    @property
    def n_slots(self) -> int:
        """Slots of each row, holes included."""
        return self._held.shape[1]

    def n_cached(self) -> list[int]:
        """Tokens in the cache of each row."""
        return self._held.sum(dim=1).tolist()

    def feed(self, rows: Sequence[Sequence[int]]) -> Tensor:
        """Cache tokens of each row, if any, in one call; logits (B T V)."""
        check_fed(rows, len(self._held))
        lengths = torch.tensor([len(row) for row in rows])
        n_longest = int(lengths.max())
        steps = torch.arange(n_longest)
        is_token = steps < lengths[:, None]
        fed = torch.zeros(len(rows), n_longest, dtype=torch.long)
        fed[is_token] = torch.tensor([token for row in rows for token in row])
        positions = (torch.tensor(self.n_cached())[:, None] + steps).where(is_token, 0)

        own = (is_token[:, None, :] & (steps <= steps[:, None])) | torch.eye(n_longest).bool()
        past = self._held[:, None, :].expand(-1, n_longest, -1)
        seen = torch.cat([past, own], dim=2)
        mask = torch.zeros(seen.shape, dtype=self._model.dtype)
        mask.masked_fill_(~seen, torch.finfo(mask.dtype).min)

        device = self._model.device
        with torch.inference_mode():
            found = self._model(
                fed.to(device),
                attention_mask=mask[:, None].to(device),
                position_ids=positions.to(device),
                past_key_values=self._cache,
                use_cache=True,
            )
        self._held = torch.cat([self._held, is_token], dim=1)
        return found.logits

    def rewind(self, n_cached: Sequence[int]) -> None:
        """Forget all but the first n_cached[i] tokens of row i. Raises: ValueError if too few."""
        check_rewinds(n_cached, self.n_cached())
        self._held &= self._held.cumsum(dim=1) <= torch.tensor(list(n_cached))[:, None]
        used = self._held.any(dim=0).nonzero()
        n_used = int(used[-1]) + 1 if len(used) else 0
        if n_used < self.n_slots:
            self._cache.crop(n_used - self.n_slots)
        self._held = self._held[:, :n_used]


def check_fed(rows: Sequence[Sequence[int]], n_rows: int) -> None:
    """Raise ValueError unless there is an entry for each row, and a token in one of them."""
    if len(rows) != n_rows:
        raise ValueError(f"feed one list of tokens per row: {n_rows} are wanted, {len(rows)} came")
    if not any(len(row) for row in rows):
        raise ValueError("feed at least one token in one of the rows")


def check_rewinds(n_cached: Sequence[int], n_now: Sequence[int]) -> None:
    """Raise ValueError unless each row's cache can go back that far; then none of them has."""
    if len(n_cached) != len(n_now):
        raise ValueError(f"rewind each row: {len(n_now)} lengths are wanted, {len(n_cached)} came")
    for pair in zip(n_cached, n_now, strict=True):
        check_rewind(*pair)
