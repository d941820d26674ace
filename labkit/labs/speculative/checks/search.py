"""Checks of `best_gamma`, part of `labkit.labs.speculative.checks`."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import partial

from labkit.bridge.student import Offer, Student
from labkit.checks.compare import expect_number, joined, number_in, show
from labkit.checks.core import Wrong, check
from labkit.checks.forms import expect_refusals

Slips = Mapping[str, Callable[[float], bool]]

N_ANSWERS = 65  # to each gamma up to the largest that is tried
NO_CHANCE = (1.001, -0.001, 2.0)  # what some report as an acceptance rate


@dataclass(frozen=True, slots=True)
class BestCase:
    """Times, and the gamma that pays best. dear: from which gamma to which more_s is added.

    kind: "inside" if all calls cost the same; "dear" if the best gamma is the last cheap one,
    "hill" if it lies behind a worse one; "lost" if none pays, "last" if the last one pays best,
    "tie" if several do.
    """

    kind: str
    alpha: float
    draft_s: float
    target_s: float
    base_s: float
    best: int
    more_s: float = 0.0
    dear: tuple[int, int] = (0, 0)
    max_gamma: int | None = None

    def __str__(self) -> str:
        last = "" if self.max_gamma is None else f", max_gamma {self.max_gamma}"
        first_dear, last_dear = self.dear
        more = f", {self.more_s:g} s more from gamma {first_dear} to {last_dear}"
        times = f"{self.draft_s:g}, {self.target_s:g} and {self.base_s:g} s"
        return f"alpha {self.alpha:g}, durations {times}{more if self.more_s else ''}{last}"

    def verify_s(self, gamma: int) -> float:
        """Seconds of a call that verifies gamma tokens; without any it is a plain step."""
        if not gamma > 0:
            return self.target_s
        first, last = self.dear
        return self.base_s + (self.more_s if first <= gamma <= last else 0.0)

    def gain(self, gamma: int) -> float:
        """The speedup with gamma."""
        n_tokens = sum(self.alpha**n for n in range(gamma + 1))
        return n_tokens * self.target_s / (gamma * self.draft_s + self.verify_s(gamma))

    def expect(self, student: Student, slips: Slips, why: str = "") -> None:
        """Raise Wrong unless the student finds this gamma. slips: sentences for other gammas."""
        last = () if self.max_gamma is None else (self.max_gamma,)
        times = (self.draft_s, self.target_s, offered(self.verify_s))
        got = student.best_gamma(self.alpha, *times, *last)
        number = number_in(got, "the best gamma")
        fitting = joined(text for text, fits in slips.items() if fits(number))
        expect_number(number, self.best, "the best gamma", why=fitting or why)


_best = partial(check, "best_gamma", gate=True, parts=("speedup",))


def offered(verify_s: Callable[[int], float]) -> Offer:
    """The function with its values for every gamma that anybody tries."""
    return Offer(
        verify_s, answers={gamma: verify_s(gamma) for gamma in range(N_ANSWERS)}, name="function"
    )


@_best("inside", hint="Compare speedups, not tokens per block.")
def the_fastest_gamma_is_found(student: Student, case: BestCase) -> None:
    """The best gamma is the one with the largest speedup."""
    largest = f"Gamma {N_ANSWERS - 1} gives the most tokens per block, not the largest speedup."
    case.expect(student, {largest: lambda got: got == N_ANSWERS - 1})


@_best("dear", hint="Call verify_s(gamma) for each gamma.")
def each_gamma_has_its_own_verification(student: Student, case: BestCase) -> None:
    """Each gamma uses its own verify_s(gamma)."""
    alike = "That is the best gamma if all verifications take the same time. Use verify_s(gamma)."
    best = max(range(1, N_ANSWERS), key=replace(case, more_s=0.0).gain)
    case.expect(student, {alike: lambda got: got == best})


@_best("hill", hint="Try all gammas, also after one that is worse.")
def a_worse_gamma_does_not_end_the_search(student: Student, case: BestCase) -> None:
    """The best gamma is found even if smaller gammas are worse or lose."""
    slips: Slips = {
        "You return 0. There is a gamma with a speedup above 1.": lambda got: got == 0,
        "The next gamma is worse, but a better one follows.": lambda got: (
            0 < got < case.best and case.gain(int(got) + 1) < case.gain(int(got))
        ),
    }
    case.expect(student, slips)


@_best("lost", hint="Return 0 if no speedup is above 1.")
def where_all_lose_nothing_is_drafted(student: Student, case: BestCase) -> None:
    """The answer is 0 if no gamma is faster than plain decoding."""
    block_s = case.draft_s + case.verify_s(1)
    is_even = (1 + case.alpha) * case.target_s == block_s
    slips: Slips = {
        "Its speedup is exactly 1. That is not above 1: return 0.": lambda got: is_even and got == 1
    }
    case.expect(student, slips, "No gamma has a speedup above 1 here: return 0.")
    target_s, draft_s = case.target_s, case.target_s / 1000
    got = student.best_gamma(case.alpha, draft_s, target_s, offered(lambda _: target_s))
    if not number_in(got, "the best gamma") > 0:
        what = f"the best gamma if draft_s is {draft_s:g}"
        raise Wrong(what, expected="1 or more", got=show(got))


@_best("last", hint="`range(1, max_gamma + 1)` includes max_gamma.")
def the_search_ends_with_max_gamma(student: Student, case: BestCase) -> None:
    """All gammas from 1 to max_gamma are tried, and none above."""
    last = case.max_gamma or N_ANSWERS - 1
    case.expect(student, {"That is above max_gamma.": lambda got: got > last})


@_best(
    "tie",
    weight=0.5,
    hint="Replace the best gamma only if a speedup is larger, not if it is equal.",
)
def the_smallest_of_equals_is_taken(student: Student, case: BestCase) -> None:
    """Of equal speedups, the smallest gamma is taken."""
    case.expect(student, {}, "Two gammas have the same speedup here. Take the smaller.")


@_best(
    "inside",
    weight=0.5,
    hint="Call `speedup`: it raises the ValueError.",
    gate=False,
)
def no_best_gamma_without_a_probability(student: Student, case: BestCase) -> None:
    """alpha outside [0, 1] raises ValueError here, too."""
    times = (case.draft_s, case.target_s, offered(case.verify_s))
    refused = {f"alpha {alpha:g}": (alpha, *times) for alpha in NO_CHANCE}
    expect_refusals(student.best_gamma, refused)
    number_in(student.best_gamma(case.alpha, *times), "the best gamma")


OPEN_CASES = {
    "best_gamma": [
        BestCase("inside", 0.8, 0.1, 1.0, 1.0, best=6),
        BestCase("inside", 0.9, 0.05, 1.0, 1.0, best=13),
        BestCase("dear", 0.9, 0.05, 1.0, 1.0, best=7, more_s=0.5, dear=(8, 64)),
        BestCase("dear", 0.8, 0.1, 1.0, 1.1, best=3, more_s=0.9, dear=(4, 64)),
        BestCase("hill", 0.8, 0.1, 1.0, 1.0, best=6, more_s=0.6, dear=(2, 3)),
        BestCase("hill", 0.8, 0.2, 1.0, 2.0, best=6),
        BestCase("lost", 0.5, 0.75, 1.0, 1.0, best=0),
        BestCase("lost", 0.5, 1.0, 4.0, 5.0, best=0),
        BestCase("last", 1.0, 0.1, 1.0, 1.0, best=5, max_gamma=5),
        BestCase("last", 1.0, 0.1, 1.0, 1.0, best=64),
        BestCase("tie", 0.5, 1.0, 8.0, 5.0, best=1),
        BestCase("tie", 0.5, 1.0, 16.0, 12.0, best=2),
    ],
}
