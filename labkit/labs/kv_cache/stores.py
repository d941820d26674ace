"""What a step costs with each store, at sizes where they differ: one layer, one new token.

The stores are arguments: in the notebook the student's own, for `labkit measure` the kit's.
"""

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn.functional import scaled_dot_product_attention

from labkit.measuring.timing import Timing, time_in_turns

N_HEADS, N_KV_HEADS, HEAD_DIM = 32, 8, 64
BLOCK_SIZES = (16, 256)
N_STEPS = 4  # tokens of a sample; they are rewound after it


def walk_blocks(query: Tensor, pages: Any, table: Sequence[int], length: int) -> Tensor:
    """Attention of one token that reads each block where it lies, and merges the parts.

    Each block gives a maximum, a total and an output. The parts before are rescaled to the new
    maximum, then the two are added. No key is copied.
    Shapes: query (1 H 1 D), the storage of pages (blocks Hkv places D); returns (1 H 1 D).
    Source: Milakov and Gimelshein (arXiv:1805.02867), algorithm 3.
    """
    grouped = query[0, :, 0].unflatten(0, (pages.keys.shape[1], -1)) * query.shape[-1] ** -0.5
    maximum = torch.full_like(grouped[..., :1], float("-inf"))
    total, output = torch.zeros_like(maximum), torch.zeros_like(grouped)
    block_size = pages.keys.shape[2]
    for i, block in enumerate(table):
        n_here = min(block_size, length - i * block_size)
        scores = grouped @ pages.keys[block, :, :n_here].transpose(-2, -1)
        highest = torch.maximum(maximum, scores.amax(dim=-1, keepdim=True))
        before, weights = (maximum - highest).exp(), (scores - highest).exp()
        total = before * total + weights.sum(dim=-1, keepdim=True)
        output = before * output + weights @ pages.values[block, :, :n_here]
        maximum = highest
    return (output / total).flatten(0, 1)[None, :, None]


def time_stores(
    arena_cache: Callable[..., Any],
    paged_cache: Callable[..., Any],
    n_cached: int,
    device: str = "cpu",
    n_repeats: int = 5,
) -> dict[str, Timing]:
    """Seconds per sample of N_STEPS tokens by each way, timed in turns.

    Each step appends one token after n_cached ones, and attends to all of them.
    """
    ways = ways_of(arena_cache, paged_cache, n_cached, device)
    return time_in_turns(ways, title=f"stores, {n_cached:,} tokens", n_repeats=n_repeats)


def ways_of(
    arena_cache: Callable[..., Any],
    paged_cache: Callable[..., Any],
    n_cached: int,
    device: str = "cpu",
) -> dict[str, Callable[[], Tensor]]:
    """A run of N_STEPS tokens by each way; it returns the output of the last one."""
    query, cached, new = tensors_of(n_cached, device)
    kind = {"dtype": query.dtype, "device": device}
    ways = {
        "concatenation": lambda: _concatenate(query, cached, new),
        "arena": _with_arena(arena_cache, query, cached, new),
    }
    for size in BLOCK_SIZES:
        n_blocks = -(-(n_cached + N_STEPS) // size)
        pages = paged_cache(n_blocks, size, N_KV_HEADS, HEAD_DIM, **kind)
        pages.append(0, *(part[0] for part in cached))
        ways[f"pages of {size}, gathered"] = _with_pages(pages, query, new, _gathered)
        ways[f"pages of {size}, walked"] = _with_pages(pages, query, new, _walked)
    return ways


def tensors_of(n_cached: int, device: str) -> tuple[Tensor, list[Tensor], list[Tensor]]:
    """A query (1 H 1 D), keys and values of the cached tokens, and of a new one (1 Hkv T D)."""
    rng = torch.Generator(device).manual_seed(0)
    kind = {"dtype": torch.bfloat16 if device == "cuda" else torch.float32, "device": device}

    def random(n_heads: int, n_tokens: int) -> Tensor:
        return torch.randn(1, n_heads, n_tokens, HEAD_DIM, generator=rng, **kind)

    cached = [random(N_KV_HEADS, n_cached) for _ in range(2)]
    new = [random(N_KV_HEADS, 1) for _ in range(2)]
    return random(N_HEADS, 1), cached, new


def _attend(query: Tensor, keys: Tensor, values: Tensor) -> Tensor:
    """Attention of one token to all keys: the query heads of a KV head are rows of one product."""
    grouped = query[:, :, 0].unflatten(1, (keys.shape[1], -1))
    return scaled_dot_product_attention(grouped, keys, values).flatten(1, 2)[:, :, None]


def _concatenate(query: Tensor, cached: Sequence[Tensor], new: Sequence[Tensor]) -> Tensor:
    past = cached
    for _ in range(N_STEPS):
        past = [torch.cat(parts, dim=2) for parts in zip(past, new, strict=True)]
        output = _attend(query, *past)
    return output


def _with_arena(
    arena_cache: Callable[..., Any],
    query: Tensor,
    cached: Sequence[Tensor],
    new: Sequence[Tensor],
) -> Callable[[], Tensor]:
    capacity = cached[0].shape[2] + N_STEPS
    arena = arena_cache(
        1, 1, N_KV_HEADS, HEAD_DIM, capacity, dtype=query.dtype, device=query.device
    )
    arena.append(0, *cached)

    def run() -> Tensor:
        for _ in range(N_STEPS):
            output = _attend(query, *arena.append(0, *new)[:2])
        arena.rewind(N_STEPS)
        return output

    return run


def _with_pages(
    pages: Any, query: Tensor, new: Sequence[Tensor], attend: Callable[..., Tensor]
) -> Callable[[], Tensor]:
    n_cached = pages.gather(0)[0].shape[1]

    def run() -> Tensor:
        for i in range(N_STEPS):
            pages.append(0, *(part[0] for part in new))
            output = attend(query, pages, n_cached + i + 1)
        pages.rewind(0, N_STEPS)
        return output

    return run


def _gathered(query: Tensor, pages: Any, length: int) -> Tensor:
    return _attend(query, *(part[None] for part in pages.gather(0)))


def _walked(query: Tensor, pages: Any, length: int) -> Tensor:
    return walk_blocks(query, pages, pages.block_table(0), length)
