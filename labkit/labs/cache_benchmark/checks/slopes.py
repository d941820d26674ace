"""Checks of lab 3's slopes of measured times."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from itertools import pairwise
from math import isclose

from labkit.bridge.student import Student
from labkit.checks.compare import expect_number, joined, list_in, number_in
from labkit.checks.core import check
from labkit.checks.forms import expect_refusals

_slopes = partial(check, "slopes", gate=True)


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
    got = list_in(student.slopes(*case.given), "the slopes", f"{n} numbers", n)
    slopes = [number_in(one, f"slope {i + 1}") for i, one in enumerate(got)]
    rounding = 1e-6 * max(case.times_s)  # of times in single precision

    def agree(slip: list[float]) -> bool:
        pairs = zip(slopes, slip, strict=True)
        return all(isclose(*pair, rel_tol=1e-5, abs_tol=rounding) for pair in pairs)

    why = joined(sentence for sentence, slip in _slips(case) if agree(slip))
    for i, (one, expected) in enumerate(zip(slopes, case.expected, strict=True)):
        expect_number(one, expected, f"slope {i + 1}", relative=1e-5, absolute=rounding, why=why)


def _slips(case: SlopesCase) -> Iterator[tuple[str, list[float]]]:
    """The sentences for the slopes of known mistakes."""
    n_given, given_s = case.given
    points = sorted(zip(n_given, given_s, strict=True))
    whole_s = [time_s / length for length, time_s in points]
    yield "Sort the lengths, and their times with them.", _rises(n_given, given_s)
    alone = "The lengths were sorted without their times. Keep each time with its length."
    yield alone, _rises(sorted(n_given), given_s)
    apart = "The times were sorted by themselves. Keep each time with its length."
    yield apart, _rises(sorted(n_given), sorted(given_s))
    whole = "Do not divide a time by its length: it contains the prefill too."
    yield whole, whole_s[1:]
    yield whole, whole_s[:-1]
    rises_s = [next_s - one_s for (_, one_s), (_, next_s) in pairwise(points)]
    yield "That is the difference of two times. Divide by the difference of the lengths.", rises_s
    inverse = [1 / slope if slope else 0.0 for slope in case.expected]
    yield "These are tokens per second. Return seconds for each further token.", inverse
    (first, first_s), *others = points
    yield (
        "Take the difference from the next shorter length, not from the shortest one.",
        [(time_s - first_s) / (length - first) for length, time_s in others],
    )


def _rises(lengths: list[int], times_s: list[float]) -> list[float]:
    """The slopes between neighbours in this order."""
    points = pairwise(zip(lengths, times_s, strict=True))
    return [(next_s - one_s) / (n_next - n_one) for (n_one, one_s), (n_next, next_s) in points]


@_slopes(
    hint="Divide the difference of two times by the difference of their lengths.",
    applies_to=lambda case: not case.order,
)
def slopes_are_rises_over_runs(student: Student, case: SlopesCase) -> None:
    """A slope is the difference of two times divided by the difference of two lengths."""
    _expect_slopes(student, case)


@_slopes(
    hint="Sort the lengths first, together with their times.",
    applies_to=lambda case: bool(case.order),
)
def the_order_of_points_does_not_matter(student: Student, case: SlopesCase) -> None:
    """Lengths in any order give the slopes from the shortest to the longest."""
    _expect_slopes(student, case)


@_slopes(hint="Raise ValueError in the three cases of the docstring.")
def what_has_no_slope_is_refused(student: Student, case: SlopesCase) -> None:
    """One length, a length that occurs twice, or a missing time is a ValueError."""
    n_new, times_s = case.given
    refused = {
        "only one length": (n_new[:1], times_s[:1]),
        "no length": ([], []),
        "a length that occurs twice": ([*n_new, n_new[0]], [*times_s, times_s[0]]),
        "more lengths than times": (n_new, times_s[:-1]),
        "more times than lengths": (n_new[:-1], times_s),
    }
    expect_refusals(student.slopes, refused)
    student.slopes(n_new, times_s)
    list_in(student.slopes(n_new[:2], times_s[:2]), "the slopes of two lengths", "one number", 1)


OPEN_CASES = {
    "slopes": [
        SlopesCase((1, 2, 4, 8), (0.5, 0.75, 1.25, 2.25), expected=(0.25, 0.25, 0.25)),
        SlopesCase((10, 30, 70), (1.0, 2.0, 8.0), expected=(0.05, 0.15), order=()),
        SlopesCase((4, 5, 6), (1.0, 2.5, 1.5), expected=(1.5, -1.0), order=(2, 0, 1)),
    ],
}
