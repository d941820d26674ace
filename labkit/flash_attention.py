"""Attention and what it moves: the same numbers, computed with and without the large matrices.

What takes a `labkit.models.counted_memory.Memory` loads tiles of the queries Q, keys K and values V
of one head, N rows of D numbers each, and stores softmax(Q K^T / sqrt(D)) V in O. What it loads and
stores is counted. The closed forms say what that comes to, in numbers, for every length, also where
the last tile is smaller, and without a mask.
"""

from math import ceil

import torch
from torch import Tensor

from labkit.models.counted_memory import Memory, Traffic, tile_scores, tiles


def online_softmax(
    maximum: Tensor, total: Tensor, output: Tensor, scores: Tensor, values: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Take one more tile of keys into account: the new maximum, total and output.

    Shapes: maximum and total (Q,), output (Q D): over the keys so far, the largest score, the sum
    of exp(score - maximum), and the sum of exp(score - maximum) times value, which is not divided
    by the total yet. scores (Q S) and values (S D) are of the new keys. Before the first key they
    are -inf, 0 and 0. A score of -inf is a key that the query does not see; a query may have seen
    none at all, and then stays as it was.
    Source: Milakov and Gimelshein (arXiv:1805.02867), algorithm 3.
    """
    new_maximum = torch.maximum(maximum, scores.amax(dim=-1))
    level = new_maximum.where(new_maximum.isfinite(), 0)
    rescaled = (maximum - level).exp()
    weights = (scores - level[:, None]).exp()
    new_total = rescaled * total + weights.sum(dim=-1)
    return new_maximum, new_total, rescaled[:, None] * output + weights @ values.float()


def standard_attention(memory: Memory, is_causal: bool = False) -> None:
    """Write the scores S, the weights P and the output O, each as a whole.

    Each matrix is loaded once for each step that needs it: Q and K, then S, then P and V.
    Source: FlashAttention (arXiv:2205.14135), algorithm 0.
    """
    scores = tile_scores(memory.load("Q"), memory.load("K"), 0, 0, is_causal)
    memory.store("S", 0, scores)
    memory.store("P", 0, memory.load("S").float().softmax(dim=-1))
    memory.store("O", 0, memory.load("P").float() @ memory.load("V").float())


def flash_attention_1(memory: Memory, tile_q: int, tile_kv: int, is_causal: bool = False) -> None:
    """Tile by tile of K and V, take it into account for every tile of Q.

    O, l (totals) and m (maxima) are written once at the start, for they hold no numbers yet, and
    loaded and stored again in every inner step; in memory O is always divided by its total. If
    is_causal, pairs of tiles of which no query sees any key are left out.
    Raises: labkit.models.counted_memory.SramOverflow if the tiles do not fit.
    Source: FlashAttention (arXiv:2205.14135), algorithm 1.
    """
    for start, stop in tiles(memory.n_rows, tile_q):
        memory.store("O", start, torch.zeros(stop - start, memory.head_dim))
        memory.store("l", start, torch.zeros(stop - start))
        memory.store("m", start, torch.full((stop - start,), -torch.inf))
    for first_key, last_key in tiles(memory.n_rows, tile_kv):
        keys, values = memory.load("K", first_key, last_key), memory.load("V", first_key, last_key)
        for start, stop in tiles(memory.n_rows, tile_q):
            if is_causal and stop <= first_key:
                continue
            queries, output = memory.load("Q", start, stop), memory.load("O", start, stop)
            total, maximum = memory.load("l", start, stop), memory.load("m", start, stop)
            scores = tile_scores(queries, keys, start, first_key, is_causal)
            maximum, total, output = online_softmax(
                maximum, total, total[:, None] * output.float(), scores, values
            )
            memory.store("O", start, output / total[:, None])
            memory.store("l", start, total)
            memory.store("m", start, maximum)


def flash_attention_2(memory: Memory, tile_q: int, tile_kv: int, is_causal: bool = False) -> None:
    """Tile by tile of Q, go through all tiles of K and V, and store the output once.

    O is divided by its total at the end. Beside it goes L, the logarithm of the sum of exp(score),
    from which the backward pass has the weights again. If is_causal, tiles of keys that no query of
    the tile sees are left out.
    Raises: labkit.models.counted_memory.SramOverflow if the tiles do not fit.
    Source: FlashAttention-2 (arXiv:2307.08691), algorithm 1.
    """
    for start, stop in tiles(memory.n_rows, tile_q):
        queries = memory.load("Q", start, stop)
        output, total = torch.zeros(stop - start, memory.head_dim), torch.zeros(stop - start)
        maximum = torch.full((stop - start,), -torch.inf)
        for first_key, last_key in tiles(memory.n_rows, tile_kv):
            if is_causal and stop <= first_key:
                break
            keys = memory.load("K", first_key, last_key)
            values = memory.load("V", first_key, last_key)
            scores = tile_scores(queries, keys, start, first_key, is_causal)
            maximum, total, output = online_softmax(maximum, total, output, scores, values)
        memory.store("O", start, output / total[:, None])
        memory.store("L", start, maximum + total.log())


def tile_sizes(sram_bytes: int, head_dim: int, bytes_per_number: int) -> tuple[int, int]:
    """Rows of a tile of Q and of a tile of K: the most for which four tiles fit on the chip.

    Tiles of Q, K, V and O lie there, so a tile of K has a quarter of the chip; the paper rounds up,
    which may be a little more than fits, and this rounds down. A tile of Q has as many rows as one
    of K, but not more than head_dim, so that the scores of a pair of tiles are no more numbers than
    a tile of K.
    Raises: ValueError if not even one row of each fits.
    Source: FlashAttention (arXiv:2205.14135), algorithm 1, line 1, where M is in numbers.
    """
    tile_kv = sram_bytes // (4 * head_dim * bytes_per_number)
    if tile_kv < 1:
        row_bytes = head_dim * bytes_per_number
        raise ValueError(f"four rows of {row_bytes:,} bytes do not fit into {sram_bytes:,} bytes")
    return min(tile_kv, head_dim), tile_kv


def standard_traffic(n_rows: int, head_dim: int) -> Traffic:
    """Of `standard_attention`: everything once for each step that needs or makes it."""
    matrices, squares = n_rows * head_dim, n_rows**2
    return Traffic(reads=3 * matrices + 2 * squares, writes=matrices + 2 * squares)


def flash_1_traffic(n_rows: int, head_dim: int, tile_kv: int) -> Traffic:
    """Of `flash_attention_1`, the first writing of O, l and m included.

    The rows of a tile of Q do not matter.
    """
    n_turns = ceil(n_rows / tile_kv)
    return Traffic(
        reads=2 * n_rows * head_dim + n_turns * n_rows * (2 * head_dim + 2),
        writes=(n_turns + 1) * n_rows * (head_dim + 2),
    )


def flash_2_traffic(n_rows: int, head_dim: int, tile_q: int) -> Traffic:
    """Of `flash_attention_2`; the rows of a tile of K do not matter."""
    n_turns = ceil(n_rows / tile_q)
    return Traffic(
        reads=n_rows * head_dim + n_turns * 2 * n_rows * head_dim,
        writes=n_rows * head_dim + n_rows,
    )


def standard_flops(n_rows: int, head_dim: int) -> int:
    """Operations of `standard_attention`, without a scale.

    A product of two rows of D numbers is 2 D - 1 operations, and so on for columns of N; the
    softmax is five for each score: largest, difference, exponential, sum, quotient.
    """
    scores = n_rows**2 * (2 * head_dim - 1)
    softmax = 5 * n_rows**2
    output = n_rows * head_dim * (2 * n_rows - 1)
    return scores + softmax + output


def flash_flops(n_rows: int, head_dim: int, tile_kv: int) -> int:
    """Operations of `flash_attention_1`, without a scale.

    As in `standard_flops`, but four for each score (no quotient), sums over the rows of a tile of
    K, and for every row of Q in every turn 4 D + 7 to merge what the tile gives with what is there.
    """
    n_turns = ceil(n_rows / tile_kv)
    scores = n_rows**2 * (2 * head_dim - 1)
    softmax = 4 * n_rows**2
    output = 2 * n_rows**2 * head_dim - n_turns * n_rows * head_dim
    merging = n_turns * n_rows * (4 * head_dim + 7)
    return scores + softmax + output + merging


def run_times(
    n_flops: float, n_bytes: float, flops_per_s: float, bytes_per_s: float
) -> tuple[float, float]:
    """Seconds if computing and moving follow each other, and if they overlap perfectly."""
    computing, moving = n_flops / flops_per_s, n_bytes / bytes_per_s
    return computing + moving, max(computing, moving)


def least_tile(n_rows: int, head_dim: int) -> int | None:
    """The fewest rows of a tile of K with which FlashAttention-1 moves less than standard does.

    None if no number of rows up to n_rows is enough.
    """
    standard = sum(standard_traffic(n_rows, head_dim))
    for tile_kv in range(1, n_rows + 1):
        if sum(flash_1_traffic(n_rows, head_dim, tile_kv)) < standard:
            return tile_kv
    return None
