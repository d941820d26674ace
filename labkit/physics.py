"""The physics gate: which measured rows cannot be, and why, in a sentence each.

A row is refused only for what no machine of its kind could do, so an honest row is never refused:
the floors count only bytes beyond what a processor's caches may hold. A roofline that was measured
is no bound: on a busy machine the next run may be faster. So a machine without a data sheet is
held against what any machine of its kind stays below.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import pairwise

from labkit.facts import gpus, vram_readings
from labkit.memory import kv_cache_bytes, weight_bytes
from labkit.records import Record, Row
from labkit.roofline import BYTES, Floor, ModelWork, Roofline, pass_floor
from labkit.tiny import has_facts

CARD_CACHE_BYTES = 2**27  # more than the L2 of any card of the table
HOST_CACHE_BYTES = 2**29  # more than most processors have
ANY_CPU = Roofline("any CPU", bandwidth=2e12, peaks=dict.fromkeys(BYTES, 1e13))
ANY_GPU = Roofline("any GPU", bandwidth=2e13, peaks=dict.fromkeys(BYTES, 1e16))
NOISE = 0.8  # a longer run may come out this much faster before we doubt it
ROUNDING = 0.02


def implausible(
    row: Row,
    model: ModelWork | str,
    machine: Roofline | str,
    dtype: str,
    *,
    tokens_per_s: float | None = None,
    memory_bytes: int | None = None,
) -> list[str]:
    """Why a row cannot be true, a sentence for each reason; an empty list if it can.

    machine: a card of the table, which also says how much memory there is unless memory_bytes does;
    or a roofline that nothing of its kind exceeds, such as `ANY_CPU`. tokens_per_s: what a table
    claims beside the time.
    Raises: ValueError for a model or a card without facts, a dtype without hardware.
    """
    roofline = Roofline.of(machine) if isinstance(machine, str) else machine
    work = ModelWork.of(model) if isinstance(model, str) else model
    if memory_bytes is None and roofline.name in gpus():
        memory_bytes = vram_readings(roofline.name)["driver"][0]
    found = [*_too_fast(row, work, roofline, dtype), *_wrong_rate(row, tokens_per_s)]
    if memory_bytes is not None:
        found += _wrong_about_memory(row, work, dtype, memory_bytes)
    return found


def implausible_series(rows: Iterable[Row]) -> list[str]:
    """Where more new tokens took less time, among runs that are otherwise the same."""
    found = []
    for group in _groups(rows):
        for shorter, longer in pairwise(group):
            is_clear = max(longer.samples_s) < min(shorter.samples_s)
            if is_clear and longer.time_s < NOISE * shorter.time_s:
                found.append(
                    f"{longer.n_new} new tokens in {longer.time_s:.3g} s cannot take less than "
                    f"{shorter.n_new} in {shorter.time_s:.3g} s, all else equal."
                )
    return found


def least_time_s(row: Row, model: ModelWork | str, machine: Roofline | str, dtype: str) -> float:
    """Seconds that what a row ran takes at least: the floors of all its passes, added up.

    Bytes that a processor's caches may hold are not counted, for they may not have to move.
    """
    roofline = Roofline.of(machine) if isinstance(machine, str) else machine
    cache_bytes = CARD_CACHE_BYTES if roofline.name in gpus() else HOST_CACHE_BYTES
    floors = floors_of(row, model, roofline, dtype)
    cached_s = cache_bytes / roofline.bandwidth
    return sum(max(floor.moving_s - cached_s, floor.computing_s) for floor in floors)


def floors_of(row: Row, model: ModelWork | str, machine: Roofline | str, dtype: str) -> list[Floor]:
    """The floor of each pass that a run of this row makes, the prefill first."""
    roofline = Roofline.of(machine) if isinstance(machine, str) else machine
    work = ModelWork.of(model) if isinstance(model, str) else model
    return [
        pass_floor(roofline, work, n_fed, n_cached, row.batch_size, dtype)
        for n_fed, n_cached in _passes(row)
    ]


def refusals(record: Record) -> list[str]:
    """What is impossible in a whole record, each sentence naming its row; needs its roofline."""
    machine, memory_bytes = machine_of(record)
    if machine.name not in gpus():
        machine = ANY_GPU if record.provenance.driver else ANY_CPU
    found = []
    for row in record.rows:
        if has_facts(row.model) and row.outcome in ("ok", "out of memory"):
            reasons = implausible(
                row, row.model, machine, record.provenance.dtype, memory_bytes=memory_bytes
            )
            found += [f"{_name(row)}: {reason}" for reason in reasons]
    return found + implausible_series(record.rows)


def machine_of(record: Record) -> tuple[Roofline, int | None]:
    """The roofline of the machine that a record is from, and its memory in bytes if known.

    A card of the table by its data sheet; another machine by what was measured at the time.
    Raises: ValueError if the record has no row "roofline".
    """
    rows = record.of("roofline")
    if not rows:
        raise ValueError(
            "this record has no row of the experiment roofline, so nothing says what its machine "
            "can do: measure roofline into the same file"
        )
    row = rows[-1]
    memory = int(row.counts["memory_bytes"]) if row.counts.get("memory_bytes") else None
    if row.note in gpus():
        return Roofline.of(row.note), memory
    peaks = {name: value for name, value in row.counts.items() if name in BYTES}
    peaks = peaks or {record.provenance.dtype: row.counts["peak"]}
    name = f"{record.provenance.device}, measured"
    return Roofline(name=name, bandwidth=row.counts["bandwidth"], peaks=peaks), memory


def _passes(row: Row) -> list[tuple[int, int]]:
    """The passes that a run makes: tokens fed to each sequence, tokens cached before."""
    n_input = max(1, row.n_input)
    if row.n_new == 0:
        return [(n_input, 0)]
    if row.use_cache:
        return [(n_input, 0), *((1, n_input + i) for i in range(row.n_new - 1))]
    return [(n_input + i, 0) for i in range(row.n_new)]


def _too_fast(row: Row, work: ModelWork, roofline: Roofline, dtype: str) -> list[str]:
    if not row.samples_s:
        return []
    least_s = least_time_s(row, work, roofline, dtype)
    fastest_s = min(row.samples_s)
    if fastest_s >= least_s:
        return []
    return [
        f"{fastest_s:.3g} s is less than the {least_s:.3g} s that {roofline.name} needs at least "
        f"to move and compute {len(_passes(row))} passes over {work.shape.name}."
    ]


def _wrong_rate(row: Row, claimed: float | None) -> list[str]:
    if claimed is None or row.time_s is None or not row.n_new:
        return []
    right = row.n_new * row.batch_size / row.time_s
    if abs(claimed - right) <= ROUNDING * right:
        return []
    return [
        f"{claimed:.4g} tokens/s is not {row.batch_size} x {row.n_new} tokens in "
        f"{row.time_s:.4g} s, which is {right:.4g}."
    ]


def _wrong_about_memory(row: Row, work: ModelWork, dtype: str, memory_bytes: int) -> list[str]:
    width = BYTES[dtype.removeprefix("torch.")]
    n_tokens = row.n_input + row.n_new
    weights = weight_bytes(work.shape.n_params, width)
    cache = kv_cache_bytes(work.shape, n_tokens - 1, row.batch_size, width) if n_tokens > 1 else 0
    least = weights + (cache if row.use_cache and row.n_new > 1 else 0)
    if row.is_ok and least > memory_bytes:
        return [
            f"weights and cache are {least / 1e9:.1f} GB, the machine has "
            f"{memory_bytes / 1e9:.1f}: this cannot have run."
        ]
    # Logits of all positions in 32 bits, a dozen activations, the cache copied while it grows.
    alive = row.batch_size * n_tokens * (work.shape.vocab_size * 6 + 48 * work.shape.d_model)
    most = weights + 3 * cache + alive
    if row.outcome == "out of memory" and most < memory_bytes / 2:
        return [
            f"it needs {most / 1e9:.1f} GB at most, the machine has {memory_bytes / 1e9:.1f}: "
            "memory cannot have run out unless something else held it."
        ]
    return []


def _groups(rows: Iterable[Row]) -> Sequence[list[Row]]:
    """Rows that differ in new tokens only, each group in the order of these."""
    found: dict[tuple, list[Row]] = {}
    for row in rows:
        if row.samples_s and row.n_new:
            same = (row.experiment, row.model, row.batch_size, row.n_input, row.use_cache)
            found.setdefault((*same, row.setting), []).append(row)
    return [sorted(group, key=lambda row: row.n_new) for group in found.values()]


def _name(row: Row) -> str:
    sizes = f"batch {row.batch_size}, {row.n_input} in, {row.n_new} new"
    return f"{row.experiment}, {row.model}, {sizes}"
