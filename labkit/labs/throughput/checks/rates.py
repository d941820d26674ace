"""Checks of `tokens_per_s` and `fit_steps`.

The first is about the median run of the whole batch, the second about the line through all times.
"""

import math
import statistics
from dataclasses import dataclass
from functools import partial
from typing import Any

from labkit.bridge.student import Student
from labkit.checks.compare import expect_number, number_in, show, told
from labkit.checks.core import Wrong, check
from labkit.checks.forms import expect_refusal, expect_refusals, numbers_in
from labkit.checks.slips import is_number

_rate = partial(check, "tokens_per_s", gate=True)
_fit = partial(check, "fit_steps", gate=True)


@dataclass(frozen=True, slots=True)
class RateCase:
    """Runs of a batch, and the tokens per second that they come to."""

    batch_size: int
    n_new: int
    samples_s: tuple[float, ...]
    expected: float

    def __str__(self) -> str:
        n_runs = len(self.samples_s)
        return f"{self.batch_size} sequences of {self.n_new} new tokens, {n_runs} runs"


def _single(case: RateCase) -> bool:
    return len(case.samples_s) == 1


@_rate(hint="Multiply batch_size by n_new, and divide by the seconds.", applies_to=_single)
def all_sequences_count(student: Student, case: RateCase) -> None:
    """A run counts `n_new` tokens for each sequence of the batch."""
    got = student.tokens_per_s(case.batch_size, case.n_new, list(case.samples_s))
    slips = {
        1 / case.batch_size: "These are the tokens of one sequence. Multiply by batch_size.",
        1 / case.n_new: "These are sequences per second. Multiply by n_new.",
        1e-3: "These are thousands of tokens per second.",
        1 / case.expected**2: "These are seconds per token. Return tokens per second.",
        case.samples_s[0]: "That is the number of tokens. Divide by the seconds.",
    }
    why = told(text for factor, text in slips.items() if is_number(got, case.expected * factor))
    expect_number(got, case.expected, "tokens per second", relative=1e-6, why=why)


@_rate(
    hint="Divide by the median of the times, not by the mean.",
    applies_to=lambda case: len(case.samples_s) > 1 and len(case.samples_s) % 2,
)
def the_median_run_counts(student: Student, case: RateCase) -> None:
    """With several runs, the median time decides, so one slow run changes nothing."""
    _expect_median(student, case)


@_rate(
    weight=0.5,
    hint="Sort the times. Take the mean of the two in the middle.",
    applies_to=lambda case: len(case.samples_s) % 2 == 0,
)
def two_runs_may_be_in_the_middle(student: Student, case: RateCase) -> None:
    """With an even number of runs, the median is the mean of the two middle times."""
    _expect_median(student, case)


def _expect_median(student: Student, case: RateCase) -> None:
    middle = statistics.median(case.samples_s)

    def rate(*samples_s: float) -> float:
        got = student.tokens_per_s(case.batch_size, case.n_new, list(samples_s))
        return number_in(got, "tokens per second")

    alone, twice = rate(middle), rate(2 * middle)
    if not (alone > 0 and math.isclose(alone, 2 * twice, rel_tol=1e-6)):
        raise Wrong("a run that takes twice as long", expected="half the rate", got=show(twice))
    mean = statistics.fmean(case.samples_s)
    ratios = statistics.fmean(1 / sample for sample in case.samples_s)
    in_order, n = sorted(case.samples_s), len(case.samples_s)
    slips = {
        "That is the mean time. Take the median time.": middle / mean,
        "That is the mean of the rates. Take the median time.": middle * ratios,
        "That is the fastest run. Take the median.": middle / in_order[0],
        "That is the slowest run. Take the median.": middle / in_order[-1],
        "That is the first run. Take the median.": middle / case.samples_s[0],
        "That is the last run. Take the median.": middle / case.samples_s[-1],
        "The times were not sorted before the middle one was taken.": middle
        / case.samples_s[n // 2],
        "That is one of the two middle times. Take their mean.": middle / in_order[n // 2],
        "That is the other one of the two middle times. Take their mean.": middle
        / in_order[(n - 1) // 2],
        "That is the median of the rates. Take the median of the times.": middle
        * statistics.median(1 / sample for sample in case.samples_s),
    }
    got = rate(*case.samples_s)
    why = told(text for text, factor in slips.items() if is_number(got, alone * factor))
    expect_number(got, alone, "tokens per second", relative=1e-6, why=why)


@_rate(weight=0.5, hint="Raise ValueError if samples_s is empty.", gate=False)
def no_samples_have_no_rate(student: Student, case: RateCase) -> None:
    """If there are no samples, the function raises ValueError."""
    expect_refusal(
        lambda: student.tokens_per_s(case.batch_size, case.n_new, []),
        "ValueError",
        "tokens per second of no samples",
        why="Without a measurement there is no rate, not even 0.",
    )
    number_in(
        student.tokens_per_s(case.batch_size, case.n_new, list(case.samples_s)),
        "tokens per second",
    )


@dataclass(frozen=True, slots=True)
class FitCase:
    """Times of runs by new tokens, and the line that they lie on or around."""

    n_new: tuple[int, ...]
    times_s: tuple[float, ...]
    prefill_s: float
    step_s: float
    is_exact: bool = True

    def __str__(self) -> str:
        where = "on" if self.is_exact else "around"
        return f"times of {', '.join(map(str, self.n_new))} new tokens {where} a line"


def _fitted(student: Student, case: FitCase) -> list[float]:
    def play() -> Any:
        return student.fit_steps(list(case.n_new), list(case.times_s))

    return numbers_in(student.once(("fit_steps", case), play), "prefill and step", 2)


# A line fitted in single precision: its slope is this exact, its height to such a part of a step.
SLOPE, HEIGHT = 1e-5, 1e-3


@_fit(
    hint="Return the slope of the line as the second number.",
    applies_to=lambda case: case.is_exact,
)
def a_step_is_the_slope(student: Student, case: FitCase) -> None:
    """If the times are on a line, the second number is its slope."""
    prefill_s, step_s = _fitted(student, case)
    why = ""
    if math.isclose(prefill_s, case.step_s, rel_tol=1e-6):
        why = "The order is wrong: return the prefill first, then the step."
    expect_number(step_s, case.step_s, "seconds per step", relative=SLOPE, why=why)


@_fit(
    hint="Fit the times against n - 1: a run of n tokens has n - 1 steps.",
    applies_to=lambda case: case.is_exact,
)
def the_prefill_makes_the_first_token(student: Student, case: FitCase) -> None:
    """The first number is the value of the line at one new token."""
    prefill_s, step_s = _fitted(student, case)
    at_one = case.prefill_s
    why = ""
    if math.isclose(prefill_s, at_one - case.step_s, rel_tol=1e-6, abs_tol=1e-12):
        why = "That is the value at 0 new tokens. Take it at 1."
    elif is_number(prefill_s, min(zip(case.n_new, case.times_s, strict=True))[1]):
        why = "That is the time of the shortest run. Take the value of the line at 1 new token."
    rounding_s = HEIGHT * case.step_s
    expect_number(prefill_s, at_one, "seconds of the prefill", absolute=rounding_s, why=why)
    if not step_s > 0:
        raise Wrong("seconds per step", expected="more than 0", got=show(step_s))


@_fit(
    hint="Fit all points by least squares, for example with numpy.polyfit.",
    applies_to=lambda case: not case.is_exact,
)
def all_points_have_a_say(student: Student, case: FitCase) -> None:
    """If the times are not on a line, the fit is by least squares."""

    def off(step_s: float) -> float:
        """The least sum of squares around a line of this slope, wherever it begins."""
        rest = [t - (n - 1) * step_s for n, t in zip(case.n_new, case.times_s, strict=True)]
        middle = math.fsum(rest) / len(rest)
        return sum((each - middle) * (each - middle) for each in rest)

    got = _fitted(student, case)  # in either order: which comes first is another check's matter
    best = off(case.step_s)
    if not min(map(off, got)) <= 1.0001 * best + 1e-15:
        (n_first, first_s), *_, (n_last, last_s) = sorted(
            zip(case.n_new, case.times_s, strict=True)
        )
        of_two = (last_s - first_s) / (n_last - n_first)
        why = "This is the line through the first and the last point. Use all points."
        raise Wrong(
            "the least sum of squares around a line of your slope",
            expected=f"{best:.4g}, that of the best slope",
            got=f"{off(got[1]):.4g}",
            why=why if any(is_number(each, of_two) for each in got) else "",
        )


@_fit(
    weight=0.5,
    hint="Raise ValueError if n_new has fewer than two different numbers.",
    gate=False,
)
def one_length_determines_no_line(student: Student, case: FitCase) -> None:
    """If all runs have the same n_new, the function raises ValueError."""
    once, thrice = [case.n_new[0]], [case.n_new[0]] * 3
    refused = {
        f"times of {n_new} new tokens": (n_new, list(case.times_s[: len(n_new)]))
        for n_new in (once, thrice)
    }
    expect_refusals(student.fit_steps, refused)
    _fitted(student, case)


OPEN_CASES = {
    "tokens_per_s": [
        RateCase(batch_size=4, n_new=16, samples_s=(0.5,), expected=128.0),
        RateCase(batch_size=2, n_new=10, samples_s=(0.5, 4.0, 0.25), expected=40.0),
        RateCase(batch_size=3, n_new=8, samples_s=(1.5, 0.25, 4.0, 0.5), expected=24.0),
    ],
    "fit_steps": [
        FitCase((1, 2, 4, 8), (0.5, 0.75, 1.25, 2.25), prefill_s=0.5, step_s=0.25),
        FitCase((1, 3, 5), (1.0, 2.0, 6.0), prefill_s=0.5, step_s=1.25, is_exact=False),
    ],
}
