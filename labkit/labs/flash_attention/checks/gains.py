"""Checks of lab 7's seconds."""

from dataclasses import dataclass
from functools import partial
from math import isclose

from labkit.bridge.student import Student
from labkit.checks.compare import expect_number
from labkit.checks.core import check
from labkit.labs.flash_attention.checks.turns import two_numbers_in

_expect_seconds = partial(expect_number, relative=1e-6)  # of single precision


@dataclass(frozen=True, slots=True)
class SecondsCase:
    """Work and speeds, the seconds that either part takes, and those of both."""

    n_flops: float
    n_bytes: float
    flops_per_s: float
    bytes_per_s: float
    computing_s: float
    moving_s: float
    after_s: float
    overlap_s: float

    def __str__(self) -> str:
        return f"{self.computing_s:g} s of computing and {self.moving_s:g} s of moving"

    def ask(self, student: Student) -> tuple[float, float]:
        """The student's two times."""
        got = student.run_times(self.n_flops, self.n_bytes, self.flops_per_s, self.bytes_per_s)
        return two_numbers_in(got, "the seconds")


_times = partial(check, "run_times", gate=True)


@_times(hint="Divide work by speed for each part, and add the two.")
def one_after_the_other_adds_up(student: Student, case: SecondsCase) -> None:
    """The first result is the seconds if computing and moving follow each other."""
    after_s, overlap_s = case.ask(student)
    if isclose(overlap_s, case.after_s):
        slips = {case.overlap_s: "That is the time with overlap. It comes second."}
        return _expect_seconds(after_s, case.after_s, "seconds, one after the other", slips=slips)
    slips = {
        case.computing_s + 4 * case.moving_s: "n_bytes is in bytes already.",
        case.computing_s: "Add the time of moving.",
        case.moving_s: "Add the time of computing.",
    }
    _expect_seconds(after_s, case.after_s, "seconds, one after the other", slips=slips)


@_times(hint="Take the longer of the two times.")
def overlapping_work_takes_as_long_as_the_slower(student: Student, case: SecondsCase) -> None:
    """The second result is the seconds if computing and moving overlap perfectly."""
    _, overlap_s = case.ask(student)
    slips = {
        case.after_s: "That is the time without overlap.",
        case.computing_s: "That is computing alone. The longer time decides, and moving is longer.",
        case.moving_s: "That is moving alone. The longer time decides, and computing is longer.",
    }
    _expect_seconds(overlap_s, case.overlap_s, "seconds, overlapping", slips=slips)


OPEN_CASES = {
    "run_times": [
        SecondsCase(6e12, 1e12, 2e12, 5e11, computing_s=3, moving_s=2, after_s=5, overlap_s=3),
        SecondsCase(1e12, 3e12, 4e12, 1e12, 0.25, moving_s=3, after_s=3.25, overlap_s=3),
    ],
}
