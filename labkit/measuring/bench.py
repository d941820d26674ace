"""A bench: what an experiment of any lab measures with, and the record that it fills."""

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from labkit.measuring.machine.hardware import roofline_rows
from labkit.measuring.profiles import MachineProfile
from labkit.measuring.recorder import Recorder
from labkit.measuring.records import Row, least_samples

if TYPE_CHECKING:
    from labkit.measuring.calibration import Calibrator


@dataclass(frozen=True, slots=True)
class Bench:
    """A profile, a record to fill, and how long it may take.

    harness: the functions to measure with, of a lab where students write them; None for the kit's.
    point_s: about how long the kept runs of one point may take together; fewer are kept of slow
    ones, but never fewer than `least`. skip_s: a point whose single run should take longer is
    recorded as skipped. calibrator: of a record that others will read; it says how much the machine
    was disturbed. Such a record needs `least_samples`, and so does one that is_thorough.
    """

    profile: MachineProfile
    recorder: Recorder
    harness: Any = None
    point_s: float = 4.0
    skip_s: float = 30.0
    calibrator: "Calibrator | None" = None
    is_thorough: bool = False

    def least(self, run_s: float) -> int:
        """The least number of runs to keep, if a run takes run_s seconds."""
        return least_samples(run_s) if self.calibrator or self.is_thorough else 2

    def save(self, row: Row) -> None:
        """Write a row into the record; into one for others, with the calibration around it."""
        if self.calibrator:
            row = self.calibrator.around(row)
            if self.calibrator.drift(row) > self.calibrator.allowed:
                print(f"{row}: disturbed, {self.calibrator.drift(row):.0%} slower than at best")
        self.recorder.save(row)

    def fill(self, experiment: Callable[..., Iterator[Row]], **settings: Any) -> None:
        """Save the rows of an experiment as they are measured, and say what each of them is.

        experiment(profile, is_done=..., **settings) gives the rows that are not done yet.
        """
        for row in experiment(self.profile, is_done=self.recorder.is_done, **settings):
            self.save(row)
            print(f"{row}: {row.outcome if row.time_s is None else f'{row.time_s:.4g} s'}")


def roofline(bench: Bench) -> None:
    """Measure the machine: its roofline, its memory, its name in the fact table."""
    for row in roofline_rows(bench.profile, bench.recorder.is_done):
        bench.recorder.save(row)
