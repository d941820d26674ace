"""Checks of both orders of FlashAttention. What each is about, and earns at most half without:

flash_attention_1: that output from tiles that fit the chip, with K and V loaded once.
flash_attention_2: that output from tiles that fit the chip, with Q loaded once.

A mask is asked for with even tiles, and a smaller last tile by a check of its own.
"""

from functools import partial

from labkit.bridge.student import Student
from labkit.checks.core import check
from labkit.labs.flash_attention.checks.expected import (
    expect_any_length,
    expect_array,
    expect_nothing_kept,
    expect_output,
    expect_output_as_well,
)
from labkit.labs.flash_attention.checks.moves import (
    expect_fit,
    expect_loads,
    expect_skips,
    expect_stores,
)
from labkit.labs.flash_attention.checks.runs import (
    AttentionCase,
    is_near,
    of_last_tile,
    right_level,
    run_of,
)

_first = partial(check, "flash_attention_1")
_second = partial(check, "flash_attention_2")


@_first("even", gate=True, hint="Play it with two tiles of keys, on paper.")
def flash_1_output_is_attention(student: Student, case: AttentionCase) -> None:
    """O is softmax(Q Kᵀ / √D) V, with tiles that divide the length."""
    expect_output(student, case, "flash_attention_1")


@_first("ragged", "both", weight=2, hint="`tiles` gives first and last row of each tile.")
def flash_1_takes_a_smaller_last_tile(student: Student, case: AttentionCase) -> None:
    """O is right for any length and any tiles, also if the last tile has fewer rows."""
    expect_any_length(student, case, "flash_attention_1")


@_first("causal", weight=2, hint="`tile_scores` wants to know where both tiles begin.")
def flash_1_hides_later_keys(student: Student, case: AttentionCase) -> None:
    """If is_causal, no query sees a key that comes after it."""
    expect_output_as_well(student, case, "flash_attention_1")


@_first("large", hint="Is the maximum subtracted before every exp?")
def flash_1_takes_large_scores(student: Student, case: AttentionCase) -> None:
    """Scores of 10,000 and far below 0 change nothing."""
    expect_output_as_well(student, case, "flash_attention_1")


@_first("even", hint="They belong to all keys so far, as O does.")
def flash_1_leaves_totals_and_maxima(student: Student, case: AttentionCase) -> None:
    """At the end m holds each query's largest score, l the sum of exp(score - m)."""
    watched = run_of(student, case, "flash_attention_1")
    maximum, level = right_level(case)
    got = watched.memory.arrays["m"].double()
    of_tiles = maximum.reshape(-1, case.tile_q).amax(1).repeat_interleave(case.tile_q)
    why = "That is one maximum for a whole tile of queries; each query has its own."
    why = why if is_near(got, of_tiles) else ""
    if is_near(got, of_last_tile(case)):
        why = "That is the largest score of the last tile of keys alone."
    expect_array(watched, "m", maximum, why)
    total, got = (level - maximum).exp(), watched.memory.arrays["l"].double()
    why = "That is the logarithm of l." if is_near(got, total.log()) else ""
    expect_array(watched, "l", total, why)


@_first("even", gate=True, hint="What is loaded in the outer loop, and what in the inner?")
def flash_1_loads_no_more_than_needed(student: Student, case: AttentionCase) -> None:
    """K and V are loaded once, and Q, O, l and m once in every turn of the outer loop."""
    expect_loads(student, case, "flash_attention_1")


@_first("even", hint="One store of O, l and m at the end of each inner step.")
def flash_1_stores_no_more_than_needed(student: Student, case: AttentionCase) -> None:
    """O, l and m are stored once in every turn, and once before they are first loaded."""
    expect_stores(student, case, "flash_attention_1")


@_first("causal", hint="Compare the last query with the first key.")
def flash_1_skips_what_nobody_sees(student: Student, case: AttentionCase) -> None:
    """If is_causal, a pair of tiles is left out when, and only when, it is masked entirely."""
    expect_skips(student, case, "flash_attention_1")


@_first("chip", gate=True, hint="No load and no store is larger than a tile.")
def flash_1_fits_the_chip(student: Student, case: AttentionCase) -> None:
    """It runs on a chip that holds four tiles, and takes one pair of tiles after the other."""
    expect_fit(student, case, "flash_attention_1")


@_first("moving", gate=True, hint="A variable from an earlier turn is a tile that is gone.")
def flash_1_keeps_no_tile(student: Student, case: AttentionCase) -> None:
    """Every turn computes with what it has loaded, not with copies from an earlier one."""
    expect_nothing_kept(student, case, "flash_attention_1")


@_second("even", gate=True, hint="Play it with two tiles of keys, on paper.")
def flash_2_output_is_attention(student: Student, case: AttentionCase) -> None:
    """O is softmax(Q Kᵀ / √D) V, with tiles that divide the length."""
    expect_output(student, case, "flash_attention_2")


@_second("ragged", "both", weight=2, hint="`tiles` gives first and last row of each tile.")
def flash_2_takes_a_smaller_last_tile(student: Student, case: AttentionCase) -> None:
    """O is right for any length and any tiles, also if the last tile has fewer rows."""
    expect_any_length(student, case, "flash_attention_2")


@_second("causal", weight=2, hint="`tile_scores` wants to know where both tiles begin.")
def flash_2_hides_later_keys(student: Student, case: AttentionCase) -> None:
    """If is_causal, no query sees a key that comes after it."""
    expect_output_as_well(student, case, "flash_attention_2")


@_second("large", hint="Is the maximum subtracted before every exp?")
def flash_2_takes_large_scores(student: Student, case: AttentionCase) -> None:
    """Scores of 10,000 and far below 0 change nothing."""
    expect_output_as_well(student, case, "flash_attention_2")


@_second("even", hint="log(exp(m) * total) without the exp.")
def flash_2_leaves_the_log_of_the_sum(student: Student, case: AttentionCase) -> None:
    """L holds the logarithm of each query's sum of exp(score)."""
    watched = run_of(student, case, "flash_attention_2")
    maximum, level = right_level(case)
    slips = {
        "That is the sum; its logarithm is wanted.": level.exp(),
        "That is the sum of exp(score - m); the maximum is missing.": (level - maximum).exp(),
        "That is the logarithm of the sum of exp(score - m); the maximum is missing.": (
            level - maximum
        ),
        "That is the maximum alone.": maximum,
        "That logarithm has base 2.": maximum + (level - maximum).exp().log2(),
        "The logarithm of the total is to be added, not the total.": (
            maximum + (level - maximum).exp()
        ),
    }
    got = watched.memory.arrays["L"].double()
    found = [slip for slip, slipped in slips.items() if is_near(got, slipped)]
    expect_array(watched, "L", level, " Or: ".join(found))


@_second("even", gate=True, hint="What is loaded in the outer loop, and what in the inner?")
def flash_2_loads_no_more_than_needed(student: Student, case: AttentionCase) -> None:
    """Q is loaded once, and K and V once in every turn of the outer loop."""
    expect_loads(student, case, "flash_attention_2")


@_second("even", hint="What the inner loop carries on stays on the chip.")
def flash_2_stores_no_more_than_needed(student: Student, case: AttentionCase) -> None:
    """O and L are stored once, and nothing else is."""
    expect_stores(student, case, "flash_attention_2")


@_second("causal", hint="Compare the last query with the first key.")
def flash_2_skips_what_nobody_sees(student: Student, case: AttentionCase) -> None:
    """If is_causal, a pair of tiles is left out when, and only when, it is masked entirely."""
    expect_skips(student, case, "flash_attention_2")


@_second("chip", gate=True, hint="No load and no store is larger than a tile.")
def flash_2_fits_the_chip(student: Student, case: AttentionCase) -> None:
    """It runs on a chip that holds four tiles, and takes one pair of tiles after the other."""
    expect_fit(student, case, "flash_attention_2")


@_second("moving", gate=True, hint="A variable from an earlier turn is a tile that is gone.")
def flash_2_keeps_no_tile(student: Student, case: AttentionCase) -> None:
    """Every turn computes with what it has loaded, not with copies from an earlier one."""
    expect_nothing_kept(student, case, "flash_attention_2")


_TILED = [
    AttentionCase("even", 24, 5, 4, 6, seed=1),
    AttentionCase("even", 24, 3, 8, 3, seed=2),
    AttentionCase("ragged", 29, 6, 8, 6, seed=3),
    AttentionCase("ragged", 23, 3, 5, 10, seed=4),
    AttentionCase("ragged", 1, 3, 1, 1, seed=5),
    AttentionCase("ragged", 7, 4, 16, 9, seed=6),
    AttentionCase("both", 29, 3, 4, 7, is_causal=True, seed=8),
    AttentionCase("causal", 24, 4, 8, 4, is_causal=True, seed=7),
    AttentionCase("causal", 20, 3, 4, 5, is_causal=True, seed=13),
    AttentionCase("large", 24, 4, 6, 4, seed=9),
    AttentionCase("large", 24, 4, 4, 6, seed=12),
    AttentionCase("chip", 24, 4, 4, 8, seed=10),
    AttentionCase("moving", 20, 3, 5, 4, seed=11),
]

OPEN_CASES = {
    "flash_attention_1": _TILED,
    "flash_attention_2": _TILED,
}
