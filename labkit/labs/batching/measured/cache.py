"""A request's KV cache as it is sent: whole, layer by layer, in pages; the same at both ends."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from labkit.engine.serving.pages import PAGE
from labkit.engine.weights import DecoderShape

WHOLE, BY_LAYER, GATHERED, BY_PAGE = "whole", "layer by layer", "gathered pages", "page by page"
PACES = (WHOLE, BY_LAYER, GATHERED, BY_PAGE)


@dataclass(frozen=True, slots=True)
class SentCache:
    """Room for the cache of a request. pool: (2 L, rows, Hkv, D), keys and values of each layer.

    whole: as many numbers in one piece. rows: (rows,), the places of positions, whose pages lie in
    no order.
    """

    pool: Tensor
    whole: Tensor
    rows: Tensor

    @classmethod
    def of(
        cls, shape: DecoderShape, n_tokens: int, dtype: torch.dtype, device: torch.device | str
    ) -> SentCache:
        """Full of random numbers."""
        n_pages = -(-n_tokens // PAGE)
        sizes = (2 * shape.n_layers, n_pages * PAGE, shape.n_kv_heads, shape.head_dim)
        pool = torch.randn(sizes, dtype=dtype, device=device)
        pages = torch.randperm(n_pages, generator=torch.Generator("cpu").manual_seed(0))
        rows = (pages[:, None] * PAGE + torch.arange(PAGE)).flatten()
        return cls(pool, pool.flatten().clone(), rows.to(device))

    def pieces(self, pace: str, n_tokens: int) -> list[Tensor]:
        """What is sent one after the other for a cache of n_tokens, whole pages of it."""
        if pace == BY_LAYER:
            return [each[:n_tokens] for each in self.pool]
        if pace == BY_PAGE:
            first = self.rows[:n_tokens:PAGE].tolist()
            return [each[i : i + PAGE] for each in self.pool for i in first]
        return [self.whole[: n_tokens * self.pool[:, 0].numel()]]

    def gather(self, n_tokens: int) -> None:
        """Put the pages of a cache one after the other, so that they can go in one piece."""
        torch.index_select(self.pool, 1, self.rows[:n_tokens], out=self._whole(n_tokens))

    def scatter(self, n_tokens: int) -> None:
        """Put what came in one piece into its pages."""
        self.pool.index_copy_(1, self.rows[:n_tokens], self._whole(n_tokens))

    def _whole(self, n_tokens: int) -> Tensor:
        n_parts, _, *rest = self.pool.shape
        flat = self.whole[: n_tokens * self.pool[:, 0].numel()]
        return flat.view(n_parts, n_tokens, *rest)
