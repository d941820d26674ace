"""Wrong answers of lab 07: counts as they go wrong; the answer cells have a module of their own."""

from autograder.labs.flash_attention.mutants import operations as flash_operations
from autograder.labs.flash_attention.mutants.answers import ANSWERS
from autograder.labs.mutants import Mutant

_FOUR = "four_tiles_fill_the_chip"
_WIDER = "wider_numbers_make_shorter_tiles"
_WHOLE = "a_row_fits_whole_or_not_at_all"
_SCORES = "scores_take_no_more_than_a_tile_of_keys"
_REFUSED = "a_chip_without_room_is_refused"
_TILE = "tile_kv = sram_bytes // (4 * head_dim * bytes_per_number)"
_SIZES = "return min(tile_kv, head_dim), tile_kv"

TILES = [
    ("numbers for bytes", (_WIDER,), " * bytes_per_number)", ")"),
    ("4 bytes, whatever is asked", (_FOUR, _WIDER, _REFUSED), "* bytes_per_number)",
     "* 4)"),
    ("2 bytes, whatever is asked", (_FOUR, _WIDER, _REFUSED), "* bytes_per_number)",
     "* 2)"),
    ("multiplied by the width", (_WIDER, _WHOLE), _TILE,
     "tile_kv = sram_bytes * bytes_per_number // (4 * head_dim)"),
    ("the width taken twice", (_WIDER, _SCORES), "* bytes_per_number)",
     "* bytes_per_number * bytes_per_number)"),
    ("bits", (_FOUR, _SCORES, _REFUSED), "* bytes_per_number)", "* bytes_per_number * 8)"),
    ("three tiles", (_FOUR, _REFUSED), "(4 * head_dim", "(3 * head_dim"),
    ("three tiles, with room for four rows", (_FOUR,), _SIZES,
     "tile_kv = sram_bytes // (3 * head_dim * bytes_per_number)\n    " + _SIZES),
    ("rows of one number", (_FOUR, _WHOLE, _REFUSED), "4 * head_dim *", "4 *"),
    ("one tile", (_FOUR, _REFUSED), "(4 * head_dim", "(head_dim"),
    ("rounded up, as the paper prints it", (_WHOLE, _REFUSED), _TILE,
     "tile_kv = -(-sram_bytes // (4 * head_dim * bytes_per_number))"),
    ("rounded to the nearest", (_WHOLE, _REFUSED), _TILE,
     "tile_kv = round(sram_bytes / (4 * head_dim * bytes_per_number))"),
    ("not rounded", (_WHOLE,), _TILE, _TILE.replace("//", "/")),
    ("rounded up where there is room", (_WHOLE,), _SIZES,
     f"tile_kv = ceil(sram_bytes / (4 * head_dim * bytes_per_number))\n    {_SIZES}"),
    ("min with head_dim forgotten", (_SCORES,), _SIZES, "return tile_kv, tile_kv"),
    ("always head_dim rows of Q", (_SCORES, _REFUSED), _SIZES, "return head_dim, tile_kv"),
    ("the larger of the two", (_SCORES, _REFUSED), "min(", "max("),
    ("tile_kv limited instead", (_FOUR, _WIDER, _WHOLE, _SCORES), _SIZES,
     "return tile_kv, min(tile_kv, head_dim)"),
    ("both limited", (_FOUR, _WIDER, _WHOLE), _SIZES, "return (min(tile_kv, head_dim),) * 2"),
    ("head_dim in bytes", (_SCORES,), "min(tile_kv, head_dim)",
     "min(tile_kv, head_dim * bytes_per_number)"),
    ("no rows at all", (_REFUSED,), "if tile_kv < 1:", "if tile_kv < 0:"),
    ("a row in any case", (_REFUSED,), _TILE, f"tile_kv = max(1, {_TILE[10:]})"),
    ("a single row is refused too", (_REFUSED,), "tile_kv < 1", "tile_kv <= 1"),
]  # fmt: skip

_S_READS = "standard_reads_five_matrices"
_S_WRITES = "standard_writes_three_matrices"
_READS, _WRITES = "reads=3 * matrices + 2 * squares", "writes=matrices + 2 * squares"
_RETURN = "return Traffic(reads=3 * matrices + 2 * squares, writes=matrices + 2 * squares)"

STANDARD = [
    ("in bytes", (_S_READS, _S_WRITES), "n_rows * head_dim, n_rows**2",
     "4 * n_rows * head_dim, 4 * n_rows**2"),
    ("scores never leave the chip", (_S_READS, _S_WRITES), _RETURN,
     "return Traffic(3 * matrices, matrices)"),
    ("S and P read once together", (_S_READS,), _READS, "reads=3 * matrices + squares"),
    ("S and P not read", (_S_READS,), _READS, "reads=3 * matrices"),
    ("Q, K and V not read", (_S_READS,), _READS, "reads=2 * squares"),
    ("O read too", (_S_READS,), "reads=3", "reads=4"),
    ("P not written", (_S_WRITES,), _WRITES, "writes=matrices + squares"),
    ("O not written", (_S_WRITES,), _WRITES, "writes=2 * squares"),
    ("S and P not written", (_S_WRITES,), _WRITES, "writes=matrices"),
    ("reads and writes swapped", (_S_READS, _S_WRITES), _RETURN,
     "return Traffic(matrices + 2 * squares, 3 * matrices + 2 * squares)"),
    ("scores as large as a row", (_S_READS, _S_WRITES), "n_rows**2", "n_rows * head_dim**2"),
    ("both ways together", (_S_READS, _S_WRITES), _RETURN, "return 4 * matrices + 4 * squares"),
]  # fmt: skip

_F1_READS = "first_order_reads_its_state_in_every_turn"
_F1_WRITES = "first_order_writes_its_state_in_every_turn"
_F1_FIRST = "first_order_writes_before_it_reads"
_F1_UP = "first_order_takes_a_turn_for_a_tile_not_full"
_F1_MOVES = (_F1_READS, _F1_WRITES, _F1_FIRST)
_CEIL = "ceil(n_rows / tile_kv)"
_STATE, _KEPT = "n_turns * n_rows * (2 * head_dim + 2)", "(n_turns + 1) * n_rows * (head_dim + 2)"

FLASH_1 = [
    ("the slide: everything once", (_F1_READS, _F1_WRITES, _F1_FIRST, _F1_UP), f"n_turns = {_CEIL}",
     "return Traffic(n_rows * (4 * head_dim + 2), n_rows * (head_dim + 2))\n    n_turns = 1"),
    ("reads without the turns", (_F1_READS,), _STATE, "n_rows * (2 * head_dim + 2)"),
    ("writes without the turns", (_F1_WRITES,), _KEPT, "2 * n_rows * (head_dim + 2)"),
    ("l and m not read", (_F1_READS,), "(2 * head_dim + 2)", "2 * head_dim"),
    ("one of l and m", (_F1_READS,), "(2 * head_dim + 2)", "(2 * head_dim + 1)"),
    ("O not read", (_F1_READS,), "(2 * head_dim + 2)", "(head_dim + 2)"),
    ("K and V read in every turn", (_F1_READS,),
     "2 * n_rows * head_dim + n_turns * n_rows * (2 * head_dim + 2)",
     "n_turns * n_rows * (4 * head_dim + 2)"),
    ("K and V not read", (_F1_READS,), "2 * n_rows * head_dim + ", ""),
    ("V not read", (_F1_READS,), "2 * n_rows * head_dim + ", "n_rows * head_dim + "),
    ("l and m not written", (_F1_WRITES, _F1_FIRST), "(head_dim + 2),\n", "head_dim,\n"),
    ("O not written", (_F1_WRITES, _F1_FIRST), "(head_dim + 2),\n", "2,\n"),
    ("O written once", (_F1_WRITES, _F1_FIRST), _KEPT,
     "(n_turns + 1) * n_rows * 2 + n_rows * head_dim"),
    ("the first writing missed", (_F1_FIRST,), "(n_turns + 1)", "n_turns"),
    ("the first writing of l and m missed", (_F1_FIRST,), _KEPT,
     "n_turns * n_rows * (head_dim + 2) + n_rows * head_dim"),
    ("turns rounded down", (_F1_UP,), _CEIL, "n_rows // tile_kv"),
    ("turns not rounded", (_F1_UP,), _CEIL, "n_rows / tile_kv"),
    ("turns rounded to the nearest", (_F1_UP,), _CEIL, "round(n_rows / tile_kv)"),
    ("a turn too many", (_F1_READS, _F1_FIRST, _F1_UP), _CEIL, "n_rows // tile_kv + 1"),
    ("rows of a tile for turns", (*_F1_MOVES, _F1_UP), _CEIL, "tile_kv"),
    ("turns of head_dim rows", (_F1_READS, _F1_WRITES, _F1_FIRST, _F1_UP), _CEIL,
     "ceil(n_rows / min(head_dim, n_rows - 1))"),
    ("in bytes", _F1_MOVES, "    return Traffic(", "    n_rows *= 4\n    return Traffic("),
    ("reads and writes swapped", _F1_MOVES, "    return Traffic(",
     "    Traffic = lambda reads, writes: (writes, reads)\n    return Traffic("),
    ("the other order", (_F1_READS, _F1_WRITES, _F1_FIRST), f"n_turns = {_CEIL}",
     "return flash_2_traffic(n_rows, head_dim, tile_kv)\n    n_turns = 1"),
]  # fmt: skip

_F2_READS = "second_order_reads_keys_in_every_turn"
_F2_WRITES = "second_order_writes_once"
_F2_UP = "second_order_takes_a_turn_for_a_tile_not_full"
_CEIL_Q = "ceil(n_rows / tile_q)"
_F2_ALL_READS = "reads=n_rows * head_dim + n_turns * 2 * n_rows * head_dim"
_F2_ALL_WRITES = "writes=n_rows * head_dim + n_rows"

FLASH_2 = [
    ("everything once", (_F2_READS, _F2_UP), "n_turns * 2", "2"),
    ("Q read in every turn", (_F2_READS,), _F2_ALL_READS, "reads=n_turns * 3 * n_rows * head_dim"),
    ("Q not read", (_F2_READS,), _F2_ALL_READS, "reads=n_turns * 2 * n_rows * head_dim"),
    ("V not read", (_F2_READS,), "n_turns * 2 *", "n_turns *"),
    ("Q read in every turn, K and V once", (_F2_READS,), _F2_ALL_READS,
     "reads=2 * n_rows * head_dim + n_turns * n_rows * head_dim"),
    ("O, l and m read too", (_F2_READS,), _F2_ALL_READS,
     "reads=2 * n_rows * head_dim + n_turns * n_rows * (2 * head_dim + 2)"),
    ("L not written", (_F2_WRITES,), _F2_ALL_WRITES, "writes=n_rows * head_dim"),
    ("l and m in place of L", (_F2_WRITES,), _F2_ALL_WRITES, "writes=n_rows * (head_dim + 2)"),
    ("O written in every turn", (_F2_WRITES,), _F2_ALL_WRITES,
     "writes=n_turns * n_rows * (head_dim + 1)"),
    ("a first writing of O", (_F2_WRITES,), _F2_ALL_WRITES,
     "writes=2 * n_rows * head_dim + n_rows"),
    ("turns rounded down", (_F2_UP,), _CEIL_Q, "n_rows // tile_q"),
    ("turns not rounded", (_F2_UP,), _CEIL_Q, "n_rows / tile_q"),
    ("in bytes", (_F2_READS, _F2_WRITES), "    return Traffic(",
     "    n_rows *= 4\n    return Traffic("),
    ("the first order", (_F2_READS, _F2_WRITES), f"n_turns = {_CEIL_Q}",
     "return flash_1_traffic(n_rows, head_dim, tile_q)\n    n_turns = 1"),
]  # fmt: skip

COUNTS = [
    *(
        Mutant(exercise, title, caught_by, old, new)
        for exercise, group in (
            ("tile_sizes", TILES),
            ("standard_traffic", STANDARD),
            ("flash_1_traffic", FLASH_1),
            ("flash_2_traffic", FLASH_2),
            ("standard_flops", flash_operations.STANDARD),
            ("flash_flops", flash_operations.FLASH),
            ("run_times", flash_operations.SECONDS),
            ("least_tile", flash_operations.LEAST),
        )
        for title, caught_by, old, new in group
    ),
    *ANSWERS,
]
