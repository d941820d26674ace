"""Checks of both orders of FlashAttention. What each is about:

flash_attention_1: that output from tiles that fit the chip, with K and V loaded once.
flash_attention_2: that output from tiles that fit the chip, with Q loaded once and O stored once.

Without a right output, with a tile that does not fit, or with moves that the algorithm saves, an
exercise earns at most half. A mask is
asked for with even tiles, and a smaller last tile by a check of its own.
"""

from functools import partial

from labkit.bridge.student import Student, StudentError
from labkit.checks.core import Wrong, check
from labkit.labs.flash_attention.checks.expected import (
    expect_any_length,
    expect_array,
    expect_nothing_kept,
    expect_output,
    expect_output_as_well,
    has_right_output,
)
from labkit.labs.flash_attention.checks.moves import (
    expect_fit,
    expect_loads,
    expect_skips,
    expect_stores,
)
from labkit.labs.flash_attention.checks.runs import (
    CAUSAL,
    EVEN,
    AttentionCase,
    is_near,
    of_last_tile,
    right_level,
    run_of,
)
from labkit.labs.flash_attention.checks.slips import KEPT, kept_state

_first = partial(check, "flash_attention_1", gate=True, parts=("online_softmax",))
_second = partial(check, "flash_attention_2", gate=True, parts=("online_softmax",))


@_first("even", hint="Do it on paper with two tiles of keys.")
def flash_1_output_is_attention(student: Student, case: AttentionCase) -> None:
    """O is softmax(Q Kᵀ / √D) V, with tiles that divide the length."""
    expect_output(student, case, "flash_attention_1")


@_first("ragged", "both", weight=2, hint="Use the row numbers that `tiles` gives for each tile.")
def flash_1_takes_a_smaller_last_tile(student: Student, case: AttentionCase) -> None:
    """O is right for any length and any tiles, also if the last tile has fewer rows."""
    expect_any_length(student, case, "flash_attention_1")


@_first("causal", weight=2, hint="Give `tile_scores` the first row of both tiles.")
def flash_1_hides_later_keys(student: Student, case: AttentionCase) -> None:
    """If is_causal, no query sees a key that comes after it."""
    expect_output_as_well(student, case, "flash_attention_1")


@_first("large", hint="Subtract the maximum before every exp.")
def flash_1_takes_large_scores(student: Student, case: AttentionCase) -> None:
    """O is right also if scores are near 10,000 or far below 0."""
    expect_output_as_well(student, case, "flash_attention_1")


@_first("even", hint="Store l and m of all keys so far, as you store O.")
def flash_1_leaves_totals_and_maxima(student: Student, case: AttentionCase) -> None:
    """At the end m holds each query's largest score, and l the sum of exp(score - m)."""
    watched = run_of(student, case, "flash_attention_1")
    maximum, level = right_level(case)
    got = watched.memory.arrays["m"].double()
    of_tiles = maximum.reshape(-1, case.tile_q).amax(1).repeat_interleave(case.tile_q)
    why = "That is one maximum for a whole tile of queries. Each query has its own."
    why = why if is_near(got, of_tiles) else ""
    if is_near(got, of_last_tile(case)):
        why = "That is the largest score of the last tile of keys alone."
    expect_array(watched, "m", maximum, why)
    total, got = (level - maximum).exp(), watched.memory.arrays["l"].double()
    why = "That is the logarithm of l." if is_near(got, total.log()) else ""
    expect_array(watched, "l", total, why)


@_first("even", hint="Load K and V in the outer loop, and Q, O, l and m in the inner one.")
def flash_1_loads_no_more_than_needed(student: Student, case: AttentionCase) -> None:
    """K and V are loaded once, and Q, O, l and m once in every turn of the outer loop."""
    expect_loads(student, case, "flash_attention_1")


@_first("even", hint="Store O, l and m once at the end of each inner step.")
def flash_1_stores_no_more_than_needed(student: Student, case: AttentionCase) -> None:
    """O, l and m are stored once in every turn, and once before they are first loaded."""
    expect_stores(student, case, "flash_attention_1")


@_first("causal", hint="Skip a pair if its last query comes before its first key.")
def flash_1_skips_what_nobody_sees(student: Student, case: AttentionCase) -> None:
    """If is_causal, the pairs of tiles that are masked entirely are skipped, and no others."""
    expect_skips(student, case, "flash_attention_1")


@_first("chip", hint="Load and store one tile at a time, in the first store of O, too.")
def flash_1_fits_the_chip(student: Student, case: AttentionCase) -> None:
    """A chip that holds four tiles is enough: one pair of tiles comes after the other."""
    expect_fit(student, case, "flash_attention_1")


@_first("moving", hint="Load a tile again in each turn; do not keep it in a variable.")
def flash_1_keeps_no_tile(student: Student, case: AttentionCase) -> None:
    """Every turn computes with tiles that it has loaded itself."""
    expect_nothing_kept(student, case, "flash_attention_1")


@_second("even", hint="Do it on paper with two tiles of keys.")
def flash_2_output_is_attention(student: Student, case: AttentionCase) -> None:
    """O is softmax(Q Kᵀ / √D) V, with tiles that divide the length."""
    expect_output(student, case, "flash_attention_2")


@_second("ragged", "both", weight=2, hint="Use the row numbers that `tiles` gives for each tile.")
def flash_2_takes_a_smaller_last_tile(student: Student, case: AttentionCase) -> None:
    """O is right for any length and any tiles, also if the last tile has fewer rows."""
    expect_any_length(student, case, "flash_attention_2")


@_second("causal", weight=2, hint="Give `tile_scores` the first row of both tiles.")
def flash_2_hides_later_keys(student: Student, case: AttentionCase) -> None:
    """If is_causal, no query sees a key that comes after it."""
    expect_output_as_well(student, case, "flash_attention_2")


@_second("large", hint="Subtract the maximum before every exp.")
def flash_2_takes_large_scores(student: Student, case: AttentionCase) -> None:
    """O is right also if scores are near 10,000 or far below 0."""
    expect_output_as_well(student, case, "flash_attention_2")


@_second(
    *("even", "large", "both", "causal"),
    hint="Compute m + log(l). It is the same as log(exp(m) l), and does not overflow.",
)
def flash_2_leaves_the_log_of_the_sum(student: Student, case: AttentionCase) -> None:
    """L holds the logarithm of each query's sum of exp(score)."""
    try:
        watched = run_of(student, case, "flash_attention_2")
    except (StudentError, Wrong):
        if case.kind == "even":
            raise
        return  # another check says so
    if case.kind != "even" and not has_right_output(watched, case):
        return
    maximum, level = right_level(case)
    slips = {
        "That is the sum. Store its logarithm.": level.exp(),
        "That is the sum of exp(score - m). Take its logarithm, and add m.": (
            level - maximum
        ).exp(),
        "That is the logarithm of the sum of exp(score - m). Add m.": (level - maximum),
        "That is the maximum alone. Add the logarithm of the total.": maximum,
        "That logarithm has base 2. Use the natural one.": maximum + (level - maximum).exp().log2(),
        "Add the logarithm of the total, not the total.": (maximum + (level - maximum).exp()),
        KEPT: kept_state(case)[1],
    }
    if case.kind == "large":
        sums = maximum.float().exp() * (level - maximum).exp()
        slips = {"exp(m) overflows, or is 0. Compute m + log(l).": sums.log().double()}
    got = watched.memory.arrays["L"].double()
    found = [slip for slip, slipped in slips.items() if is_near(got, slipped)]
    expect_array(watched, "L", level, " Or: ".join(found))


@_second("even", hint="Load Q in the outer loop, and K and V in the inner one.")
def flash_2_loads_no_more_than_needed(student: Student, case: AttentionCase) -> None:
    """Q is loaded once, and K and V once in every turn of the outer loop."""
    expect_loads(student, case, "flash_attention_2")


@_second("even", hint="Store O and L once, after the inner loop.")
def flash_2_stores_no_more_than_needed(student: Student, case: AttentionCase) -> None:
    """O and L are stored once, and no other array is stored."""
    expect_stores(student, case, "flash_attention_2")


@_second("causal", hint="Skip a pair if its last query comes before its first key.")
def flash_2_skips_what_nobody_sees(student: Student, case: AttentionCase) -> None:
    """If is_causal, the pairs of tiles that are masked entirely are skipped, and no others."""
    expect_skips(student, case, "flash_attention_2")


@_second("chip", hint="Load and store one tile at a time.")
def flash_2_fits_the_chip(student: Student, case: AttentionCase) -> None:
    """A chip that holds four tiles is enough: one pair of tiles comes after the other."""
    expect_fit(student, case, "flash_attention_2")


@_second("moving", hint="Load a tile again in each turn; do not keep it in a variable.")
def flash_2_keeps_no_tile(student: Student, case: AttentionCase) -> None:
    """Every turn computes with tiles that it has loaded itself."""
    expect_nothing_kept(student, case, "flash_attention_2")


_TILED = [
    *EVEN,
    AttentionCase("ragged", 29, 6, 8, 6, seed=3),
    AttentionCase("ragged", 23, 3, 5, 10, seed=4),
    AttentionCase("ragged", 1, 3, 1, 1, seed=5),
    AttentionCase("ragged", 7, 4, 16, 9, seed=6),
    AttentionCase("both", 29, 3, 4, 7, is_causal=True, seed=8),
    *CAUSAL,
    AttentionCase("large", 24, 4, 6, 4, seed=9),
    AttentionCase("large", 24, 4, 4, 6, seed=12),
    AttentionCase("chip", 24, 4, 4, 8, seed=10),
    AttentionCase("moving", 20, 3, 5, 4, seed=11),
]

OPEN_CASES = {
    "flash_attention_1": _TILED,
    "flash_attention_2": _TILED,
}
