"""Checks of the attention functions."""

from functools import partial

import torch

from labkit.bridge.student import Student
from labkit.checks.compare import expect_tensor
from labkit.checks.core import Wrong, check
from labkit.labs.flash_attention.checks.expected import (
    expect_array,
    expect_fit,
    expect_loads,
    expect_nothing_kept,
    expect_output,
    expect_skips,
    expect_stores,
)
from labkit.labs.flash_attention.checks.runs import TOLERANCE, AttentionCase, right_level, run_of

_standard = partial(check, "standard_attention")
_first = partial(check, "flash_attention_1")
_second = partial(check, "flash_attention_2")
COUNTED = ("even", "ragged", "causal")
PLAIN = ("even", "ragged")


@_standard(*PLAIN, hint="Which scale? Over which axis is the softmax?")
def standard_output_is_attention(student: Student, case: AttentionCase) -> None:
    """O is softmax(Q Kᵀ / √D) V."""
    expect_output(student, case, "standard_attention")


@_standard("causal", hint="`tile_scores` has a mask.")
def standard_hides_later_keys(student: Student, case: AttentionCase) -> None:
    """If is_causal, no query sees a key behind it."""
    expect_output(student, case, "standard_attention")


@_standard(*PLAIN, hint="The softmax is a step of its own: its result goes to P.")
def standard_weights_are_written(student: Student, case: AttentionCase) -> None:
    """P holds the weights from which O is made: rows that sum to 1."""
    arrays = run_of(student, case, "standard_attention").memory.arrays
    weights, ones = arrays["P"].double(), torch.ones(case.n_rows)
    expect_tensor(weights.sum(-1), ones, "the sums of the rows of P", tolerance=TOLERANCE)
    made = weights @ case.matrices()[2].double()
    expect_tensor(arrays["O"], made, "O, held against P V", tolerance=TOLERANCE)


@_standard(*COUNTED, hint="Three steps, and what each loads and stores.")
def standard_loads_what_each_step_needs(student: Student, case: AttentionCase) -> None:
    """Q, K, S, P and V are loaded once each."""
    expect_loads(student, case, "standard_attention")


@_standard(*COUNTED, hint="Three steps, and what each loads and stores.")
def standard_stores_what_each_step_makes(student: Student, case: AttentionCase) -> None:
    """S, P and O are stored once each."""
    expect_stores(student, case, "standard_attention")


@_standard("moving", hint="Compute with what `load` returned.")
def standard_steps_use_what_they_load(student: Student, case: AttentionCase) -> None:
    """P is made from S as it was loaded, and O from P as it was loaded."""
    plain = AttentionCase("even", case.n_rows, case.head_dim, seed=case.seed)
    weights = run_of(student, plain, "standard_attention").memory.arrays["P"].double()
    turned = run_of(student, case, "standard_attention").memory.arrays
    once, twice = weights.roll(1, dims=1), weights.roll(2, dims=1)
    if torch.allclose(once, weights):
        raise Wrong("the columns of P", expected="different ones", got="all the same")
    made = twice @ case.matrices()[2].double() / twice.sum(-1, keepdim=True)
    for name, source, expected in (("P", "S", once), ("O", "P", made)):
        why = f"This memory gives back {source} with its columns exchanged: use what it gives."
        expect_tensor(turned[name], expected, f"what {name} holds", why=why, tolerance=TOLERANCE)


@_first(*PLAIN, hint="Play it with two tiles of keys, on paper.")
def flash_1_output_is_attention(student: Student, case: AttentionCase) -> None:
    """O is softmax(Q Kᵀ / √D) V, for any length and any tiles."""
    expect_output(student, case, "flash_attention_1")


@_first("causal", hint="`tile_scores` wants to know where both tiles begin.")
def flash_1_hides_later_keys(student: Student, case: AttentionCase) -> None:
    """If is_causal, no query sees a key behind it."""
    expect_output(student, case, "flash_attention_1")


@_first("large", hint="Is the maximum subtracted before every exp?")
def flash_1_takes_large_scores(student: Student, case: AttentionCase) -> None:
    """Scores of 10,000 and far below 0 change nothing."""
    expect_output(student, case, "flash_attention_1")


@_first("even", hint="They belong to all keys so far, as O does.")
def flash_1_leaves_totals_and_maxima(student: Student, case: AttentionCase) -> None:
    """At the end m holds each query's largest score, l the sum of exp(score - m)."""
    watched = run_of(student, case, "flash_attention_1")
    maximum, level = right_level(case)
    expect_array(watched, "m", maximum)
    expect_array(watched, "l", (level - maximum).exp())


@_first(*COUNTED, hint="What is loaded in the outer loop, and what in the inner?")
def flash_1_loads_no_more_than_needed(student: Student, case: AttentionCase) -> None:
    """K and V are loaded once, and Q, O, l and m once in every turn of the outer loop."""
    expect_loads(student, case, "flash_attention_1")


@_first(*COUNTED, hint="One store of O, l and m at the end of each inner step.")
def flash_1_stores_no_more_than_needed(student: Student, case: AttentionCase) -> None:
    """O, l and m are stored once in every turn, and once before they are first loaded."""
    expect_stores(student, case, "flash_attention_1")


@_first("causal", hint="Compare the last query with the first key.")
def flash_1_skips_what_nobody_sees(student: Student, case: AttentionCase) -> None:
    """If is_causal, a pair of tiles is left out when, and only when, it is masked entirely."""
    expect_skips(student, case, "flash_attention_1")


@_first("chip", hint="No load and no store is larger than a tile.")
def flash_1_fits_the_chip(student: Student, case: AttentionCase) -> None:
    """It runs on a chip that holds four tiles and nothing more."""
    expect_fit(student, case, "flash_attention_1")


@_first("moving", hint="A variable from an earlier turn is a tile that is gone.")
def flash_1_keeps_no_tile(student: Student, case: AttentionCase) -> None:
    """Every turn computes with what it has loaded, not with copies from an earlier one."""
    expect_nothing_kept(student, case, "flash_attention_1")


@_second(*PLAIN, hint="Play it with two tiles of keys, on paper.")
def flash_2_output_is_attention(student: Student, case: AttentionCase) -> None:
    """O is softmax(Q Kᵀ / √D) V, for any length and any tiles."""
    expect_output(student, case, "flash_attention_2")


@_second("causal", hint="`tile_scores` wants to know where both tiles begin.")
def flash_2_hides_later_keys(student: Student, case: AttentionCase) -> None:
    """If is_causal, no query sees a key behind it."""
    expect_output(student, case, "flash_attention_2")


@_second("large", hint="Is the maximum subtracted before every exp?")
def flash_2_takes_large_scores(student: Student, case: AttentionCase) -> None:
    """Scores of 10,000 and far below 0 change nothing."""
    expect_output(student, case, "flash_attention_2")


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
    expect_array(watched, "L", level, slips)


@_second(*COUNTED, hint="What is loaded in the outer loop, and what in the inner?")
def flash_2_loads_no_more_than_needed(student: Student, case: AttentionCase) -> None:
    """Q is loaded once, and K and V once in every turn of the outer loop."""
    expect_loads(student, case, "flash_attention_2")


@_second(*COUNTED, hint="What the inner loop carries on stays on the chip.")
def flash_2_stores_no_more_than_needed(student: Student, case: AttentionCase) -> None:
    """O and L are stored once, and nothing else is."""
    expect_stores(student, case, "flash_attention_2")


@_second("causal", hint="Compare the last query with the first key.")
def flash_2_skips_what_nobody_sees(student: Student, case: AttentionCase) -> None:
    """If is_causal, a pair of tiles is left out when, and only when, it is masked entirely."""
    expect_skips(student, case, "flash_attention_2")


@_second("chip", hint="No load and no store is larger than a tile.")
def flash_2_fits_the_chip(student: Student, case: AttentionCase) -> None:
    """It runs on a chip that holds four tiles and nothing more."""
    expect_fit(student, case, "flash_attention_2")


@_second("moving", hint="A variable from an earlier turn is a tile that is gone.")
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
    AttentionCase("causal", 24, 4, 8, 4, is_causal=True, seed=7),
    AttentionCase("causal", 29, 3, 4, 7, is_causal=True, seed=8),
    AttentionCase("large", 24, 4, 6, 4, seed=9),
    AttentionCase("large", 24, 4, 4, 6, seed=12),
    AttentionCase("chip", 24, 4, 4, 8, seed=10),
    AttentionCase("moving", 20, 3, 5, 4, seed=11),
]

OPEN_CASES = {
    "standard_attention": [
        AttentionCase("even", 12, 5, seed=1),
        AttentionCase("ragged", 1, 3, seed=2),
        AttentionCase("ragged", 17, 3, seed=3),
        AttentionCase("causal", 13, 4, is_causal=True, seed=4),
        AttentionCase("moving", 11, 3, seed=5),
    ],
    "flash_attention_1": _TILED,
    "flash_attention_2": _TILED,
}
