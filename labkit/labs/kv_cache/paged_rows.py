"""The rows of a batch in pages: the interface of the other stores over a `PagedCache` per layer."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from labkit.models.transformer import Seen, causal_mask


class PagedRows:
    """A store whose row i is sequence i of each layer's `PagedCache`. length: as in the arena.

    A server has one block table for all layers. Here each layer has its own, with the same blocks.
    """

    def __init__(self, layers: Sequence[Any]) -> None:
        """layers: a `PagedCache` for each layer of the model."""
        self.layers = list(layers)
        self.n_tokens = [0 for _ in self.layers]

    @property
    def length(self) -> int:
        """Tokens of the past passes: those that all layers have."""
        return self.n_tokens[-1]

    def append(self, layer: int, keys: Tensor, values: Tensor) -> Seen:
        """Write a layer's new tokens (B Hkv T D) into pages; returns keys, values and the mask.

        All tokens are gathered, which is a copy. Raises: MemoryError as `PagedCache.append`.
        """
        pages, gathered = self.layers[layer], []
        for row, new in enumerate(zip(keys, values, strict=True)):
            pages.append(row, *new)
            gathered.append(pages.gather(row))
        n_new = keys.shape[2]
        self.n_tokens[layer] += n_new
        mask = causal_mask(self.n_tokens[layer], keys.device)[-n_new:]
        return *(torch.stack(part) for part in zip(*gathered, strict=True)), mask
