"""What attention of one head moves and computes, in closed form: N rows of D numbers.

Traffic is counted in numbers; its bytes follow from the number format. All are for every length,
also where the last tile is smaller, and without a mask; `more_counts` has the others.
"""

from math import ceil
from typing import NamedTuple


class Traffic(NamedTuple):
    """Numbers that go from memory to the chip, and back."""

    reads: int
    writes: int

    @property
    def total(self) -> int:
        return self.reads + self.writes


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
