"""Checks of lab 3's slopes of measured times."""

from dataclasses import dataclass
from itertools import pairwise

from labkit.bridge.student import Student
from labkit.checks.compare import expect_number, list_in
from labkit.checks.core import check
from labkit.checks.forms import expect_refusals


@dataclass(frozen=True, slots=True)
class SlopesCase:
    """Measured times, lengths rising; `order` is how they are handed over."""

    n_new: tuple[int, ...]
    times_s: tuple[float, ...]
    expected: tuple[float, ...]
    order: tuple[int, ...] = ()

    def __str__(self) -> str:
        return f"the lengths {list(self.given[0])}"

    @property
    def given(self) -> tuple[list[int], list[float]]:
        order = self.order or range(len(self.n_new))
        return [self.n_new[i] for i in order], [self.times_s[i] for i in order]


def _expect_slopes(student: Student, case: SlopesCase) -> None:
    n = len(case.expected)
    points = list(zip(*case.given, strict=True))
    slopes = list_in(student.slopes(*case.given), "the slopes", f"{n} numbers", n)
    whole = "Do not divide a time by its length: it contains the prefill too."
    slips = {time_s / length: whole for length, time_s in points}
    for (n_one, one_s), (n_next, next_s) in pairwise(points):
        slips[(next_s - one_s) / (n_next - n_one)] = "Sort the lengths, and their times with them."
    rounding = 1e-6 * max(case.times_s)  # of times in single precision
    for i, (one, expected) in enumerate(zip(slopes, case.expected, strict=True)):
        what = f"slope {i + 1}"
        expect_number(one, expected, what, relative=1e-5, absolute=rounding, slips=slips)


@check(
    "slopes",
    hint="Divide the difference of two times by the difference of their lengths.",
    applies_to=lambda case: not case.order,
    gate=True,
)
def slopes_are_rises_over_runs(student: Student, case: SlopesCase) -> None:
    """A slope is the difference of two times divided by the difference of two lengths."""
    _expect_slopes(student, case)


@check(
    "slopes",
    hint="Sort the lengths first, together with their times.",
    applies_to=lambda case: bool(case.order),
    gate=True,
)
def the_order_of_points_does_not_matter(student: Student, case: SlopesCase) -> None:
    """Lengths in any order give the slopes from the shortest to the longest."""
    _expect_slopes(student, case)


@check("slopes", hint="Raise ValueError in the three cases of the docstring.")
def what_has_no_slope_is_refused(student: Student, case: SlopesCase) -> None:
    """One length, a length that occurs twice, or a missing time is a ValueError."""
    n_new, times_s = case.given
    refused = {
        "only one length": (n_new[:1], times_s[:1]),
        "a length that occurs twice": ([*n_new, n_new[0]], [*times_s, times_s[0]]),
        "more lengths than times": (n_new, times_s[:-1]),
    }
    expect_refusals(student.slopes, refused)
    student.slopes(n_new, times_s)


OPEN_CASES = {
    "slopes": [
        SlopesCase((1, 2, 4, 8), (0.5, 0.75, 1.25, 2.25), expected=(0.25, 0.25, 0.25)),
        SlopesCase((10, 30, 70), (1.0, 2.0, 8.0), expected=(0.05, 0.15), order=()),
        SlopesCase((4, 5, 6), (1.0, 1.5, 2.5), expected=(0.5, 1.0), order=(2, 0, 1)),
    ],
}
