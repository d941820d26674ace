"""A fixed small computation, timed before, between and after the rows: a disturbed machine shows.

It has a part of each kind that the experiments have: large products, which take the device's time,
and many small operations, which take the host's. Nothing in it depends on a model.
"""

import statistics
import time
from collections.abc import Callable
from dataclasses import replace

from labkit.measuring.records import Record, Row

DRIFT = 0.10  # a row with a larger drift is marked, and should be measured again
N_TIMES = 5
SIZES = {"cpu": (384, 8, 400), "cuda": (2048, 64, 400)}  # of the products, and how many of each


class Calibrator:
    """Times the computation now, and again around every row that it is shown.

    run: takes the seconds. Rows that are shown one right after the other were measured together,
    and have the same times around them.
    """

    allowed = DRIFT

    def __init__(
        self, run: Callable[[], float], clock: Callable[[], float] = time.perf_counter
    ) -> None:
        self._run, self._clock = run, clock
        self._last_s = self.fastest_s = run()
        self._around: tuple[float, ...] = ()
        self._since_s = clock()

    @classmethod
    def on(cls, device: str) -> "Calibrator":
        """Of this machine, with a first run to warm it up."""
        run = computation(device)
        run()
        return cls(run)

    def around(self, row: Row) -> Row:
        """The row with the times of the computation before and after it."""
        if not row.samples_s:
            return row
        is_new = self._clock() - self._since_s >= sum(row.samples_s) / 2
        if is_new or not self._around:
            now_s = self._run()
            self._around, self._last_s = (self._last_s, now_s), now_s
            self.fastest_s = min(self.fastest_s, now_s)
        self._since_s = self._clock()
        return replace(row, calibration_s=self._around)

    def drift(self, row: Row) -> float:
        """By which part the machine was slower around a row than at its fastest so far."""
        return drift_from(self.fastest_s, row)


def drift_from(fastest_s: float, row: Row) -> float:
    """By which part the computation took longer around a row than fastest_s; 0 if unknown."""
    return max(row.calibration_s) / fastest_s - 1 if row.calibration_s else 0.0


def drifts(record: Record) -> list[tuple[Row, float]]:
    """The rows of a record around which the machine was slower than `DRIFT` allows, by how much."""
    known = [row for row in record.rows if row.calibration_s]
    fastest_s = min((min(row.calibration_s) for row in known), default=1.0)
    return [(row, drift) for row in known if (drift := drift_from(fastest_s, row)) > DRIFT]


def computation(device: str) -> Callable[[], float]:
    """A function that gives the median seconds of the fixed computation on a device."""
    import torch

    from labkit.measuring.device import synchronize

    size, n_products, n_small = SIZES["cuda" if device.startswith("cuda") else "cpu"]
    factor = torch.ones(size, size, device=device) / size
    small = torch.zeros(8, device=device)

    def once() -> float:
        synchronize()
        start_s = time.perf_counter()
        for _ in range(n_products):
            factor @ factor
        for _ in range(n_small):
            small.add_(1)
        synchronize()
        return time.perf_counter() - start_s

    return lambda: statistics.median(once() for _ in range(N_TIMES))
