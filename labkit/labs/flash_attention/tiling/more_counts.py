"""Closed forms that no exercise asks for: with a causal mask, and of the way back."""

from labkit.labs.flash_attention.tiling.counts import Traffic
from labkit.models.counted_memory import tiles


def causal_flash_1_traffic(n_rows: int, head_dim: int, tile_q: int, tile_kv: int) -> Traffic:
    """Of `flash_attention_1` with is_causal."""
    n_met, _ = _rows_met(n_rows, tile_q, tile_kv)
    reads = 2 * n_rows * head_dim + n_met * (2 * head_dim + 2)
    return Traffic(reads, (n_rows + n_met) * (head_dim + 2))


def causal_flash_2_traffic(n_rows: int, head_dim: int, tile_q: int, tile_kv: int) -> Traffic:
    """Of `flash_attention_2` with is_causal."""
    _, n_met = _rows_met(n_rows, tile_q, tile_kv)
    return Traffic((n_rows + 2 * n_met) * head_dim, n_rows * (head_dim + 1))


def standard_backward_traffic(n_rows: int, head_dim: int) -> Traffic:
    """Of `backward.standard_backward`."""
    return Traffic(5 * n_rows * (n_rows + head_dim), n_rows * (2 * n_rows + 3 * head_dim))


def flash_1_backward_traffic(n_rows: int, head_dim: int, tile_kv: int) -> Traffic:
    """Of `backward.flash_backward_1`, the first writing of dQ, dK and dV included."""
    n_turns = -(-n_rows // tile_kv)
    reads = n_rows * (2 * head_dim + n_turns * (4 * head_dim + 2))
    return Traffic(reads, (5 + n_turns) * n_rows * head_dim)


def flash_2_backward_traffic(n_rows: int, head_dim: int, tile_kv: int) -> Traffic:
    """Of `backward.flash_backward_2`, as printed: D, then the turns; dQ is written first."""
    n_turns = -(-n_rows // tile_kv)
    reads = n_rows * (4 * head_dim + n_turns * (4 * head_dim + 2))
    return Traffic(reads, n_rows * ((n_turns + 3) * head_dim + 1))


def _rows_met(n_rows: int, tile_q: int, tile_kv: int) -> tuple[int, int]:
    """Rows of Q, and of K, over all pairs of tiles in which a query sees a key."""
    met = [
        (last - first, last_key - first_key)
        for first_key, last_key in tiles(n_rows, tile_kv)
        for first, last in tiles(n_rows, tile_q)
        if first_key < last
    ]
    return sum(n_queries for n_queries, _ in met), sum(n_keys for _, n_keys in met)
