"""The machine of a record: its measured roofline, and the upper limits of its kind."""

from dataclasses import replace

from labkit.measuring.provenance import Provenance
from labkit.measuring.records import OUT_OF_MEMORY, NothingMeasured, Record, RecordError, Row
from labkit.measuring.roofline import BYTES, Roofline
from labkit.models.facts import gpus

CORE_PEAK = 1e13  # FLOP/s, with matrix units; of float32 too, whose products may run in bfloat16
ANY_CPU = Roofline("any CPU", bandwidth=1e13, peaks=dict.fromkeys(BYTES, 1000 * CORE_PEAK))
ANY_GPU = Roofline("any GPU", bandwidth=5e13, peaks=dict.fromkeys(BYTES, 5e16))


def machine_of(record: Record) -> tuple[Roofline, int | None]:
    """The machine that a record is from, to judge times by, and its memory in bytes if known.

    A card of the table by its data sheet, which nothing exceeds; another machine, for want of one,
    by `roofline_of`.
    Raises: NothingMeasured if the record has no row "roofline"; ValueError for one that does not
    say enough.
    """
    row = _roofline_row(record)
    memory = int(row.counts["memory_bytes"]) if row.counts.get("memory_bytes") else None
    return Roofline.of(row.note) if row.note in gpus() else roofline_of(record), memory


def roofline_of(record: Record) -> Roofline:
    """The measured machine of a record, to predict times.

    A program may be slightly faster than this predicts. To judge rows, use `machine_of`.
    Raises: ValueError if the record has no row "roofline", or one that does not say enough.
    """
    counts = _roofline_row(record).counts
    peaks = {name: value for name, value in counts.items() if name in BYTES}
    if "peak" in counts:
        peaks.setdefault(record.provenance.dtype, counts["peak"])
    if "bandwidth" not in counts or not peaks:
        wanted = "peak" if "bandwidth" in counts else "bandwidth"
        raise RecordError(f"the row of the experiment roofline has no {wanted}: measure it again")
    return Roofline(f"{record.provenance.device}, measured", counts["bandwidth"], peaks)


def knows_machine(record: Record) -> bool:
    """Whether a record says what its machine can do."""
    return bool(_roofline_rows(record))


def bound_of(machine: Roofline) -> Roofline:
    """The upper limits of a card of the table, for every dtype; any other machine unchanged.

    Products in float32 may go through TF32, at half the rate of 16 bits, on the cards that have
    bfloat16: both came with sm_80. A dtype without hardware is emulated by one that has some.
    """
    if machine.name not in gpus():
        return machine
    peaks = dict.fromkeys(BYTES, max(machine.peaks.values())) | dict(machine.peaks)
    if gpus()[machine.name]["dense_bf16_tensor_TFLOPS"]:
        peaks["float32"] = max(peaks["float32"], peaks["float16"] / 2)
    return replace(machine, peaks=peaks)


def limits_of(provenance: Provenance) -> Roofline:
    """Upper limits: of any GPU if there is a driver, else of a CPU with this many threads."""
    if provenance.driver:
        return ANY_GPU
    return replace(ANY_CPU, peaks=dict.fromkeys(BYTES, provenance.n_threads * CORE_PEAK))


def _roofline_rows(record: Record) -> list[Row]:
    return [row for row in record.of("roofline") if row.outcome != OUT_OF_MEMORY]


def _roofline_row(record: Record) -> Row:
    rows = _roofline_rows(record)
    if not rows and record.of("roofline"):
        raise NothingMeasured.of(record.of("roofline"), "roofline")
    if not rows:
        raise NothingMeasured(
            "this record has no row of the experiment roofline, so nothing says what its machine "
            "can do: measure it first, into the same file"
        )
    best = {name: max(row.counts.get(name, 0) for row in rows) for name in rows[-1].counts}
    return replace(rows[-1], counts=best)
