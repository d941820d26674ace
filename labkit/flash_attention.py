"""Attention and what it moves: the same numbers, computed with and without the large matrices.

Every function here works on a `labkit.models.counted_memory.Memory`. It loads tiles of the queries
Q, keys K and values V of one head, N rows of D numbers each, and stores softmax(Q K^T / sqrt(D)) V
in O. What it loads and stores is counted.
"""

import torch
from torch import Tensor

from labkit.models.counted_memory import Memory, tile_scores, tiles


def standard_attention(memory: Memory, is_causal: bool = False) -> None:
    """Write the scores S, the weights P and the output O, each as a whole.

    Each matrix is loaded once for each step that needs it: Q and K, then S, then P and V.
    Source: FlashAttention (arXiv:2205.14135), algorithm 0.
    """
    scores = tile_scores(memory.load("Q"), memory.load("K"), 0, 0, is_causal)
    memory.store("S", 0, scores)
    memory.store("P", 0, memory.load("S").float().softmax(dim=-1))
    memory.store("O", 0, memory.load("P").float() @ memory.load("V").float())


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
