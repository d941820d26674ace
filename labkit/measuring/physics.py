"""The physics gate: a sentence for each measured row that is impossible.

A row is refused only for what no machine of its kind could do, so an honest row is never refused:
the floors count only bytes beyond what a processor's caches may hold. A roofline that was measured
is no bound: on a busy machine the next run may be faster. So a machine without a data sheet is
held against what any machine of its kind stays below.
"""

from labkit.measuring.bounds import bound_of, knows_machine, limits_of, machine_of
from labkit.measuring.records import OUT_OF_MEMORY, Record, Row
from labkit.measuring.roofline import (
    BYTES,
    Floor,
    ModelWork,
    Roofline,
    as_roofline,
    as_work,
    pass_floor,
)
from labkit.measuring.series import NOISE as NOISE  # what checks of tables allow for
from labkit.measuring.series import implausible_series, too_short_for_the_prompt
from labkit.models.facts import gpus, vram_readings
from labkit.models.sizes import weight_bytes
from labkit.models.tiny import has_facts

CARD_CACHE_BYTES = 2**28  # more than the caches of any card of the table
HOST_CACHE_BYTES = 2**32  # more than any processor has
ROUNDING = 0.02
SCORE_BYTES = 12  # of a score that is kept: the product, its softmax in 32 bits, copies of both


def implausible(
    row: Row,
    model: ModelWork | str,
    machine: Roofline | str,
    dtype: str,
    *,
    memory_bytes: int | None = None,
) -> list[str]:
    """Why a row cannot be true, a sentence for each reason; an empty list if it can.

    machine: a card of the table, which also says how much memory there is unless memory_bytes does;
    or a roofline that nothing of its kind exceeds, such as `ANY_CPU`.
    Raises: ValueError for a model or a card without facts, a dtype without hardware.
    """
    roofline = as_roofline(machine)
    work = as_work(model)
    roofline.peak(dtype)  # refuses a dtype without hardware
    if memory_bytes is None and roofline.name in gpus():
        memory_bytes = vram_readings(roofline.name)["driver"][0]
    return [
        *_too_fast(row, work, roofline, dtype),
        *_wrong_about_memory(row, work, dtype, memory_bytes),
        *_wrong_by_itself(row, memory_bytes),
    ]


def refusals(record: Record) -> list[str]:
    """All that is impossible in a record; each sentence names its row.

    For a model without facts there are no floors, and no weights to hold memory against; its clocks
    are compared all the same, and its times with one another. A dtype without hardware is emulated,
    which is slow: the fastest dtype bounds it.
    """
    machine, memory_bytes = limits_of(record.provenance), None
    if knows_machine(record):
        measured, memory_bytes = machine_of(record)
        machine = bound_of(measured) if measured.name in gpus() else machine
    if record.provenance.memory_gb:
        memory_bytes = int(record.provenance.memory_gb * 1e9)
    dtype, found = record.provenance.dtype, []
    for row in record.rows:
        if has_facts(row.model) and dtype in machine.peaks:
            reasons = implausible(row, row.model, machine, dtype, memory_bytes=memory_bytes)
        else:
            reasons = _wrong_by_itself(row, memory_bytes)
        found += [f"{row}: {reason}" for reason in reasons]
    return found + _series_of(record, machine)


def _series_of(record: Record, machine: Roofline) -> list[str]:
    """The contradictions between rows of a record."""
    dtype, found = record.provenance.dtype, implausible_series(record.rows)
    for model in dict.fromkeys(row.model for row in record.rows):
        if has_facts(model) and dtype in machine.peaks:
            rows = [row for row in record.rows if row.model == model]
            found += too_short_for_the_prompt(rows, as_work(model), machine, dtype)
    return found


def least_time_s(row: Row, model: ModelWork | str, machine: Roofline | str, dtype: str) -> float:
    """The least seconds of a row's run: the sum of the floors of all its passes.

    Bytes that a processor's caches may hold are not counted, for they may not have to move.
    """
    roofline = as_roofline(machine)
    cache_bytes = CARD_CACHE_BYTES if roofline.name in gpus() else HOST_CACHE_BYTES
    floors = floors_of(row, model, roofline, dtype)
    cached_s = cache_bytes / roofline.bandwidth
    return sum(max(floor.moving_s - cached_s, floor.computing_s) for floor in floors)


def floors_of(row: Row, model: ModelWork | str, machine: Roofline | str, dtype: str) -> list[Floor]:
    """The floor of each pass that a run of this row makes, the prefill first; by `bound_of`."""
    roofline = bound_of(as_roofline(machine))
    work = as_work(model)
    return [
        pass_floor(roofline, work, n_fed, n_cached, row.batch_size, dtype)
        for n_fed, n_cached in _passes(row)
    ]


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


def _wrong_about_memory(
    row: Row, work: ModelWork, dtype: str, memory_bytes: int | None
) -> list[str]:
    """Less than the weights need, or more than there is; offloaded weights need no room."""
    width = BYTES[dtype.removeprefix("torch.")]
    n_tokens = row.n_input + row.n_new
    weights = weight_bytes(work.shape.n_params, width)
    resident = weights - row.counts.get("offloaded_bytes", 0)
    if row.is_ok and row.peak_bytes is not None and row.peak_bytes < (1 - ROUNDING) * resident:
        return [
            f"its peak memory is {_gb(row.peak_bytes)}, which is less than the weights take, "
            f"{_gb(resident)}."
        ]
    if memory_bytes is None:
        return []
    cache = _cache_bytes(work, n_tokens - 1, row.batch_size, width)
    least = resident + (cache if row.use_cache and row.n_new > 1 else 0)
    if row.is_ok and least > memory_bytes:
        return [
            f"weights and cache take {_gb(least)}, and the machine has {_gb(memory_bytes)}: this "
            "cannot have run."
        ]
    # Logits of all positions in 32 bits, a dozen activations, the cache copied while it grows; and
    # every token's score against every other, which eager attention keeps.
    alive = row.batch_size * n_tokens * (work.shape.vocab_size * 6 + 48 * work.shape.d_model)
    scores = row.batch_size * work.shape.n_heads * n_tokens**2 * SCORE_BYTES
    most = weights + 3 * cache + alive + scores
    free_bytes = min(memory_bytes, row.counts.get("free_bytes", memory_bytes))
    if row.outcome == OUT_OF_MEMORY and most < free_bytes / 2:
        return [
            f"it needs {_gb(most)} at most, and the machine had {_gb(free_bytes)} free: memory "
            "cannot have run out unless another program used it."
        ]
    return []


def _cache_bytes(work: ModelWork, n_tokens: int, batch_size: int, width: int) -> int:
    """Bytes of the KV cache, of which layers with a window keep only that."""
    if n_tokens < 1:
        return 0
    return work.moved_bytes(n_tokens, batch_size, width) - work.moved_bytes(0, batch_size, width)


def _wrong_by_itself(row: Row, memory_bytes: int | None) -> list[str]:
    """The contradictions of a row without any model: its clocks, and the machine's memory."""
    found = []
    if memory_bytes is not None and (row.peak_bytes or 0) > memory_bytes:
        found.append(
            f"its peak memory is {_gb(row.peak_bytes)}, but the machine has {_gb(memory_bytes)}."
        )
    for event_s, sample_s in zip(row.events_s, row.samples_s, strict=False):
        if event_s > 1.05 * sample_s + 1e-3:
            found.append(
                f"CUDA events measured {event_s:.3g} s of work on the device, and the clock "
                f"{sample_s:.3g} s: the clock was read before the device was done."
            )
            break
    return found


def _gb(n_bytes: float) -> str:
    return f"{n_bytes / 1e9:.1f} GB"
