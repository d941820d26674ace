"""What the checks of the attention functions expect of a run: numbers, moves, pairs of tiles."""

from __future__ import annotations

from collections.abc import Mapping
from math import isclose

import torch
from torch import Tensor
from torch.nn import functional

from labkit.checks.compare import expect_tensor
from labkit.checks.core import Wrong
from labkit.checks.flash_memory import WatchedMemory
from labkit.checks.flash_runs import (
    LARGE_TOLERANCE,
    ORDERS,
    TOLERANCE,
    AttentionCase,
    right_output,
    run_of,
)
from labkit.student import Student
from labkit.tiling.memory import tiles


def expect_output(student: Student, case: AttentionCase, exercise: str) -> None:
    """O is attention's output, within rounding."""
    watched = run_of(student, case, exercise)
    tolerance = LARGE_TOLERANCE if case.kind == "large" else TOLERANCE
    expect_array(watched, "O", right_output(case, case.is_causal), _slips(case), tolerance)


def _slips(case: AttentionCase) -> dict[str, Tensor]:
    """What known mistakes make of O."""
    queries, keys, values = (each.double()[None, None] for each in case.matrices())
    n_rows, tile = case.n_rows, case.tile_kv or case.n_rows
    n_left, n_missing = n_rows % tile, -n_rows % tile

    def output(some_keys: Tensor, some_values: Tensor) -> Tensor:
        return functional.scaled_dot_product_attention(queries, some_keys, some_values)[0, 0]

    slips = {
        "Each score is divided by the square root of head_dim.": right_output(
            case, case.is_causal, scale=1.0
        ),
        "No query sees the keys behind it if is_causal, and only then.": right_output(
            case, not case.is_causal
        ),
    }
    if tile < n_rows:
        last = n_left or tile
        slips["Only the last tile of keys is in it: what was there before is to be kept."] = output(
            keys[:, :, -last:], values[:, :, -last:]
        )
    if n_left and tile < n_rows:
        slips["The last, smaller tile of keys is missing."] = output(
            keys[:, :, :-n_left], values[:, :, :-n_left]
        )
    if n_missing:
        padding = (0, 0, 0, n_missing)
        slips["Zeros stand in for keys that are not there, and get weights."] = output(
            functional.pad(keys, padding), functional.pad(values, padding)
        )
    return slips


def expect_array(
    watched: WatchedMemory,
    name: str,
    expected: Tensor,
    slips: Mapping[str, Tensor] | None = None,
    tolerance: float = TOLERANCE,
) -> None:
    """An array in memory holds what is expected; slips: what known mistakes make of it."""
    got, why = watched.memory.arrays[name].double(), ""
    bad_rows = (~got.isfinite()).reshape(len(got), -1).any(-1).nonzero().flatten().tolist()
    if bad_rows and bad_rows[0] not in _stored_rows(watched, name):
        why = f"Row {bad_rows[0]} of {name} was never stored; memory holds NaN there."
    elif bad_rows:
        why = "Was something used that was never written, or is it inf / inf, 0 / 0, inf - inf?"
    for slip, slipped in (slips or {}).items():
        if torch.allclose(got, slipped, rtol=TOLERANCE, atol=TOLERANCE):
            why = slip
    expect_tensor(got, expected, f"what {name} holds", why=why, tolerance=tolerance)


def _stored_rows(watched: WatchedMemory, name: str) -> set[int]:
    return {
        row
        for access in watched.memory.accesses
        if access.kind == "store" and access.name == name
        for row in range(access.start, access.stop)
    }


def expect_loads(student: Student, case: AttentionCase, exercise: str) -> None:
    """Every array is loaded as often as the algorithm says, and no other."""
    watched = run_of(student, case, exercise)
    order = ORDERS[exercise]
    is_swapped = (
        order.in_turns
        and len(case.outer_tiles(order)) > 1
        and isclose(watched.times("load", order.in_turns[0]), 1)
        and watched.times("load", order.once[0]) > 1
    )
    if is_swapped:
        why = (
            "The loops are the other way round: here the outer one goes over tiles of "
            f"{' and '.join(order.once)}."
        )
        name = order.once[0]
        got = f"{watched.times('load', name):.3g} times"
        raise Wrong(f"how often all of {name} is loaded", expected="once", got=got, why=why)
    for name in watched.memory.arrays:
        _expect_times(watched, "load", name, _loads(watched, case, exercise, name))


def expect_stores(student: Student, case: AttentionCase, exercise: str) -> None:
    """Every array is stored as often as the algorithm says, and no other."""
    watched = run_of(student, case, exercise)
    order = ORDERS[exercise]
    for name in watched.memory.arrays:
        allowed = [1.0 if name in order.results else 0.0]
        if name in order.state:
            loads = _loads(watched, case, exercise, name)
            got = watched.times("load", name)
            allowed = [each + 1 for each in loads if isclose(each, got, abs_tol=1e-9)]
            allowed = allowed or [each + 1 for each in loads]
        _expect_times(watched, "store", name, allowed)


def _loads(watched: WatchedMemory, case: AttentionCase, exercise: str, name: str) -> list[float]:
    """How often an array may be loaded: the first loading of what waits may be saved.

    If causal, that is held against the tiles that are loaded at all; another check looks at those.
    """
    order = ORDERS[exercise]
    if name in order.once:
        return [1.0]
    if name not in order.in_turns + order.state:
        return [0.0]
    outer = case.outer_tiles(order)
    turns = watched.turns(outer) if case.is_causal else float(len(outer))
    return [turns, turns - 1] if name in order.state else [turns]


def _expect_times(watched: WatchedMemory, kind: str, name: str, allowed: list[float]) -> None:
    got = watched.times(kind, name)
    if any(isclose(got, each, abs_tol=1e-9) for each in allowed):
        return
    size = watched.memory.arrays[name].numel()
    verb = "loaded from" if kind == "load" else "stored in"
    ways = " or ".join(_in_words(each, size) for each in allowed)
    raise Wrong(f"how many numbers are {verb} {name}", expected=ways, got=_in_words(got, size))


def _in_words(times: float, size: int) -> str:
    how_often = {0: "none", 1: "all of it once"}.get(times, f"all of it {times:.3g} times")
    return f"{times * size:,.0f} ({how_often})"


def expect_skips(student: Student, case: AttentionCase, exercise: str) -> None:
    """Pairs of tiles are on the chip together if, and only if, some query sees a key."""
    pairs = run_of(student, case, exercise).pairs
    for start, stop in tiles(case.n_rows, case.tile_q):
        for first_key, last_key in tiles(case.n_rows, case.tile_kv):
            met = pairs[start:stop, first_key:last_key]
            seen = torch.ones_like(met).tril(start - first_key)
            names = f"queries {start} to {stop - 1} and keys {first_key} to {last_key - 1}"
            if (seen & ~met).any():
                why = "Some of these queries see some of these keys."
                raise Wrong(names, expected="loaded for each other", got="left out", why=why)
            if met.any() and not seen.any():
                why = "All these keys come after all these queries: leave the pair out."
                raise Wrong(names, expected="left out", got="loaded for each other", why=why)


def expect_fit(student: Student, case: AttentionCase, exercise: str) -> None:
    """The work is done on a chip of exactly four tiles."""
    watched = run_of(student, case, exercise)
    n_stored = len(_stored_rows(watched, "O"))
    if n_stored < case.n_rows:
        raise Wrong("rows of O that are stored", expected=f"{case.n_rows}", got=f"{n_stored}")
    _expect_meetings(watched)


def _expect_meetings(watched: WatchedMemory) -> None:
    """Every query was on the chip together with some keys, in the order of the algorithm."""
    has_met = watched.pairs.any(-1).tolist()
    if not all(has_met):
        outer = " and ".join(watched.order.once)
        raise Wrong(
            f"keys that query {has_met.index(False)} meets on the chip, for a tile of {outer} "
            "after the other",
            expected="all of them",
            got="none",
        )


def expect_nothing_kept(student: Student, case: AttentionCase, exercise: str) -> None:
    """The output follows from what was loaded last, not from copies of an earlier turn."""
    watched = run_of(student, case, exercise)
    order = ORDERS[exercise]
    _expect_meetings(watched)
    names = ", ".join(order.in_turns + order.state)
    why = (
        "If the output is right elsewhere, a copy from an earlier turn was used: others may write "
        f"to memory between turns, so use {names} as loaded in this turn."
    )
    got = watched.memory.arrays["O"]
    expect_tensor(got, watched.output(), "what O holds", why=why, tolerance=TOLERANCE)
