"""Checks of `tokens_per_s` and `fit_steps`.

The first is about the median run of the whole batch, the second about the line through all times.
"""

import math
import statistics
from collections.abc import Callable

from labkit.checks.tables import CallTable, Claim, call


def count_slips(
    batch_size: int, n_new: int, samples_s: list[float], right: float
) -> dict[str, float]:
    """The tokens per second of one run by known mistakes."""
    return {
        "These are the tokens of one sequence. Multiply by batch_size.": right / batch_size,
        "These are sequences per second. Multiply by n_new.": right / n_new,
        "These are thousands of tokens per second.": right / 1e3,
        "These are seconds per token. Return tokens per second.": 1 / right,
        "That is the number of tokens. Divide by the seconds.": right * samples_s[0],
    }


def of_median(rate: Callable, batch_size: int, n_new: int, samples_s: list[float]) -> list[float]:
    """The rate beside that of the median time alone, and that beside the rate of twice the time."""
    middle = statistics.median(samples_s)
    alone, twice = (rate(batch_size, n_new, [n * middle]) for n in (1, 2))
    return [rate(batch_size, n_new, samples_s) / alone, alone / twice]


def median_slips(batch_size: int, n_new: int, samples_s: list[float]) -> dict[str, list[float]]:
    """The rates of known mistakes, other than that of the median time."""
    middle, in_order, n = statistics.median(samples_s), sorted(samples_s), len(samples_s)
    times_s = {
        "That is the mean time. Take the median time.": statistics.fmean(samples_s),
        "That is the mean of the rates. Take the median time.": statistics.harmonic_mean(samples_s),
        "That is the fastest run. Take the median.": in_order[0],
        "That is the slowest run. Take the median.": in_order[-1],
        "That is the first run. Take the median.": samples_s[0],
        "That is the last run. Take the median.": samples_s[-1],
        "The times were not sorted before the middle one was taken.": samples_s[n // 2],
        "That is one of the two middle times. Take their mean.": in_order[n // 2],
        "That is the other one of the two middle times. Take their mean.": in_order[(n - 1) // 2],
        "That is the median of the rates. Take the median of the times.": (
            1 / statistics.median(1 / each for each in samples_s)
        ),
    }
    return {text: [middle / time_s, 2] for text, time_s in times_s.items() if time_s != middle}


tokens_per_s = CallTable(
    "tokens_per_s",
    "tokens per second",
    [
        Claim(
            "all_sequences_count",
            "A run counts `n_new` tokens for each sequence of the batch.",
            hint="Multiply batch_size by n_new, and divide by the seconds.",
            rows=[call(4, 16, [0.5]).gives(128)],
            slips=count_slips,
        ),
        Claim(
            "the_median_run_counts",
            "With several runs, the median time decides, so one slow run changes nothing.",
            hint="Divide by the median of the times, not by the mean.",
            of=of_median,
            what="the rate divided by that of the median time, and that by the rate of twice the "
            "time",
            rows=[call(2, 10, [0.5, 4.0, 0.25]).gives([1, 2])],
            slips=median_slips,
        ),
        Claim(
            "two_runs_may_be_in_the_middle",
            "With an even number of runs, the median is the mean of the two middle times.",
            hint="Sort the times. Take the mean of the two in the middle.",
            weight=0.5,
            of=of_median,
            what="the rate divided by that of the median time, and that by the rate of twice the "
            "time",
            rows=[call(3, 8, [1.5, 0.25, 4.0, 0.5]).gives([1, 2])],
            slips=median_slips,
        ),
        Claim(
            "no_samples_have_no_rate",
            "If there are no samples, the function raises ValueError.",
            hint="Raise ValueError if samples_s is empty.",
            weight=0.5,
            gate=False,
            what="tokens per second of no samples",
            why="Without a measurement there is no rate, not even 0.",
            rows=[call(4, 16, []).gives(ValueError)],
        ),
    ],
)

# A line fitted in single precision: its slope is this exact, its height to such a part of a step.
SLOPE, HEIGHT = 1e-5, 1e-3
ON_LINE = call([1, 2, 4, 8], [0.5, 0.75, 1.25, 2.25])


def height(fit: Callable, n_new: list[int], times_s: list[float]) -> list:
    """The first number in steps of a line through all points, and whether there is a second."""
    (one, one_s), (other, other_s), *_ = zip(n_new, times_s, strict=True)
    prefill_s, step_s = fit(n_new, times_s)
    return [prefill_s * (other - one) / (other_s - one_s), step_s > 0]


def height_slips(n_new: list[int], times_s: list[float], right: list) -> dict[str, list]:
    """The same by known mistakes."""
    n_shortest = min(n_new)
    return {
        "That is the value at 0 new tokens. Take it at 1.": [right[0] - 1, True],
        "That is the time of the shortest run. Take the value of the line at 1 new token.": (
            [right[0] + n_shortest - 1, True]
        ),
    }


def least_squares(fit: Callable, n_new: list[int], times_s: list[float]) -> list[float]:
    """The sum of squares around the line of this slope, and how far from all points it lies.

    The first is wherever the line begins. The second is a part of the longest time. Both are for
    the better order of the two numbers, and the second for the line at 1 or at 0 new tokens.
    """
    numbers = fit(n_new, times_s)

    def off(step_s: float) -> float:
        rest = [time_s - (n - 1) * step_s for n, time_s in zip(n_new, times_s, strict=True)]
        middle = math.fsum(rest) / len(rest)
        return sum((each - middle) * (each - middle) for each in rest)

    heights = [
        math.fsum(t - begin - (n - at) * step for n, t in zip(n_new, times_s, strict=True))
        for begin, step in (numbers, numbers[::-1])
        for at in (0, 1)
    ]
    return [min(map(off, numbers)), round(min(map(abs, heights)) / len(n_new) / max(times_s), 3)]


def other_lines(n_new: list[int], times_s: list[float]) -> dict[str, list[float]]:
    """The same for the line through two points, and for one moved to the shortest run."""
    (first, first_s), *_, (last, last_s) = sorted(zip(n_new, times_s, strict=True))
    step_s = (last_s - first_s) / (last - first)
    best_s = statistics.linear_regression(n_new, times_s).slope
    lines = {
        "This is the line through the first and the last point. Use all points.": step_s,
        "The slope is right. Take the prefill from the line, not from the shortest run.": best_s,
    }
    return {
        why: least_squares(lambda *points, s=each_s: [first_s - (first - 1) * s, s], n_new, times_s)
        for why, each_s in lines.items()
    }


fit_steps = CallTable(
    "fit_steps",
    "prefill and step",
    [
        Claim(
            "a_step_is_the_slope",
            "If the times are on a line, the second number is its slope.",
            hint="Return the slope of the line as the second number.",
            of=lambda f, *points: f(*points)[1],
            what="seconds per step",
            relative=SLOPE,
            rows=[ON_LINE.gives(0.25)],
            slips=lambda n_new, times_s, right: {
                "The order is wrong: return the prefill first, then the step.": (
                    times_s[0] - (n_new[0] - 1) * right
                )
            },
        ),
        Claim(
            "the_prefill_makes_the_first_token",
            "The first number is the value of the line at one new token.",
            hint="Fit the times against n - 1: a run of n tokens has n - 1 steps.",
            of=height,
            what="seconds of the prefill, in steps, and whether a step takes any",
            relative=1e-9,
            absolute=HEIGHT,
            rows=[ON_LINE.gives([2, True])],
            slips=height_slips,
        ),
        Claim(
            "all_points_have_a_say",
            "If the times are not on a line, the fit is by least squares.",
            hint="Fit all points by least squares, for example with numpy.polyfit.",
            of=least_squares,
            what="the sum of squares around a line of your slope, and how far your line is from "
            "the middle of all points, as a part of the longest time",
            relative=1e-4,
            absolute=1e-15,
            rows=[call([1, 3, 5], [1.0, 2.0, 6.0]).gives([1.5, 0])],
            slips=other_lines,
        ),
        Claim(
            "one_length_determines_no_line",
            "If all runs have the same n_new, the function raises ValueError.",
            hint="Raise ValueError if n_new has fewer than two different numbers.",
            weight=0.5,
            gate=False,
            what="a line through times of one length",
            rows=[
                call([1], [0.5]).gives(ValueError),
                call([1] * 3, [0.5, 0.75, 1.25]).gives(ValueError),
            ],
        ),
    ],
)
