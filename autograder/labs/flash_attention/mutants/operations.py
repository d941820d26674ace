"""Wrong answers of lab 07 on operations, seconds and the least tile."""

_PRODUCTS = "wider_rows_cost_two_products"
_SOFTMAX = "each_score_costs_its_softmax"
_BOTH = (_PRODUCTS, _SOFTMAX)

STANDARD = [
    ("the matrix products alone", (_SOFTMAX,), "return scores + softmax + output",
     "return scores + output"),
    ("additions up to the last product", _BOTH, "return scores + softmax + output",
     "return 4 * n_rows**2 * head_dim + softmax"),
    ("D additions for D products", (_SOFTMAX,), "(2 * head_dim - 1)", "2 * head_dim"),
    ("N additions for N products", (_PRODUCTS,), "(2 * n_rows - 1)", "2 * n_rows"),
    ("multiplications alone", _BOTH, "return scores + softmax + output",
     "return 2 * n_rows**2 * head_dim + softmax"),
    ("a multiplication with its addition is one", _BOTH, "return scores + softmax + output",
     "return (scores + output) // 2 + softmax"),
    ("one product", (_PRODUCTS,), "return scores + softmax + output",
     "return scores + softmax"),
    ("four for each score", (_SOFTMAX,), "5 * n_rows**2", "4 * n_rows**2"),
    ("six for each score, with a scale", (_SOFTMAX,), "5 * n_rows**2", "6 * n_rows**2"),
    ("softmax of a row", (_SOFTMAX,), "5 * n_rows**2", "5 * n_rows"),
    ("softmax of D numbers", _BOTH, "5 * n_rows**2", "5 * n_rows * head_dim"),
    ("in billions", _BOTH, "return scores + softmax + output",
     "return (scores + softmax + output) / 1e9"),
]  # fmt: skip

_PAIRS = "pairs_cost_the_same_in_any_tiles"
_MERGES = "every_turn_merges_every_row"
_UP = "a_tile_not_full_is_merged_too"
_SUM = "return scores + softmax + output + merging"
_CEIL = "n_turns = ceil(n_rows / tile_kv)"

FLASH = [
    ("five for each score", (_PAIRS,), "4 * n_rows**2", "5 * n_rows**2"),
    ("no softmax", (_PAIRS,), _SUM, "return scores + output + merging"),
    ("D additions for D products", (_PAIRS,), "(2 * head_dim - 1)", "2 * head_dim"),
    ("one product", (_PAIRS, _MERGES), _SUM, "return scores + softmax + merging"),
    ("multiplications alone", (_PAIRS,), "return scores", "scores //= 2\n    return scores"),
    ("sums over all keys", (_PAIRS, _MERGES), "n_turns * n_rows * head_dim\n",
     "n_rows * head_dim\n"),
    ("merging is free", (_MERGES,), _SUM, "return scores + softmax + output"),
    ("merging once for a row", (_PAIRS, _MERGES), "n_turns * n_rows * (4", "n_rows * (4"),
    ("O merged, l and m not", (_MERGES,), "(4 * head_dim + 7)", "4 * head_dim"),
    ("l and m merged, O not", (_MERGES,), "(4 * head_dim + 7)", "7"),
    ("O multiplied and added alone", (_MERGES,), "(4 * head_dim + 7)", "(2 * head_dim + 7)"),
    ("as the standard does", (_PAIRS, _MERGES, _UP), _SUM,
     "return standard_flops(n_rows, head_dim)"),
    ("turns rounded down", (_UP,), _CEIL, "n_turns = n_rows // tile_kv"),
    ("turns not rounded", (_UP,), _CEIL, "n_turns = n_rows / tile_kv"),
    ("one turn", (_PAIRS, _MERGES, _UP), _CEIL, "n_turns = 1"),
]  # fmt: skip

_AFTER = "one_after_the_other_adds_up"
_OVERLAP = "overlapping_work_takes_as_long_as_the_slower"
_TIMES = "computing, moving = n_flops / flops_per_s, n_bytes / bytes_per_s"
_PAIR = "return computing + moving, max(computing, moving)"

SECONDS = [
    ("4 bytes once more", (_AFTER, _OVERLAP), "n_bytes /", "4 * n_bytes /"),
    ("speed over work", (_AFTER, _OVERLAP), _TIMES,
     "computing, moving = flops_per_s / n_flops, bytes_per_s / n_bytes"),
    ("speeds swapped", (_AFTER, _OVERLAP), _TIMES,
     "computing, moving = n_flops / bytes_per_s, n_bytes / flops_per_s"),
    ("the pair swapped", (_AFTER, _OVERLAP), _PAIR,
     "return max(computing, moving), computing + moving"),
    ("the slower, twice", (_AFTER,), _PAIR, "return (max(computing, moving),) * 2"),
    ("the mean", (_AFTER,), "return computing + moving", "return (computing + moving) / 2"),
    ("the sum, twice", (_OVERLAP,), _PAIR, "return (computing + moving,) * 2"),
    ("the faster", (_OVERLAP,), "max(", "min("),
    ("always limited by memory", (_OVERLAP,), "max(computing, moving)", "moving"),
    ("always limited by computing", (_OVERLAP,), "max(computing, moving)", "computing"),
    ("half the sum if they overlap", (_OVERLAP,), "max(computing, moving)",
     "(computing + moving) / 2"),
    ("moving alone", (_AFTER,), "return computing + moving", "return moving"),
    ("in milliseconds", (_AFTER, _OVERLAP), _PAIR,
     "return 1e3 * (computing + moving), 1e3 * max(computing, moving)"),
    ("computing and moving", (_AFTER, _OVERLAP), _PAIR, "return computing, moving"),
]  # fmt: skip

_LEAST = "the_least_tile_that_moves_less"
_ENDS = "a_tile_may_have_all_rows_or_not_exist"
_TIE = "as_much_is_not_less"
_DEF = "def least_tile(n_rows, head_dim):\n"
_RANGE = "range(1, n_rows + 1)"
_TEST = "sum(flash_1_traffic(n_rows, head_dim, tile_kv)) < standard"

LEAST = [
    ("as much will do", (_TIE,), ") < standard", ") <= standard"),
    ("tiles of all rows left out", (_ENDS,), _RANGE, "range(1, n_rows)"),
    ("all rows if none is enough", (_ENDS,), "return None", "return n_rows"),
    ("0 if none is enough", (_ENDS,), "return None", "return 0"),
    ("not below head_dim", (_LEAST,), _RANGE, "range(head_dim, n_rows + 1)"),
    ("the first writing left out", (_LEAST, _ENDS, _TIE), _TEST,
     "sum(flash_1_traffic(n_rows, head_dim, tile_kv)) - n_rows * (head_dim + 2) < standard"),
    ("reads alone", (_LEAST, _TIE), _TEST,
     "flash_1_traffic(n_rows, head_dim, tile_kv).reads < standard_traffic(n_rows, head_dim).reads"),
    ("a rule of thumb", (_LEAST, _ENDS, _TIE), "    return None",
     f"    return None\n\n\n{_DEF}    return (3 * head_dim + 4) // 4"),
    ("the rule of thumb, rounded up", (_LEAST, _ENDS, _TIE), "    return None",
     f"    return None\n\n\n{_DEF}    return ceil((3 * head_dim + 4) / 4)"),
    ("the largest that moves more", (_LEAST, _ENDS, _TIE), "return tile_kv", "return tile_kv - 1"),
    ("the most rows", (_LEAST, _TIE), _RANGE, "range(n_rows, 0, -1)"),
    ("the other order", (_LEAST, _ENDS, _TIE), "flash_1_traffic", "flash_2_traffic"),
]  # fmt: skip
