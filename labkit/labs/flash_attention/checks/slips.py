"""Known mistakes in attention's output: a cause is named only if it gives the whole output."""

from collections.abc import Callable, Mapping
from dataclasses import replace

import torch
from torch import Tensor
from torch.nn import functional

from labkit.bridge.student import Student, StudentError
from labkit.checks.core import Wrong
from labkit.labs.flash_attention.checks.runs import (
    CAUSAL,
    EVEN,
    ORDERS,
    AttentionCase,
    is_near,
    right_level,
    right_output,
    run_of,
    seen_pairs,
)
from labkit.labs.flash_attention.checks.steps import TOLERANCE
from labkit.models.counted_memory import tile_scores, tiles

# From exp(m - m_new), the old total and output, and the new tile's: total and undivided output.
Merge = Callable[[Tensor, Tensor, Tensor, Tensor, Tensor], tuple[Tensor, Tensor]]
DIVIDED = "O in memory is divided by its total l: after loading, multiply it by l again."
BY_NEW_TOTAL = "Multiply the loaded O by the old total l, not by the new one."
MERGES: Mapping[str, Merge] = {
    "The old output is not multiplied by exp(m - m_new).": (
        lambda old, total, output, more, part: (old * total + more, output + part)
    ),
    "The old total is not multiplied by exp(m - m_new).": (
        lambda old, total, output, more, part: (total + more, old * output + part)
    ),
    "Neither the old total nor the old output is multiplied by exp(m - m_new).": (
        lambda old, total, output, more, part: (total + more, output + part)
    ),
    DIVIDED: (
        lambda old, total, output, more, part: (old * total + more, old * output / total + part)
    ),
    BY_NEW_TOTAL: (
        lambda old, total, output, more, part: (
            old * total + more,
            (old * total + more) * output / total + part,
        )
    ),
}
UNDIVIDED = "O is not divided by its total l."
IN_EACH_TURN = "O is divided by its total in every turn. Divide it once, after the inner loop."
KEPT = "Each tile of queries begins with the state of the one before. Begin with an empty state."
TWICE = "O is divided by its total in every step, and once more at the end."
SUMMED = "Each tile of keys has a softmax of its own, and the results are added."
UNSCALED = "The scores are not divided by the square root of head_dim."
UNMASKED = "There is no mask, though is_causal is True."
MASKED = "There is a mask, though is_causal is False."


def sentences_for_output(student: Student, case: AttentionCase, exercise: str) -> str:
    """The sentences for a wrong output (N D): mistakes that give it here and in the open cases."""
    has_state = "O" in ORDERS[exercise].state  # O is divided by its total in every turn
    try:
        if case.kind == "large":
            return _sentence_for_nan(student, case, exercise)
        found = _fitting(student, case, exercise, has_state)
        named = [slip for slip, fits in found.items() if fits]
        for other in (CAUSAL if case.is_causal else EVEN) if named else ():
            other = other if case.tile_q else replace(other, tile_q=0, tile_kv=0)
            found = _fitting(student, other, exercise, has_state)
            named = [slip for slip in named if found.get(slip, True)]
    except (StudentError, Wrong):
        return ""
    return " Or: ".join(named)


def _fitting(
    student: Student, case: AttentionCase, exercise: str, has_state: bool
) -> dict[str, bool]:
    """Whether the student's output is what each known mistake gives."""
    got = run_of(student, case, exercise).memory.arrays["O"].double()
    masks = _wrong_masks(case) if case.tile_q and case.is_causal else {}
    slips = slipped_outputs(case)
    if case.tile_q and not has_state:  # O is never loaded
        slips |= {IN_EACH_TURN: slips.pop(DIVIDED), KEPT: kept_state(case)[0]}
        del slips[BY_NEW_TOTAL]
    return {
        slip: _is_near(got, slipped, got.isfinite().all(-1) if slip in masks else None)
        for slip, slipped in slips.items()
    }


def _sentence_for_nan(student: Student, case: AttentionCase, exercise: str) -> str:
    """What makes NaN of large scores (an odd seed), and of scores far below 0 (an even one).

    With weights of 0 for the first keys both are NaN if O is divided in every turn. Then the
    maximum tells: it is still above all scores.
    """
    odd, even = (replace(case, seed=2 * (case.seed // 2) + 1 - i) for i in range(2))
    of_large, of_low = (run_of(student, each, exercise).memory.arrays for each in (odd, even))
    if not of_low["O"].isnan().any():
        return ""
    has_maximum = "m" in ORDERS[exercise].state
    is_above = has_maximum and bool((of_low["m"] > right_level(even)[0] + 1).all())
    is_large_right = is_near(of_large["O"].double(), right_output(odd, odd.is_causal))
    if is_above or (is_large_right and not has_maximum):
        return "All weights of the first keys are 0: begin with a maximum of -inf."
    if of_large["O"].isnan().any():
        return "An exponential overflows: subtract the largest score so far before every exp."
    return ""


def _is_near(got: Tensor, slipped: Tensor, rows: Tensor | None = None) -> bool:
    """Whether rows that the mistake gives numbers for are alike; others may hold anything.

    rows: those that count, where a query that sees no key of a tile may spoil its row.
    """
    alike = slipped.isfinite().all(-1) & (torch.tensor(True) if rows is None else rows)
    return bool(alike.any()) and torch.allclose(
        got[alike], slipped[alike], rtol=TOLERANCE, atol=TOLERANCE
    )


def slipped_outputs(case: AttentionCase) -> dict[str, Tensor]:
    """What known mistakes make of the output (N D), by what to say."""
    slips = {
        UNSCALED: right_output(case, case.is_causal, scale=1.0),
        UNMASKED if case.is_causal else MASKED: right_output(case, not case.is_causal),
    }
    if not case.tile_q:
        queries, keys, values = case.matrices()
        weights = tile_scores(queries, keys, 0, 0, case.is_causal).double().softmax(0)
        return slips | {
            "The softmax goes over the queries. It must go over the keys.": weights
            @ values.double()
        }
    if case.is_causal:
        slips |= {slip: _masked(case, sees) for slip, sees in _wrong_masks(case).items()}
    else:
        slips |= _wrong_tiles(case)
    return (
        slips | {slip: _merged(case, merge)[0] for slip, merge in MERGES.items()} | _undivided(case)
    )


def _wrong_tiles(case: AttentionCase) -> dict[str, Tensor]:
    """Keys that are missing, or that are none."""
    queries, keys, values = (each.double()[None, None] for each in case.matrices())
    n_left, n_missing = case.n_rows % case.tile_kv, -case.n_rows % case.tile_kv

    def output(some_keys: Tensor, some_values: Tensor) -> Tensor:
        return functional.scaled_dot_product_attention(queries, some_keys, some_values)[0, 0]

    slips = {}
    if case.tile_kv < case.n_rows:
        last = n_left or case.tile_kv
        slips["Only the last tile of keys counts. Keep the state of the tiles before it."] = output(
            keys[:, :, -last:], values[:, :, -last:]
        )
    if n_left and case.tile_kv < case.n_rows:
        slips["The last, smaller tile of keys is missing."] = output(
            keys[:, :, :-n_left], values[:, :, :-n_left]
        )
    if n_missing:
        padding = (0, 0, 0, n_missing)
        slips["The last tile is filled up with zeros, and these get weights, too."] = output(
            functional.pad(keys, padding), functional.pad(values, padding)
        )
    return slips


def _wrong_masks(case: AttentionCase) -> dict[str, Tensor]:
    """Wrong masks (N N, query by key), each with its sentence."""
    row, seen = torch.arange(case.n_rows), seen_pairs(case)
    query, first_query = row[:, None], (row // case.tile_q * case.tile_q)[:, None]
    key, first_key = row, row // case.tile_kv * case.tile_kv
    right = key <= query
    return {
        "The mask counts rows from the beginning of each tile. Count from row 0.": seen
        & (key - first_key <= query - first_query),
        "The mask counts queries from the beginning of their tile. Count from row 0.": seen
        & (key <= query - first_query),
        "The mask counts keys from the beginning of their tile. Count from row 0.": seen
        & (key - first_key <= query),
        "The first rows of the two tiles are exchanged in the mask.": seen
        & (key - first_key + first_query <= query - first_query + first_key),
        "Later tiles are skipped, but later keys of the same tile are not hidden.": seen,
        "Pairs of tiles are skipped although some of their queries see some of their keys.": right
        & (first_key < first_query),
        "Pairs are skipped by their first rows. Compare the last query with the first key.": right
        & (first_key <= first_query),
        "Pairs are skipped by the numbers of their tiles. Compare rows.": right
        & (first_key // case.tile_kv <= first_query // case.tile_q),
    }


def _masked(case: AttentionCase, sees: Tensor) -> Tensor:
    """The output (N D) where queries see these keys; NaN for one that sees none."""
    queries, keys, values = (each.double() for each in case.matrices())
    scores = tile_scores(queries, keys, 0, 0, is_causal=False).double()
    return scores.masked_fill(~sees, -torch.inf).softmax(-1) @ values


def _merged(case: AttentionCase, merge: Merge) -> tuple[Tensor, Tensor]:
    """The output (N D), and without the last division, if tiles of keys are merged like this."""
    queries, keys, values = (each.double() for each in case.matrices())
    scores = tile_scores(queries, keys, 0, 0, case.is_causal).double()
    seen, before = seen_pairs(case), scores.new_full((case.n_rows,), -torch.inf)
    total, output = torch.zeros_like(before)[:, None], torch.zeros_like(values)
    for start, stop in tiles(case.n_rows, case.tile_kv):
        level = torch.maximum(before, scores[:, start:stop].amax(-1))
        weights = (scores[:, start:stop] - level[:, None]).exp()
        old, part = (before - level).exp()[:, None], weights @ values[start:stop]
        more = weights.sum(-1, keepdim=True)
        new = merge(old, total, output, more, part) if start else (more, part)
        is_met = (seen[:, start] | torch.tensor(not case.is_causal))[:, None]
        total, output, before = new[0].where(is_met, total), new[1].where(is_met, output), level
    return output / total, output


def kept_state(case: AttentionCase) -> tuple[Tensor, Tensor]:
    """The output (N D) and the logarithm of its totals (N) if a tile's state is the next one's too.

    NaN where tiles of queries do not divide the length: such a state does not fit the last one.
    """
    queries, keys, values = (each.double() for each in case.matrices())
    if case.n_rows % case.tile_q:
        return torch.full_like(values, torch.nan), torch.full_like(values[:, 0], torch.nan)
    weights = tile_scores(queries, keys, 0, 0, case.is_causal).double().exp()
    total, output = (
        each.unflatten(0, (-1, case.tile_q)).cumsum(0).flatten(0, 1)
        for each in (weights.sum(-1, keepdim=True), weights @ values)
    )
    return output / total, total[:, 0].log()


def _undivided(case: AttentionCase) -> dict[str, Tensor]:
    """Where the divisions are too few or too many, or are those of each tile."""
    divided, undivided = _merged(
        case, lambda old, total, output, more, part: (old * total + more, old * output + part)
    )
    total = (undivided / divided).nanmean(-1, keepdim=True)
    in_each_step, _ = _merged(case, MERGES[DIVIDED])
    return {UNDIVIDED: undivided, TWICE: in_each_step / total, SUMMED: _summed(case)}


def _summed(case: AttentionCase) -> Tensor:
    queries, keys, values = (each.double() for each in case.matrices())
    scores = tile_scores(queries, keys, 0, 0, case.is_causal).double()
    parts = (
        (scores[:, start:stop].softmax(-1) @ values[start:stop]).nan_to_num(nan=0.0)
        for start, stop in tiles(case.n_rows, case.tile_kv)
    )
    return sum(parts)
