"""The operations of FlashAttention, by a formula that the notebook is given."""


def flash_flops(n_rows: int, head_dim: int, tile_kv: int) -> int:
    """Operations of the student's `flash_attention_1`, without the scale.

    They are counted as in `standard_flops`, with three changes. The softmax takes four operations
    for each score: there is no quotient. Each turn of the outer loop multiplies weights with the
    values of one tile only: a tile of n rows takes n - 1 additions for each number of the result.
    In each turn, every row of Q takes 4 head_dim + 7 operations more to merge the result of the
    tile with the state. The last tile may be smaller.
    """
    in_all_pairs = n_rows * n_rows * (4 * head_dim + 3)
    rows_in_all_turns = -(-n_rows // tile_kv) * n_rows
    return in_all_pairs + rows_in_all_turns * (3 * head_dim + 7)
