"""Checks of `tokens_per_s`, `fit_steps` and `limit_of`.

The first is about the median run of the whole batch, the second about the line through all times,
the third about the longest of three times.
"""

import math
import statistics
from dataclasses import dataclass
from typing import Any

from labkit.bridge.student import Student, StudentError
from labkit.checks.compare import expect_number, number_in, refuse_blank, show
from labkit.checks.core import Wrong, check
from labkit.checks.forms import expect_refusal, expect_refusals, numbers_in
from labkit.checks.slips import is_number, told


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


@check("tokens_per_s", hint="How many tokens does one run make?", applies_to=_single, gate=True)
def all_sequences_count(student: Student, case: RateCase) -> None:
    """A run makes `n_new` tokens for each sequence of the batch."""
    got = student.tokens_per_s(case.batch_size, case.n_new, list(case.samples_s))
    slips = {
        1 / case.batch_size: "Those are the tokens of one sequence.",
        1 / case.n_new: "Those are runs, not tokens.",
        1e-3: "Those are thousands of tokens.",
        1 / case.expected**2: "Those are seconds per token: turn it round.",
        case.samples_s[0]: "Those are the tokens: divide by the seconds.",
    }
    why = told(text for factor, text in slips.items() if is_number(got, case.expected * factor))
    expect_number(got, case.expected, "tokens per second", relative=1e-6, why=why)


@check(
    "tokens_per_s", hint="One run in a hundred is slow: it should not move the number.",
    applies_to=lambda case: len(case.samples_s) > 1 and len(case.samples_s) % 2, gate=True,
)  # fmt: skip
def the_median_run_counts(student: Student, case: RateCase) -> None:
    """Of several runs, the median one gives the rate; a slow one does not move it."""
    _expect_median(student, case)


@check(
    "tokens_per_s", weight=0.5, hint="Which two runs stand in the middle, once they are sorted?",
    applies_to=lambda case: len(case.samples_s) % 2 == 0,
)  # fmt: skip
def two_runs_may_be_in_the_middle(student: Student, case: RateCase) -> None:
    """Of an even number of runs, the median is the mean of the two middle times."""
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
        "That is the mean run: one slow run moves it.": middle / mean,
        "That is a mean of rates: a fast run counts more than a slow one.": middle * ratios,
        "That is the best run.": middle / in_order[0],
        "That is the slowest run.": middle / in_order[-1],
        "That is the first run.": middle / case.samples_s[0],
        "That is the last run.": middle / case.samples_s[-1],
        "The runs were not sorted.": middle / case.samples_s[n // 2],
        "That is one of the two in the middle.": middle / in_order[n // 2],
        "That is the other of the two in the middle.": middle / in_order[(n - 1) // 2],
        "That is the median of the rates; take the median of the times.": middle
        * statistics.median(1 / sample for sample in case.samples_s),
    }
    got = rate(*case.samples_s)
    why = told(text for text, factor in slips.items() if is_number(got, alone * factor))
    expect_number(got, alone, "tokens per second", relative=1e-6, why=why)


@check("tokens_per_s", weight=0.5, hint="What should a run out of memory give?")
def no_samples_have_no_rate(student: Student, case: RateCase) -> None:
    """Without samples there is no rate: a ValueError."""
    expect_refusal(
        lambda: student.tokens_per_s(case.batch_size, case.n_new, []),
        "ValueError",
        "tokens per second of no samples",
        why="Nothing measured is not 0, and not infinitely fast.",
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


@check(
    "fit_steps", hint="The step is the slope of the line.", applies_to=lambda case: case.is_exact
)
def a_step_is_the_slope(student: Student, case: FitCase) -> None:
    """Where the times lie on a line, the second number is what one more token takes."""
    prefill_s, step_s = _fitted(student, case)
    why = ""
    if math.isclose(prefill_s, case.step_s, rel_tol=1e-6):
        why = "The prefill comes first, then the step."
    expect_number(step_s, case.step_s, "seconds per step", relative=SLOPE, why=why)


@check(
    "fit_steps", hint="Which token does the prefill make? How many steps make the others?",
    applies_to=lambda case: case.is_exact,
)  # fmt: skip
def the_prefill_makes_the_first_token(student: Student, case: FitCase) -> None:
    """The first number is the time of one new token, where no step has been made yet."""
    prefill_s, step_s = _fitted(student, case)
    at_one = case.prefill_s
    why = ""
    if math.isclose(prefill_s, at_one - case.step_s, rel_tol=1e-6, abs_tol=1e-12):
        why = "That is where the line meets zero tokens: a run that makes nothing."
    rounding_s = HEIGHT * case.step_s
    expect_number(prefill_s, at_one, "seconds of the prefill", absolute=rounding_s, why=why)
    if not step_s > 0:
        raise Wrong("seconds per step", expected="more than 0", got=show(step_s))


@check(
    "fit_steps", hint="All points have a say: minimise the sum of squares.",
    applies_to=lambda case: not case.is_exact,
)  # fmt: skip
def all_points_have_a_say(student: Student, case: FitCase) -> None:
    """Where the times scatter, the line is the one of least squares."""

    def off(step_s: float) -> float:
        """The least sum of squares around a line of this slope, wherever it begins."""
        rest = [t - (n - 1) * step_s for n, t in zip(case.n_new, case.times_s, strict=True)]
        middle = math.fsum(rest) / len(rest)
        return sum((each - middle) * (each - middle) for each in rest)

    got = _fitted(student, case)  # in either order: which comes first is another check's matter
    best = off(case.step_s)
    if not min(map(off, got)) <= 1.0001 * best + 1e-15:
        raise Wrong(
            "the least sum of squares around a line of your slope",
            expected=f"{best:.4g}, that of the best slope",
            got=f"{off(got[1]):.4g}",
        )


@check("fit_steps", weight=0.5, hint="How many lines go through one point?")
def one_length_determines_no_line(student: Student, case: FitCase) -> None:
    """Times of a single number of tokens, however many, are a ValueError."""
    once, thrice = [case.n_new[0]], [case.n_new[0]] * 3
    refused = {
        f"times of {n_new} new tokens": (n_new, list(case.times_s[: len(n_new)]))
        for n_new in (once, thrice)
    }
    expect_refusals(student.fit_steps, refused)
    _fitted(student, case)


@dataclass(frozen=True, slots=True)
class LimitCase:
    """A step's three least times, with its measured time. right: the limit; None if impossible."""

    step_s: float
    n_layers: int
    launch_s_per_layer: float
    moving_s: float
    computing_s: float
    right: str | None

    def __str__(self) -> str:
        return (
            f"{self.n_layers} layers launched in {1e3 * self.launch_s_per_layer:g} ms each, "
            f"{1e3 * self.moving_s:g} ms of moving, {1e3 * self.computing_s:g} ms of computing, "
            f"a step of {1e3 * self.step_s:g} ms"
        )


def _expect_limit(student: Student, case: LimitCase) -> None:
    """The student names the limit, and another one where that time is a hundredth."""
    least_s = {
        "launch": case.n_layers * case.launch_s_per_layer,
        "memory": case.moving_s,
        "compute": case.computing_s,
    }
    got = _limit(student, case, least_s)
    if got != case.right:
        named = f"{1e3 * least_s[case.right]:g} ms, the longest of the three"
        why = _limit_slip(student)
        raise Wrong("the limit", expected=f'"{case.right}" ({named})', got=show(got), why=why)
    shrunk = least_s | {case.right: least_s[case.right] / 100}
    if _limit(student, case, shrunk) == case.right:
        why = f"where its time is {1e3 * shrunk[case.right]:g} ms, shorter than another"
        raise Wrong("the limit", expected=f"not {case.right!r}, {why}", got=show(case.right))


def _limit(student: Student, case: LimitCase, least_s: dict[str, float]) -> str:
    got = student.limit_of(
        case.step_s,
        case.n_layers,
        least_s["launch"] / case.n_layers,
        least_s["memory"],
        least_s["compute"],
    )
    refuse_blank(got)
    if not isinstance(got, str):
        names = " or ".join(f'"{name}"' for name in least_s)
        raise Wrong("the limit", expected=names, got=show(got))
    return got.strip().lower()


LIMIT_PROBES = (  # step_s, n_layers, launch_s_per_layer, moving_s, computing_s
    (1.0, 10, 0.03, 0.1, 0.2),
    (1.0, 10, 0.01, 0.4, 0.2),
    (1.0, 10, 0.01, 0.2, 0.4),
    (1.0, 10, 0.05, 0.1, 0.3),
)
LIMIT_SLIPS = {
    "Launching takes its time for every layer: that of one layer was taken.": (
        ("compute", "memory", "compute", "compute")
    ),
    "Moving is the floor of memory, computing that of compute: they are mixed up.": (
        ("launch", "compute", "memory", "launch")
    ),
    "That is the shortest of the three times; the longest is the limit.": (
        ("memory", "launch", "launch", "memory")
    ),
}


def _limit_slip(student: Student) -> str:
    """What is said of the answers that known mistakes give on all probes."""
    try:
        got = tuple(student.limit_of(*probe) for probe in LIMIT_PROBES)
    except StudentError:
        return ""
    if not all(isinstance(each, str) for each in got):
        return ""
    return told(text for text, given in LIMIT_SLIPS.items() if got == given)


def _has(right: str | None) -> Any:
    return lambda case: case.right == right


@check("limit_of", hint="Launching takes its time for each layer.", applies_to=_has("launch"))
def many_layers_wait_for_launches(student: Student, case: LimitCase) -> None:
    """Where launching all layers takes the longest, the limit is "launch"."""
    _expect_limit(student, case)


@check("limit_of", hint="moving_s is the floor of memory.", applies_to=_has("memory"))
def many_bytes_wait_for_memory(student: Student, case: LimitCase) -> None:
    """Where moving bytes takes the longest, the limit is "memory"."""
    _expect_limit(student, case)


@check("limit_of", hint="computing_s is the floor of compute.", applies_to=_has("compute"))
def many_products_wait_for_compute(student: Student, case: LimitCase) -> None:
    """Where computing takes the longest, the limit is "compute"."""
    _expect_limit(student, case)


@check("limit_of", hint="A floor is what no device beats.", applies_to=_has(None))
def a_step_below_its_floor_is_refused(student: Student, case: LimitCase) -> None:
    """A step faster than moving or computing allows is a ValueError, launching set aside."""
    sizes = (case.n_layers, case.launch_s_per_layer, case.moving_s, case.computing_s)
    floor_s = max(case.moving_s, case.computing_s)
    expect_refusal(
        lambda: student.limit_of(case.step_s, *sizes),
        "ValueError",
        f"a step of {1e3 * case.step_s:g} ms on a floor of {1e3 * floor_s:g} ms",
        why="Such a number is no success: something was measured wrongly.",
    )
    slow_launch_s = 3 * floor_s / case.n_layers
    slower = (case.n_layers, slow_launch_s, case.moving_s, case.computing_s)
    possible = {
        "a step of twice the floor, faster than its launches": (2 * floor_s, *slower),
        "a step as long as its floor": (floor_s, *sizes),
    }
    for what, arguments in possible.items():
        try:
            refuse_blank(student.limit_of(*arguments))
        except StudentError as error:
            if not error.is_a("ValueError"):
                raise
            raise Wrong(what, expected="no error", got=str(error)) from None


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
    "limit_of": [
        LimitCase(0.030, 36, 0.00075, 0.005, 0.001, "launch"),
        LimitCase(0.120, 28, 0.001, 0.090, 0.010, "memory"),
        LimitCase(0.900, 12, 0.002, 0.020, 0.500, "compute"),
        LimitCase(0.004, 12, 0.002, 0.005, 0.001, None),
    ],
}
