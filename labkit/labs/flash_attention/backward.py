"""The backward pass of attention: gradients of Q, K and V, from dO, the gradient of O.

Standard attention keeps its weights P for this, N x N numbers. FlashAttention keeps one or two
numbers for each query (l and m, or L alone) and computes the weights again, tile by tile. The
functions `..._traffic` count what both move, without a mask.
"""

from collections.abc import Iterator

import torch
from torch import Tensor

from labkit.models.counted_memory import Memory, Traffic, tile_scores, tiles


def standard_backward(memory: Memory) -> None:
    """Compute dQ, dK and dV from the stored P, in steps over whole matrices.

    Source: FlashAttention (arXiv:2205.14135), algorithm 3.
    """
    weights, d_output = memory.load("P").float(), memory.load("dO").float()
    memory.store("dV", 0, weights.T @ d_output)
    memory.store("dP", 0, memory.load("dO").float() @ memory.load("V").float().T)
    weights, d_weights = memory.load("P").float(), memory.load("dP").float()
    mean = (weights * d_weights).sum(dim=-1, keepdim=True)
    memory.store("dS", 0, weights * (d_weights - mean))
    scale = memory.head_dim**-0.5
    memory.store("dQ", 0, memory.load("dS").float() @ memory.load("K").float() * scale)
    memory.store("dK", 0, memory.load("dS").float().T @ memory.load("Q").float() * scale)


def standard_backward_traffic(n_rows: int, head_dim: int) -> Traffic:
    """Count the numbers that `standard_backward` reads and writes."""
    return Traffic(5 * n_rows * (n_rows + head_dim), n_rows * (2 * n_rows + 3 * head_dim))


def flash_backward_1(memory: Memory, tile_q: int, tile_kv: int, is_causal: bool = False) -> None:
    """Compute dQ, dK and dV, and the weights again from l and m.

    Source: FlashAttention (arXiv:2205.14135), algorithm 4, without dropout.
    """
    _clear(memory, "dQ", tile_q)
    _clear(memory, "dK dV", tile_kv)
    for columns, met in _turns(memory.n_rows, tile_q, tile_kv, is_causal):
        keys, values = _loaded(memory, "K V", columns)
        d_keys, d_values = torch.zeros_like(keys), torch.zeros_like(keys)
        for rows in met:
            queries, output, d_output, d_queries = _loaded(memory, "Q O dO dQ", rows)
            total, maximum = _loaded(memory, "l m", rows)
            scores = tile_scores(queries, keys, rows[0], columns[0], is_causal)
            weights = (scores - maximum[:, None]).exp() / total[:, None]
            mean = (d_output * output).sum(dim=-1)
            parts = _tile_gradients(weights, queries, keys, values, d_output, mean)
            memory.store("dQ", rows[0], d_queries + parts[0])
            d_keys, d_values = d_keys + parts[1], d_values + parts[2]
        memory.store("dK", columns[0], d_keys)
        memory.store("dV", columns[0], d_values)


def flash_1_backward_traffic(n_rows: int, head_dim: int, tile_kv: int) -> Traffic:
    """Count what `flash_backward_1` moves, with the first store of dQ, dK and dV."""
    n_turns = -(-n_rows // tile_kv)
    reads = n_rows * (2 * head_dim + n_turns * (4 * head_dim + 2))
    return Traffic(reads, (5 + n_turns) * n_rows * head_dim)


def flash_backward_2(memory: Memory, tile_q: int, tile_kv: int, is_causal: bool = False) -> None:
    """Compute dQ, dK and dV, and the weights again from L.

    The mean of the gradients is computed once, in D. O is loaded in every turn, as in the paper,
    although only D needs it.
    Source: FlashAttention-2 (arXiv:2307.08691), algorithm 2.
    """
    for rows in tiles(memory.n_rows, tile_q):
        output, d_output = _loaded(memory, "O dO", rows)
        memory.store("D", rows[0], (output * d_output).sum(dim=-1))
    _clear(memory, "dQ", tile_q)
    for columns, met in _turns(memory.n_rows, tile_q, tile_kv, is_causal):
        keys, values = _loaded(memory, "K V", columns)
        d_keys, d_values = torch.zeros_like(keys), torch.zeros_like(keys)
        for rows in met:
            queries, _, d_output, d_queries = _loaded(memory, "Q O dO dQ", rows)
            logsumexp, mean = _loaded(memory, "L D", rows)
            scores = tile_scores(queries, keys, rows[0], columns[0], is_causal)
            weights = (scores - logsumexp[:, None]).exp()
            parts = _tile_gradients(weights, queries, keys, values, d_output, mean)
            memory.store("dQ", rows[0], d_queries + parts[0])
            d_keys, d_values = d_keys + parts[1], d_values + parts[2]
        memory.store("dK", columns[0], d_keys)
        memory.store("dV", columns[0], d_values)


def _clear(memory: Memory, names: str, tile: int) -> None:
    """Write zeros, tile by tile."""
    for name in names.split():
        for first, last in tiles(memory.n_rows, tile):
            memory.store(name, first, torch.zeros(last - first, memory.head_dim))


def _turns(
    n_rows: int, tile_q: int, tile_kv: int, is_causal: bool
) -> Iterator[tuple[tuple[int, int], list[tuple[int, int]]]]:
    """Each tile of keys, with the tiles of queries that see some of them."""
    every = list(tiles(n_rows, tile_q))
    for columns in tiles(n_rows, tile_kv):
        yield columns, [rows for rows in every if not is_causal or rows[1] > columns[0]]


def _loaded(memory: Memory, names: str, rows: tuple[int, int]) -> list[Tensor]:
    """These rows of several arrays, in float32."""
    return [memory.load(name, *rows).float() for name in names.split()]


def _tile_gradients(
    weights: Tensor, queries: Tensor, keys: Tensor, values: Tensor, d_output: Tensor, mean: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """What one pair of tiles adds to dQ, dK and dV. mean (Q,): of dO times O, by row."""
    d_weights = d_output @ values.T
    d_scores = weights * (d_weights - mean[:, None]) * queries.shape[1] ** -0.5
    return d_scores @ keys, d_scores.T @ queries, weights.T @ d_output
