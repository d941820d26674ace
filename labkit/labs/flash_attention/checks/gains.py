"""Checks of lab 7's seconds, and of the least tile that is worth it."""

from dataclasses import dataclass
from functools import partial
from math import isclose

from labkit.bridge.student import Student
from labkit.checks.compare import expect_number, show
from labkit.checks.core import Wrong, check
from labkit.labs.flash_attention.checks.turns import expect_count, two_numbers_in

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


@dataclass(frozen=True, slots=True)
class LeastCase:
    """The least tile with which FlashAttention-1 moves less, None if there is none.

    kind: "some"; "ends", if it is all rows or there is none; "tie", if a smaller one moves as much.
    by_reads, as_much: the least tile that reads less, and the least that moves as much or less.
    """

    kind: str
    n_rows: int
    head_dim: int
    right: int | None
    by_reads: int | None = None
    as_much: int | None = None

    def __str__(self) -> str:
        return f"N = {self.n_rows}, D = {self.head_dim}"

    def expect(self, student: Student) -> None:
        """Raise Wrong unless the student finds this tile; a slip is named if it finds theirs."""
        slips = {
            self.by_reads: "That is the least tile with fewer reads. Compare reads plus writes.",
            self.as_much: "With this tile both move the same. FlashAttention must move less.",
        }
        got = student.least_tile(self.n_rows, self.head_dim)
        if self.right is None:
            if got is not None:
                raise Wrong(
                    "the least tile, where no tile is enough", expected="None", got=show(got)
                )
        elif got is None:
            raise Wrong("the least tile", expected=show(self.right), got="None")
        else:
            slips = {tile: why for tile, why in slips.items() if tile is not None}
            expect_count(got, self.right, "the least tile", slips=slips)


_least = partial(check, "least_tile", gate=True, parts=("standard_traffic", "flash_1_traffic"))


@_least("some", hint="Compare reads plus writes with reads plus writes.")
def the_least_tile_that_moves_less(student: Student, case: LeastCase) -> None:
    """least_tile is the smallest tile_kv with which FlashAttention-1 moves less in total."""
    case.expect(student)


@_least("ends", hint="Try tiles from 1 to n_rows, n_rows included. Test with N = 1 and N = 2.")
def a_tile_may_have_all_rows_or_not_exist(student: Student, case: LeastCase) -> None:
    """least_tile tries up to n_rows rows, and returns None if no tile is enough."""
    case.expect(student)


@_least("tie", weight=0.5, hint="Use `<`, not `<=`.")
def as_much_is_not_less(student: Student, case: LeastCase) -> None:
    """A tile with which both algorithms move the same is not enough."""
    case.expect(student)


OPEN_CASES = {
    "run_times": [
        SecondsCase(6e12, 1e12, 2e12, 5e11, computing_s=3, moving_s=2, after_s=5, overlap_s=3),
        SecondsCase(1e12, 3e12, 4e12, 1e12, 0.25, moving_s=3, after_s=3.25, overlap_s=3),
    ],
    "least_tile": [
        LeastCase("some", 61, 17, 16, by_reads=21),
        LeastCase("some", 82, 23, 21, by_reads=28),
        LeastCase("ends", 13, 10, 13),
        LeastCase("ends", 10, 21, None),
        LeastCase("ends", 1, 1, None),
        LeastCase("tie", 49, 10, 10, by_reads=13, as_much=9),
    ],
}
