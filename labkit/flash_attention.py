"""Attention, and the numbers that it moves between memory and chip.

The three attention functions take a `labkit.models.counted_memory.Memory` with the queries Q, keys
K and values V of one head: N rows of D numbers each. They store softmax(Q K^T / sqrt(D)) V in O.
The memory counts what they load and store. The other functions compute these counts by formulas,
for attention without a mask and for every length, also where the last tile is smaller.
"""

from math import ceil

import torch
from torch import Tensor

from labkit.bridge.in_triton import tl
from labkit.models.counted_memory import Memory, Traffic, tile_scores, tiles


def online_softmax(
    maximum: Tensor, total: Tensor, output: Tensor, scores: Tensor, values: Tensor
) -> tuple[Tensor, Tensor, Tensor]:
    """Update the softmax state of some queries with one more tile of keys.

    The state covers the keys so far. For each query, maximum is its largest
    score and total is the sum of exp(score - maximum). output is the sum of
    exp(score - maximum) times the value of the key. It is not divided by the
    total. Before the first key they are -inf, 0 and 0.
    A score of -inf belongs to a key that the query does not see; it adds
    nothing. The state of a query that has seen no key at all stays -inf, 0
    and 0: avoid -inf - (-inf), which is NaN.
    Shapes: maximum and total (Q,), output (Q D), scores (Q S) and values
    (S D) of the new keys. Returns the new maximum, total and output. The
    state and the scores are float32; convert values of another float type.
    Source: Milakov and Gimelshein (arXiv:1805.02867), algorithm 3.
    """
    new_maximum = torch.maximum(maximum, scores.amax(dim=-1))
    level = new_maximum.where(new_maximum.isfinite(), 0)
    rescaled = (maximum - level).exp()
    weights = (scores - level[:, None]).exp()
    new_total = rescaled * total + weights.sum(dim=-1)
    return new_maximum, new_total, rescaled[:, None] * output + weights @ values.float()


def standard_attention(memory: Memory, is_causal: bool = False) -> None:
    """Compute attention with scores S and weights P stored in memory.

    There are three steps, and each works on whole matrices. The first loads
    Q and K, and stores the scores in S (`tile_scores` with first rows 0: the
    whole matrix is one tile). The second loads S, and stores its softmax over
    the keys in P. The third loads P and V, and stores P V in O.
    If is_causal, no query sees a key that comes after it.
    Source: FlashAttention (arXiv:2205.14135), algorithm 0.
    """
    scores = tile_scores(memory.load("Q"), memory.load("K"), 0, 0, is_causal)
    memory.store("S", 0, scores)
    memory.store("P", 0, memory.load("S").float().softmax(dim=-1))
    memory.store("O", 0, memory.load("P").float() @ memory.load("V").float())


def flash_attention_1(
    memory: Memory,
    tile_q: int,
    tile_kv: int,
    is_causal: bool = False,
) -> None:
    """Compute attention with tiles of K and V in the outer loop.

    Before the loops, store the first values, tile_q rows at a time: 0 in O,
    0 in l (totals) and -inf in m (maxima). The outer loop loads a tile of K
    and a tile of V, tile_kv rows each. For each tile of Q, tile_q rows, the
    inner loop loads Q, O, l and m, updates the state with `online_softmax`,
    and stores O, l and m. In memory, O is always divided by its total l, and
    `online_softmax` wants it undivided: change it after each load and before
    each store.
    If is_causal, no query sees a later key. Then load and store nothing for
    a pair of tiles in which no query sees any key.
    Raises: SramOverflow, from memory, if the tiles do not fit on the chip.
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


def flash_attention_2(
    memory: Memory,
    tile_q: int,
    tile_kv: int,
    is_causal: bool = False,
) -> None:
    """Compute attention with tiles of Q in the outer loop.

    The outer loop loads a tile of Q, tile_q rows, and begins with an empty
    state. The inner loop loads a tile of K and a tile of V, tile_kv rows
    each, and updates the state with `online_softmax`. After the inner loop,
    store the rows of O, divided by their totals, and the numbers of L. L is
    the logarithm of the sum of exp(score), which is m + log(l); the backward
    pass needs it. Nothing else is stored.
    If is_causal, no query sees a later key. Then load nothing for a pair of
    tiles in which no query sees any key.
    Raises: SramOverflow, from memory, if the tiles do not fit on the chip.
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


def tile_sizes(
    sram_bytes: int,
    head_dim: int,
    bytes_per_number: int,
) -> tuple[int, int]:
    """Return tile_q and tile_kv: the most rows with which four tiles fit.

    Tiles of Q, K, V and O lie on the chip together, so a tile of K may take
    a quarter of sram_bytes. A row has head_dim numbers of bytes_per_number
    bytes each. Round down. (The paper rounds up, and the result may not
    fit.) tile_q is tile_kv, but at most head_dim. So the scores of a pair of
    tiles are no more numbers than a tile of K.
    Raises: ValueError if four tiles of one row do not fit.
    Source: FlashAttention (arXiv:2205.14135), algorithm 1, line 1, where M
    is in numbers.
    """
    tile_kv = sram_bytes // (4 * head_dim * bytes_per_number)
    if tile_kv < 1:
        row_bytes = head_dim * bytes_per_number
        raise ValueError(f"four rows of {row_bytes:,} bytes do not fit into {sram_bytes:,} bytes")
    return min(tile_kv, head_dim), tile_kv


def standard_traffic(n_rows: int, head_dim: int) -> Traffic:
    """Count the numbers that `standard_attention` reads and writes.

    Each step reads all its matrices from memory, and writes its result.
    Returns `Traffic(reads, writes)`, or any pair of two numbers.
    """
    matrices, squares = n_rows * head_dim, n_rows**2
    return Traffic(reads=3 * matrices + 2 * squares, writes=matrices + 2 * squares)


def flash_1_traffic(n_rows: int, head_dim: int, tile_kv: int) -> Traffic:
    """Count the numbers that `flash_attention_1` reads and writes.

    Count without a mask, and with the first store of O, l and m. n_rows may
    be no multiple of tile_kv: then the last turn has a smaller tile. The size
    of the tiles of Q does not change the counts.
    """
    n_turns = ceil(n_rows / tile_kv)
    return Traffic(
        reads=2 * n_rows * head_dim + n_turns * n_rows * (2 * head_dim + 2),
        writes=(n_turns + 1) * n_rows * (head_dim + 2),
    )


def flash_2_traffic(n_rows: int, head_dim: int, tile_q: int) -> Traffic:
    """Count the numbers that `flash_attention_2` reads and writes.

    Count without a mask. n_rows may be no multiple of tile_q. The size of
    the tiles of K does not change the counts.
    """
    n_turns = ceil(n_rows / tile_q)
    return Traffic(
        reads=n_rows * head_dim + n_turns * 2 * n_rows * head_dim,
        writes=n_rows * head_dim + n_rows,
    )


def standard_flops(n_rows: int, head_dim: int) -> int:
    """Count the operations of `standard_attention`, without the scale.

    The product of two vectors of n numbers takes 2 n - 1 operations: n
    multiplications and n - 1 additions. The scores are products of vectors
    of head_dim numbers, the outputs of vectors of n_rows numbers. The
    softmax takes five operations for each score: one each for the maximum,
    the difference, the exponential, the sum and the quotient.
    """
    scores = n_rows**2 * (2 * head_dim - 1)
    softmax = 5 * n_rows**2
    output = n_rows * head_dim * (2 * n_rows - 1)
    return scores + softmax + output


def run_times(
    n_flops: float, n_bytes: float, flops_per_s: float, bytes_per_s: float
) -> tuple[float, float]:
    """Return two durations in seconds, without and with overlap.

    First: computing and moving follow each other. Second: both begin at the
    same time and overlap perfectly.
    """
    computing, moving = n_flops / flops_per_s, n_bytes / bytes_per_s
    return computing + moving, max(computing, moving)


def merge(
    state_a: tuple[Tensor, Tensor, Tensor], state_b: tuple[Tensor, Tensor, Tensor]
) -> tuple[Tensor, Tensor, Tensor]:
    """Merge the softmax states of the same queries over two sets of keys.

    A state is maximum, total and output, as `online_softmax` returns them:
    the output is not divided by the total. Returns the state over the keys of
    both sets.
    A query that sees no key of a set has -inf, 0 and 0 there, and the other
    state is the result. If it sees no key in either set, the result is -inf,
    0 and 0: avoid -inf - (-inf), which is NaN.
    Shapes: maximum and total (Q,), output (Q D), all of them float32.
    Source: Milakov and Gimelshein (arXiv:1805.02867), section 3.1.
    """
    (maximum_a, total_a, output_a), (maximum_b, total_b, output_b) = state_a, state_b
    maximum = torch.maximum(maximum_a, maximum_b)
    level = maximum.where(maximum.isfinite(), 0)
    factor_a, factor_b = (maximum_a - level).exp(), (maximum_b - level).exp()
    total = factor_a * total_a + factor_b * total_b
    return maximum, total, factor_a[:, None] * output_a + factor_b[:, None] * output_b


def decode_traffic(
    n_tokens: int,
    head_dim: int,
    group_size: int,
    n_parts: int,
) -> Traffic:
    """Count the numbers that attention of one new token reads and writes.

    Count for one KV head. Its group has group_size query heads, with a query
    each. The cache has n_tokens keys and values, in n_parts parts. A program
    for each part reads the queries of the group. It reads the keys and values
    of its part once. A part without keys counts like the others.
    If there is one part, the program stores the outputs, and nothing else.
    If there are more, each stores its state: maximum, total and output of
    each query. At the end one program reads all states, merges them, and
    stores the outputs.
    Returns `Traffic(reads, writes)`, or any pair of two numbers.
    """
    queries = group_size * head_dim
    states = n_parts * group_size * (head_dim + 2) if n_parts > 1 else 0
    reads = 2 * n_tokens * head_dim + n_parts * queries + states
    return Traffic(reads=reads, writes=queries + states)


def flash_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, n_rows, scale,
    IS_CAUSAL: tl.constexpr, HEAD_DIM: tl.constexpr,
    TILE_Q: tl.constexpr, TILE_KV: tl.constexpr,
):  # fmt: skip
    """Compute attention of one head on a GPU: one program for a tile of queries.

    This is a kernel in Triton: it uses no NumPy and no PyTorch. q_ptr, k_ptr,
    v_ptr and o_ptr point to Q, K, V and O in memory. Each has n_rows rows of
    HEAD_DIM numbers in float16, row after row. scale is 1 / sqrt(HEAD_DIM).
    TILE_Q and TILE_KV are the rows of a tile. n_rows need not be a multiple of
    them.
    Program i, `tl.program_id(0)`, stores rows i · TILE_Q to (i + 1) · TILE_Q - 1
    of O. It goes through the tiles of K and V in a loop. Maxima, totals and
    outputs are float32.
    Load and store nothing after the last row of an array.
    If IS_CAUSAL, no query sees a later key. Then do not load tiles of K and V
    whose keys no query of the program sees.
    Source: FlashAttention-2 (arXiv:2307.08691), algorithm 1.
    """
    q_row, column = tl.program_id(0) * TILE_Q + tl.arange(0, TILE_Q), tl.arange(0, HEAD_DIM)
    place = q_row[:, None] * HEAD_DIM + column[None, :]
    is_query = (q_row < n_rows)[:, None]
    queries = tl.load(q_ptr + place, mask=is_query, other=0.0)
    row_max = tl.full((TILE_Q,), float("-inf"), tl.float32)
    row_sum = tl.zeros((TILE_Q,), tl.float32)
    output = tl.zeros((TILE_Q, HEAD_DIM), tl.float32)
    stop = n_rows
    if IS_CAUSAL:
        stop = tl.minimum(n_rows, (tl.program_id(0) + 1) * TILE_Q)
    for start in range(0, stop, TILE_KV):
        k_row = start + tl.arange(0, TILE_KV)
        key_place = k_row[:, None] * HEAD_DIM + column[None, :]
        is_key = (k_row < n_rows)[:, None]
        keys = tl.load(k_ptr + key_place, mask=is_key, other=0.0)
        values = tl.load(v_ptr + key_place, mask=is_key, other=0.0)
        is_seen = (k_row < n_rows)[None, :]
        if IS_CAUSAL:
            is_seen = is_seen & (k_row[None, :] <= q_row[:, None])
        scores = tl.where(is_seen, tl.dot(queries, tl.trans(keys)) * scale, float("-inf"))
        new_max = tl.maximum(row_max, tl.max(scores, axis=1))
        rescaled = tl.exp(row_max - new_max)
        weights = tl.exp(scores - new_max[:, None])
        row_sum = rescaled * row_sum + tl.sum(weights, axis=1)
        output = rescaled[:, None] * output + tl.dot(weights.to(tl.float16), values)
        row_max = new_max
    tl.store(o_ptr + place, (output / row_sum[:, None]).to(tl.float16), mask=is_query)
