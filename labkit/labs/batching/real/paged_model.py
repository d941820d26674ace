"""A real model whose KV caches lie in pages, for batches of requests of any lengths."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.utils.rnn import pad_sequence

from labkit.kv_cache import PagedCache
from labkit.models.cached import cache_that_calls, forward
from labkit.models.transformer import LayerCache

BLOCK_SIZE = 16


class PagedModel:
    """A transformers model, and one `PagedCache` per layer for the KV caches of all requests.

    In a pass each layer writes the new keys and values to their pages. Then it copies all keys and
    values of the batch out of the pages into one rectangle, as long as the most pages of any
    request, and attention reads that. (A kernel made for pages would read them where they lie.)
    lengths: the cached tokens of each request that has any.
    """

    def __init__(self, model: Any, n_blocks: int, block_size: int = BLOCK_SIZE) -> None:
        config, self._block_size = model.config, block_size
        shape = (n_blocks, block_size, config.num_key_value_heads, config.head_dim)
        self._model = model
        self._layers = [PagedCache(*shape) for _ in range(config.num_hidden_layers)]
        self.n_kept: dict[int, int] = {}

    @torch.inference_mode()
    def forward(self, ids: Sequence[int], fed: Sequence[Sequence[int]]) -> list[int]:
        """Feed each request its next tokens, one or many; returns the likeliest one after them.

        Requests with fewer tokens are padded on the right. Nothing of the padding is cached.
        Raises: MemoryError if the pages do not suffice.
        """
        n_past = torch.tensor([self.n_kept.get(i, 0) for i in ids])
        n_fed = torch.tensor([len(each) for each in fed])
        n_blocks = -(-int((n_past + n_fed).max()) // self._block_size)
        tokens = pad_sequence([torch.tensor(each) for each in fed], batch_first=True)
        positions = n_past[:, None] + torch.arange(tokens.shape[1])
        is_later = torch.arange(n_blocks * self._block_size) > positions[:, None, :, None]
        mask = torch.zeros(is_later.shape).masked_fill(is_later, torch.finfo(torch.float32).min)

        def update(keys: Tensor, values: Tensor, layer: int) -> LayerCache:
            pages = self._layers[layer]
            for i, new, row_keys, row_values in zip(ids, fed, keys, values, strict=True):
                pages.append(i, row_keys[:, : len(new)], row_values[:, : len(new)])
            return _gather(pages, ids)

        past = cache_that_calls(update)
        out = forward(
            self._model.base_model, tokens, past, attention_mask=mask, position_ids=positions
        )
        self.n_kept |= zip(ids, (n_past + n_fed).tolist(), strict=True)
        last = out.last_hidden_state[torch.arange(len(ids)), n_fed - 1]
        return self._model.get_output_embeddings()(last).argmax(dim=-1).tolist()

    def read(self, request_id: int) -> dict[str, Tensor]:
        """A copy of a request's "keys" and "values", each (n_layers Hkv length D)."""
        keys, values = zip(*(pages.gather(request_id) for pages in self._layers), strict=True)
        return {"keys": torch.stack(keys), "values": torch.stack(values)}

    def write(self, request_id: int, cache: dict[str, Tensor]) -> None:
        """Put what `read` gave into pages. Raises: MemoryError as `forward`."""
        for pages, keys, values in zip(self._layers, cache["keys"], cache["values"], strict=True):
            pages.append(request_id, keys, values)
        self.n_kept[request_id] = cache["keys"].shape[2]

    def free(self, request_id: int) -> None:
        """Give back a request's pages, if it has any."""
        if self.n_kept.pop(request_id, None) is not None:
            for pages in self._layers:
                pages.free(request_id)


def _gather(pages: PagedCache, ids: Sequence[int]) -> LayerCache:
    """Keys and values of all these requests, a pair of (B Hkv K D), K a multiple of BLOCK_SIZE.

    Beyond a request's own length they are without meaning: the mask hides them.
    """
    tables = [torch.tensor(pages.block_table(i)) for i in ids]
    blocks = pad_sequence(tables, batch_first=True)
    keys, values = pages.keys[blocks], pages.values[blocks]  # (B blocks Hkv block_size D)
    return keys.transpose(1, 2).flatten(2, 3), values.transpose(1, 2).flatten(2, 3)
