"""One new token's attention over a cache in parts, on a memory that counts."""

from collections.abc import Callable
from math import ceil

import torch
from torch import Tensor

from labkit.models.counted_memory import Memory, tile_scores, tiles

State = tuple[Tensor, Tensor, Tensor]


def decode_memory(queries: Tensor, keys: Tensor, values: Tensor, n_parts: int = 1) -> Memory:
    """Memory for the queries of one group of heads (Q D) and a cache (S D).

    Beside them there is room for the output O, and for m, l and A: maxima, totals and outputs of
    the parts, part by part.
    Raises: ValueError for other shapes, and for no part.
    """
    has_width = queries.dim() == 2 and queries.shape[1:] == keys.shape[1:]
    if not has_width or keys.shape != values.shape or n_parts < 1 or not len(keys):
        shapes = ", ".join(str(tuple(each.shape)) for each in (queries, keys, values))
        raise ValueError(f"wanted Q (heads, D), K and V (tokens, D), and a part, got {shapes}")
    n_rows, width = queries.shape
    arrays = {"Q": queries, "K": keys, "V": values, "O": torch.full_like(queries, torch.nan)}
    arrays |= {name: torch.full((n_parts * n_rows,), torch.nan) for name in "ml"}
    arrays["A"] = torch.full((n_parts * n_rows, width), torch.nan)
    return Memory(arrays)


def flash_decode(
    memory: Memory,
    n_parts: int,
    tile_kv: int,
    online_softmax: Callable[..., State],
    merge: Callable[[State, State], State],
) -> None:
    """Attention of the queries of one group over the cache: a state for each part, then merged.

    On a GPU each part has a program of its own, and they run at the same time.
    """
    n_queries, n_tokens = memory.n_rows, len(memory.arrays["K"])
    for part in range(n_parts):
        first = min(part * ceil(n_tokens / n_parts), n_tokens)
        last = min(first + ceil(n_tokens / n_parts), n_tokens)
        state = _state_of(memory, first, last, tile_kv, online_softmax)
        if n_parts == 1:
            return _store_output(memory, state)
        for name, rows in zip("mlA", state, strict=True):
            memory.store(name, part * n_queries, rows)
    state = _empty_state(memory)
    for start, stop in tiles(n_parts * n_queries, n_queries):
        other = [memory.load(name, start, stop) for name in "mlA"]
        state = merge(state, tuple(other))
    return _store_output(memory, state)


def _state_of(
    memory: Memory, first: int, last: int, tile_kv: int, online_softmax: Callable[..., State]
) -> State:
    """Of the group's queries over the keys from first to last, which may be none."""
    queries, state = memory.load("Q"), _empty_state(memory)
    for start, stop in tiles(last - first, tile_kv):
        keys, values = (memory.load(name, first + start, first + stop) for name in "KV")
        scores = tile_scores(queries, keys, 0, first + start, is_causal=False)
        state = online_softmax(*state, scores, values)
    return state


def _empty_state(memory: Memory) -> State:
    n_queries = memory.n_rows
    outputs = torch.zeros(n_queries, memory.head_dim)
    return torch.full((n_queries,), -torch.inf), torch.zeros(n_queries), outputs


def _store_output(memory: Memory, state: State) -> None:
    _, total, output = (torch.as_tensor(each) for each in state)
    memory.store("O", 0, output / total[:, None])
