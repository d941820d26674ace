"""What the checks of the attention functions expect of a run's moves, and of pairs of tiles."""

from collections.abc import Iterator, Mapping
from itertools import product
from math import isclose

import torch

from labkit.bridge.student import Student, StudentError
from labkit.checks.core import Wrong
from labkit.labs.flash_attention.checks.memory import WatchedMemory
from labkit.labs.flash_attention.checks.runs import (
    ORDERS,
    AttentionCase,
    plain_case,
    run_of,
    seen_pairs,
)
from labkit.models.counted_memory import tiles

EACH_STEP = "That is a store for each tile of keys. Store it once, after the inner loop."


def expect_loads(student: Student, case: AttentionCase, exercise: str) -> None:
    """Every array is loaded as often as the algorithm says, and no other."""
    watched = run_of(student, case, exercise)
    expect_order(watched, case)
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
        n_steps = len(list(tiles(case.n_rows, case.tile_kv))) if order.in_turns == "KV" else 0
        facts = dict.fromkeys((n_steps, n_steps + 1), EACH_STEP) if n_steps > 2 else {}
        _expect_times(watched, "store", name, allowed, facts)


def _loads(watched: WatchedMemory, case: AttentionCase, exercise: str, name: str) -> list[float]:
    """How often an array may be loaded: the first loading of what waits may be saved.

    If causal, pairs that should have been left out, or were left out, may be counted as they were;
    another check looks at those.
    """
    order = ORDERS[exercise]
    if name in order.once:
        return [1.0]
    if name not in order.in_turns + order.state:
        return [0.0]
    turns = _turns_met(watched, case) if case.is_causal else [float(len(case.outer_tiles(order)))]
    return turns + [each - 1 for each in turns] if name in order.state else turns


def _turns_met(watched: WatchedMemory, case: AttentionCase) -> list[float]:
    """How often tiles of the inner loop met tiles of the outer loop: expected, and counted."""
    inner = watched.order.in_turns[0]
    met = watched.meetings("Q", "K", coming=inner)
    seen = seen_pairs(case)
    turns = []
    for pairs in (seen, met):
        by_row = pairs if inner == "Q" else pairs.T
        tiles_met = (by_row[:, a:b].any(1).sum() for a, b in case.outer_tiles(watched.order))
        turns.append(float(sum(tiles_met)) / case.n_rows)
    return turns


def _expect_times(
    watched: WatchedMemory,
    kind: str,
    name: str,
    allowed: list[float],
    facts: Mapping[float, str] | None = None,
) -> None:
    got = watched.times(kind, name)
    if any(isclose(got, each, abs_tol=1e-9) for each in allowed):
        return
    size = watched.memory.arrays[name].numel()
    verb = "loaded from" if kind == "load" else "stored in"
    ways = " or ".join(dict.fromkeys(_in_words(each, size) for each in allowed))
    what, why = f"how many numbers are {verb} {name}", (facts or {}).get(round(got, 9), "")
    raise Wrong(what, expected=ways, got=_in_words(got, size), why=why)


def _in_words(times: float, size: int) -> str:
    how_often = {0: "none", 1: "all of it once"}.get(times, f"all of it {times:.3g} times")
    return f"{times * size:,.0f} ({how_often})"


def expect_order(watched: WatchedMemory, case: AttentionCase) -> None:
    """The outer loop goes over the array that it should."""
    order = watched.order
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


def expect_skips(student: Student, case: AttentionCase, exercise: str) -> None:
    """Pairs of tiles are on the chip together if, and only if, some query sees a key.

    Of a pair that is left out nothing is loaded or stored; that is not asked where too much is
    moved without a mask already.
    """
    watched = run_of(student, case, exercise)
    expect_order(watched, case)
    expect_meetings(watched, case)
    inner = watched.order.in_turns[0]
    seen = seen_pairs(case)
    met, n_loads = watched.meetings("Q", "K", coming=inner), torch.tensor(watched.loads(inner))
    for rows, columns in _pairs(case):
        own, others = (rows, case.tile_kv) if inner == "Q" else (columns, case.tile_q)
        is_met = met[slice(*rows), slice(*columns)].any()
        wanted = (seen if inner == "Q" else seen.T)[own[0], ::others].sum()
        if is_met and not seen[rows[0], columns[0]] and n_loads[slice(*own)].max() > wanted:
            why = "All these keys come after all these queries. Skip the pair."
            what, got = _named(rows, columns), "loaded"
            raise Wrong(what, expected="skipped", got=got, why=why)
    try:
        expect_loads(student, case, exercise)
        expect_stores(student, case, exercise)
    except Wrong:
        if _is_counted_right(student, plain_case(case), exercise):
            raise


def _is_counted_right(student: Student, case: AttentionCase, exercise: str) -> bool:
    try:
        expect_loads(student, case, exercise)
        expect_stores(student, case, exercise)
    except (Wrong, StudentError):
        return False
    return True


def _pairs(case: AttentionCase) -> Iterator[tuple[tuple[int, int], tuple[int, int]]]:
    return product(tiles(case.n_rows, case.tile_q), tiles(case.n_rows, case.tile_kv))


def _named(rows: tuple[int, int], columns: tuple[int, int]) -> str:
    return f"queries {rows[0]} to {rows[1] - 1} and keys {columns[0]} to {columns[1] - 1}"


def expect_fit(student: Student, case: AttentionCase, exercise: str) -> None:
    """The work is done on a chip of exactly four tiles, with the scores of one pair of tiles."""
    watched = run_of(student, case, exercise)
    n_stored = len(watched.stored_rows("O"))
    if n_stored < case.n_rows:
        raise Wrong("rows of O that are stored", expected=f"{case.n_rows}", got=f"{n_stored}")
    expect_order(watched, case)
    expect_meetings(watched, case)
    waiting = watched.most_waiting("K", "V")
    if waiting > 2 * case.tile_kv:
        why = "That keeps a whole row of scores, or all values, on the chip. Take tile after tile."
        what = "rows of K that are loaded before their rows of V, or the other way round"
        raise Wrong(what, expected=f"{2 * case.tile_kv} at most", got=f"{waiting}", why=why)


def expect_meetings(watched: WatchedMemory, case: AttentionCase) -> None:
    """Every query was on the chip together with every key that it sees, and with its value."""
    met = watched.meetings("Q", "K", "QK") & watched.meetings("Q", "V", "QV")
    for rows, columns in _pairs(case):
        here = met[slice(*rows), slice(*columns)]
        seen = torch.ones_like(here)
        if case.is_causal:
            seen = seen.tril(rows[0] - columns[0])
        if (seen & ~here).any():
            why = "Some of these queries see some of these keys." if case.is_causal else ""
            what, got = _named(rows, columns), "never there together"
            raise Wrong(what, expected="on the chip together", got=got, why=why)
