"""Checks of `transfer_s` and of the metrics."""

from dataclasses import dataclass
from functools import partial
from typing import Any

from labkit.bridge.student import Student
from labkit.checks.compare import expect_number, number_in, show
from labkit.checks.core import NotJudged, check
from labkit.checks.forms import numbers_in

SINGLE_PRECISION = 1e-5  # numbers of single precision, and differences of them

_transfer = partial(check, "transfer_s", gate=True)
_latencies = partial(check, "latencies", gate=True)
_goodput = partial(check, "goodput", gate=True)


@dataclass(frozen=True, slots=True)
class TransferCase:
    """A KV cache that moves over a link, and the seconds that its bytes alone take."""

    n_tokens: int
    bytes_per_token: int
    bandwidth: float
    latency_s: float
    moving_s: float

    def __str__(self) -> str:
        size = f"{self.n_tokens:,} tokens of {self.bytes_per_token:,} bytes"
        return f"{size} over a link of {self.bandwidth / 1e9:g} GB/s"

    def ask(self, student: Student, latency_s: float) -> Any:
        return student.transfer_s(self.n_tokens, self.bytes_per_token, self.bandwidth, latency_s)


@_transfer(hint="Multiply tokens by bytes_per_token, and divide by the bandwidth.")
def every_byte_passes_the_link(student: Student, case: TransferCase) -> None:
    """Without latency, the time is the bytes of all tokens divided by the bandwidth."""
    slips = {
        8: "The bandwidth is in bytes already, not in bits.",
        1 / 8: "The bandwidth is in bytes already, not in bits.",
        1 / case.n_tokens: "That is the time of one token.",
        1e3: "Those are milliseconds.",
    }
    got = case.ask(student, 0.0)
    what = "the seconds without latency"
    expect_number(got, case.moving_s, what, relative=SINGLE_PRECISION, factors=slips)


@_transfer(hint="Add latency_s once: there is one transfer.")
def the_latency_comes_once(student: Student, case: TransferCase) -> None:
    """The latency is added once, whatever the number of tokens."""
    without, got = (
        number_in(case.ask(student, latency_s), "the seconds") for latency_s in (0, case.latency_s)
    )
    what = "the seconds that are added by the latency"
    slips = {
        0.0: "The latency is left out.",
        case.latency_s * case.n_tokens: "Add it once, not for each token.",
        max(
            0.0, case.latency_s - case.moving_s
        ): "The bytes begin to move after the latency. Add the two times.",
    }
    expect_number(got - without, case.latency_s, what, relative=SINGLE_PRECISION, slips=slips)


@dataclass(frozen=True, slots=True)
class LatencyCase:
    """When a request came and when its tokens were there; the seconds to expect."""

    arrival_s: float
    token_times_s: tuple[float, ...]
    ttft_s: float
    tpot_s: float

    def __str__(self) -> str:
        times = ", ".join(f"{time:g}" for time in self.token_times_s)
        return f"a request that came at {self.arrival_s:g} s, with tokens at {times} s"


def _pair(student: Student, case: LatencyCase, *more: float) -> list[float]:
    times_s = [*case.token_times_s, *more]
    return numbers_in(student.latencies(case.arrival_s, times_s), "TTFT and TPOT", 2)


def _is_single(case: LatencyCase) -> bool:
    return len(case.token_times_s) == 1


@_latencies(hint="Subtract arrival_s from the time of the first token.")
def ttft_begins_with_the_arrival(student: Student, case: LatencyCase) -> None:
    """The first number is the time from the arrival to the first token."""
    got = _pair(student, case)[0]
    slips = {
        case.token_times_s[0]: "That is the time on the clock. Subtract the arrival.",
        case.tpot_s: "The order is wrong: return the TTFT first, then the TPOT.",
        case.token_times_s[-1] - case.arrival_s: "That is the time to the last token.",
    }
    expect_number(got, case.ttft_s, "TTFT", relative=SINGLE_PRECISION, slips=slips)


@_latencies(
    hint="Divide the time from the first to the last token by the number of further tokens.",
    applies_to=lambda case: not _is_single(case),
)
def tpot_is_the_mean_after_the_first(student: Student, case: LatencyCase) -> None:
    """The second number is the mean time of each token after the first one."""
    got, n = _pair(student, case)[1], len(case.token_times_s)
    slips = {
        (n - 1) / n: "Do not count the first token: divide by the number of further tokens.",
        n - 1.0: "That is the time of all further tokens together.",
    }
    since_arrival_s = case.token_times_s[-1] - case.arrival_s
    numbers = {
        since_arrival_s / (n - 1): "That is counted from the arrival. Begin with the first token.",
        since_arrival_s / n: "That is from the arrival on, over all tokens, the first one too.",
    }
    expect_number(got, case.tpot_s, "TPOT", relative=SINGLE_PRECISION, factors=slips, slips=numbers)


@_latencies(
    hint="Return 0 as the second number if there is only one token.",
    applies_to=_is_single,
    gate=False,
)
def a_single_token_has_none_after_it(student: Student, case: LatencyCase) -> None:
    """With one token, the second number is 0."""
    got = _pair(student, case)[1]
    expect_number(got, 0.0, "TPOT of a single token", why="There is no token after the first one.")
    longer = _pair(student, case, case.token_times_s[0] + 0.5)[1]
    if not longer > 0:
        raise NotJudged(f"with one more token TPOT should be more than 0, not {show(longer)}")


@dataclass(frozen=True, slots=True)
class GoodputCase:
    """Requests with their (TTFT, TPOT), both limits, how long it took, how many met both.

    kind: "mixed" where some are over either limit, "edge" where some just meet one, "time" where
    all meet both and it took other than one second, "none" without requests.
    """

    kind: str
    served: tuple[tuple[float, float], ...]
    ttft_s: float
    tpot_s: float
    seconds: float
    n_good: int

    def __str__(self) -> str:
        limits = f"limits {self.ttft_s:g} and {self.tpot_s:g} s"
        return f"{len(self.served)} requests in {self.seconds:g} s, {limits}"

    def ask(self, student: Student, *more: tuple[float, float]) -> Any:
        served = [*self.served, *more]
        return student.goodput(served, self.ttft_s, self.tpot_s, self.seconds)


COUNTED = {  # whom a wrong answer counts, by TTFT, TPOT and their limits
    "Only the limit of TTFT was checked.": lambda first, _, most, __: first <= most,
    "Only the limit of TPOT was checked.": lambda _, further, __, most: further <= most,
    "A request must meet both limits, not only one of them.": lambda a, b, x, y: a <= x or b <= y,
    "Requests that exactly meet a limit are not counted.": lambda a, b, x, y: a < x and b < y,
    "Requests that exactly meet the limit of TTFT are not counted.": lambda a, b, x, y: (
        a < x and b <= y
    ),
    "Requests that exactly meet the limit of TPOT are not counted.": lambda a, b, x, y: (
        a <= x and b < y
    ),
}


def _expect_goodput(student: Student, case: GoodputCase) -> None:
    right = case.n_good / case.seconds
    numbers: dict[float, str] = {}
    for text, counts in COUNTED.items():
        n = sum(counts(*times, case.ttft_s, case.tpot_s) for times in case.served)
        known = numbers.get(n / case.seconds)
        numbers[n / case.seconds] = f"{known} Or: {text}" if known else text
    slips = {case.seconds: "That is a number of requests. Divide by the seconds."}
    if case.served:
        slips[case.seconds / len(case.served)] = (
            "That is a share of the requests. Return requests per second."
        )
    got = case.ask(student)
    expect_number(got, right, "goodput", relative=SINGLE_PRECISION, factors=slips, slips=numbers)


@_goodput("mixed", hint="Count a request only if TTFT and TPOT are both within their limits.")
def both_limits_have_to_be_met(student: Student, case: GoodputCase) -> None:
    """A request counts if its TTFT and its TPOT are both within their limits."""
    _expect_goodput(student, case)


@_goodput("edge", hint="Compare with <=, not with <.")
def a_limit_just_met_is_met(student: Student, case: GoodputCase) -> None:
    """A request that exactly meets a limit has kept it."""
    _expect_goodput(student, case)


@_goodput("time", hint="Divide the number of good requests by the seconds.")
def good_requests_are_counted_per_second(student: Student, case: GoodputCase) -> None:
    """Goodput is the number of good requests divided by the seconds of the run."""
    _expect_goodput(student, case)


@_goodput(
    "none",
    hint="Return 0 if there are no requests. Do not divide by their number.",
    gate=False,
)
def nobody_served_is_no_goodput(student: Student, case: GoodputCase) -> None:
    """Without any request, goodput is 0."""
    expect_number(case.ask(student), 0.0, "goodput of no requests")
    one = number_in(case.ask(student, (case.ttft_s / 2, case.tpot_s / 2)), "goodput of one")
    if not one > 0:
        raise NotJudged(f"with one good request goodput should be more than 0, not {show(one)}")


OPEN_CASES = {
    "transfer_s": [
        TransferCase(1000, 131_072, 50e9, latency_s=0.001, moving_s=0.00262144),
        TransferCase(7, 98_304, 1e9, latency_s=0.0005, moving_s=0.000688128),
    ],
    "latencies": [
        LatencyCase(2.0, (2.5, 2.75, 3.5), ttft_s=0.5, tpot_s=0.5),
        LatencyCase(1.25, (4.25, 4.5, 4.75, 6.25, 6.25), ttft_s=3.0, tpot_s=0.5),
        LatencyCase(3.0, (3.75,), ttft_s=0.75, tpot_s=0.0),
    ],
    "goodput": [
        GoodputCase(
            "mixed", ((0.5, 0.25), (4, 0.25), (0.5, 3), (0.5, 2), (0.75, 0.5), (4, 4)), 1, 1, 1, 2
        ),
        GoodputCase("edge", ((0.5, 1), (1, 0.5), (1, 1), (1, 0.5)), 1, 1, 1, 4),
        GoodputCase("time", ((0.5, 0.25), (0.25, 0.5), (0.75, 0.5)), 1, 1, 4, 3),
        GoodputCase("none", (), 1, 1, 4, 0),
    ],
}
