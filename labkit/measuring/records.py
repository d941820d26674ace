"""Measurements on disk: a line of provenance, then a line per row, written as they are measured.

Raw samples are kept, so that every figure and every median can be made again from the file. A row
is on the disk before the next one is measured: an interrupted sweep goes on where it stopped.
"""

import math
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from labkit.lazy import offer
from labkit.measuring.lines import NothingMeasured as NothingMeasured
from labkit.measuring.lines import RecordError, build, objects_in
from labkit.measuring.provenance import Provenance
from labkit.models.facts import data_path

# Notebooks of release 0.1 import it from here.
_, __getattr__, _ = offer(__name__, {"labkit.measuring.recorder": "Recorder"})
FORMAT_VERSION = 1
OUT_OF_MEMORY = "out of memory"
LONG_RUN_S, N_SAMPLES, N_LONG = 5.0, 10, 5  # runs of a point: ten, and five of long ones
IsDone = Callable[[tuple], bool]  # whether the row with this key has been measured


@dataclass(frozen=True, slots=True)
class Row:
    """One measured point: what was run, and every sample of its time.

    Lengths are in tokens. setting: separates this point from others with the same numbers ("round
    2", "half offloaded"). events_s: the same runs by CUDA events. counts: what was counted rather
    than timed ("prefill_tokens"). calibration_s: a fixed computation before and after; see
    `calibration`. outcome: "ok", "out of memory" or another word or two.
    Raises: ValueError for numbers that no run can have, and for "ok" without samples.
    """

    experiment: str
    model: str
    batch_size: int
    n_input: int
    n_new: int
    use_cache: bool
    samples_s: tuple[float, ...] = ()
    events_s: tuple[float, ...] = ()
    peak_bytes: int | None = None
    outcome: str = "ok"
    note: str = ""
    setting: str = ""
    counts: Mapping[str, float] = field(default_factory=dict)
    calibration_s: tuple[float, ...] = ()

    def __post_init__(self) -> None:
        for name, least in (("batch_size", 1), ("n_input", 0), ("n_new", 0)):
            if getattr(self, name) < least:
                raise ValueError(f"{name} must be at least {least}, got {getattr(self, name)}")
        if self.peak_bytes is not None and self.peak_bytes < 0:
            raise ValueError(f"peak_bytes must be at least 0, got {self.peak_bytes}")
        for name, value in self.counts.items():
            if not 0 <= value < math.inf:
                raise ValueError(f"counts are numbers from 0 up, got {name} = {value}")
        for name in ("samples_s", "events_s", "calibration_s"):
            for sample in getattr(self, name):
                if not (math.isfinite(sample) and sample > 0):
                    raise ValueError(f"{name} are seconds above 0, got {sample}")
        if self.is_ok != bool(self.samples_s):
            raise ValueError(
                f"a row is ok exactly when it has samples; got {self.outcome!r} and "
                f"{len(self.samples_s)} samples"
            )

    def __str__(self) -> str:
        """The run, in words."""
        sizes = f"batch {self.batch_size}, {self.n_input} in, {self.n_new} new"
        how = "" if self.use_cache or not self.n_new else "without cache"
        return ", ".join(filter(None, (self.experiment, self.model, self.setting, sizes, how)))

    @property
    def is_ok(self) -> bool:
        return self.outcome == "ok"

    @property
    def short_model(self) -> str:
        """The model without the name of who made it."""
        return self.model.rpartition("/")[2]

    @property
    def key(self) -> tuple:
        """The point of the run: two rows with the same key measure the same point."""
        sizes = (self.batch_size, self.n_input, self.n_new, self.use_cache)
        return (self.experiment, self.model, *sizes, self.setting)

    @property
    def key_before(self) -> tuple:
        """Its key while n_input was not known yet."""
        return (*self.key[:3], 0, *self.key[4:])

    @property
    def time_s(self) -> float | None:
        """The median of the samples; None without any."""
        return statistics.median(self.samples_s) if self.samples_s else None

    @property
    def spread_s(self) -> tuple[float, float] | None:
        """The quartiles: the middle half of the samples lies between them."""
        return middle_half(self.samples_s) if self.samples_s else None

    @property
    def tokens_per_s(self) -> float | None:
        """New tokens of the whole batch per second of the median run; None where there are none."""
        if not self.n_new or self.time_s is None:
            return None
        return self.batch_size * self.n_new / self.time_s


def least_samples(run_s: float) -> int:
    """The least number of samples of a point, by the seconds of a run."""
    return N_SAMPLES if run_s < LONG_RUN_S else N_LONG


def middle_half(samples: Sequence[float]) -> tuple[float, float]:
    """The quartiles: the middle half of the samples lies between them."""
    if len(samples) == 1:
        return samples[0], samples[0]
    low, _, high = statistics.quantiles(samples, n=4, method="inclusive")
    return low, high


@dataclass(frozen=True, slots=True)
class Record:
    """The rows of a file. If a point was measured twice, the later row counts."""

    provenance: Provenance
    rows: tuple[Row, ...]

    def of(self, experiment: str, model: str | None = None) -> list[Row]:
        """The rows of an experiment, in the order of measurement; of one model if it is given."""
        return [
            row for row in self.rows if row.experiment == experiment and model in (None, row.model)
        ]


def read_record(path: str | Path) -> Record:
    """The record in a file; a last line that an interrupt tore is left out.

    Raises: RecordError naming the line, and the field if there is one to name.
    """
    path = Path(path)
    (i, head), *found = objects_in(path)
    if head.get("format") != FORMAT_VERSION:
        raise RecordError(
            f"{path}, line {i}: this labkit reads records of format {FORMAT_VERSION}, got "
            f"{head.get('format')!r}; measure again, or read it with the version that wrote it"
        )
    provenance = build(Provenance, head.get("provenance"), f"{path}, line {i}, provenance")
    rows = {}
    for i, each in found:
        row = build(Row, each, f"{path}, line {i}")
        for key in {row.key, row.key_before} & rows.keys():
            if key != row.key or rows[key].outcome != OUT_OF_MEMORY:
                rows.pop(key)
        rows[row.key] = row  # what had no room at first keeps its place
    return Record(provenance, tuple(rows.values()))


def recorded_results(pattern: str = "*.jsonl") -> dict[str, Record]:
    """The records that ship with the kit, by the name of their file without its ending."""
    found = sorted(data_path("results").glob(pattern))
    return {path.stem: read_record(path) for path in found}


def read_records(place: str | Path) -> dict[str, Record]:
    """The record in a file, or all of a folder, by the name of the file without its ending.

    Raises: ValueError if there is none.
    """
    place = Path(place)
    paths = sorted(place.glob("*.jsonl")) if place.is_dir() else [place]
    if not paths:
        raise ValueError(f"{place} has no record (*.jsonl): measure one first")
    return {path.stem: read_record(path) for path in paths}


def with_rows(records: Mapping[str, Record], experiment: str) -> dict[str, Record]:
    """The records that have something of an experiment.

    Raises: ValueError if none has.
    """
    kept = {name: record for name, record in records.items() if has_rows(record, experiment)}
    if not kept:
        raise ValueError(f"no record has rows of the experiment {experiment}: measure it first")
    return kept


def has_rows(record: Record, experiment: str) -> bool:
    """Whether anything of an experiment was measured."""
    return any(row.is_ok for row in record.of(experiment))


def measured(
    row: Row,
    samples_s: Sequence[float],
    counts: Mapping[str, float],
    n_peak_bytes: int | None = None,
) -> Row:
    """The row with its samples, what was counted, and the most memory that its runs took."""
    done = {"samples_s": tuple(samples_s), "outcome": "ok", "counts": dict(counts)}
    return replace(row, peak_bytes=n_peak_bytes, **done)
