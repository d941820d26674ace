"""Checks of what speculation gains, part of `labkit.labs.speculative.checks`.

Prompt lookup, the acceptance rate and the best gamma have modules of their own.
"""

from dataclasses import dataclass
from functools import partial

from labkit.bridge.student import Student
from labkit.checks.compare import expect_number, number_in, show, told
from labkit.checks.core import Wrong, check
from labkit.checks.forms import expect_refusal, expect_refusals
from labkit.checks.slips import cause_by_replay, is_number
from labkit.labs.speculative.checks.rates import SINGLE_PRECISION
from labkit.labs.speculative.checks.search import NO_CHANCE

NEAR_ONE = 1e-3  # what is left of single precision in (1 - alpha^n) / (1 - alpha) there


@dataclass(frozen=True, slots=True)
class TokensCase:
    """Tokens per block. kind: "between", or "edge" if alpha is 0 or 1, or gamma 0."""

    kind: str
    alpha: float
    gamma: int
    n_tokens: float

    def __str__(self) -> str:
        return f"alpha {self.alpha:g} and gamma {self.gamma}"

    def expect(self, student: Student) -> None:
        """Raise Wrong unless the student expects so many tokens."""
        relative = SINGLE_PRECISION if self.kind == "edge" or self.alpha < 0.99 else NEAR_ONE
        alpha, gamma, right = self.alpha, self.gamma, self.n_tokens
        slips = {
            "A token counts only if all tokens before it are accepted.": 1 + gamma * alpha,
            "Add the token that the target adds.": right - 1,
            "The last power is missing: add up to alpha^gamma.": right - alpha**gamma,
            "The token that the target adds always counts: begin with 1.": (gamma + 1) * alpha,
        }
        got = student.expected_tokens(alpha, gamma)
        why = told(slip for slip, number in slips.items() if is_number(got, number))
        expect_number(got, right, "tokens per block", relative=relative, why=why)


_tokens = partial(check, "expected_tokens", gate=True)


@_tokens("between", hint="Add up 1, alpha, alpha^2, ..., alpha^gamma.")
def each_token_counts_by_its_chance_to_stay(student: Student, case: TokensCase) -> None:
    """The average is 1 + alpha + alpha^2 + ... + alpha^gamma."""
    case.expect(student)


@_tokens("edge", hint="Test alpha = 1, alpha = 0 and gamma = 0; avoid 0 / 0.")
def the_ends_are_not_forgotten(student: Student, case: TokensCase) -> None:
    """alpha = 1 gives gamma + 1 tokens; alpha = 0 or gamma = 0 gives 1 token."""
    case.expect(student)


@_tokens("between", weight=0.5, hint="Check alpha and gamma before you compute.", gate=False)
def what_is_no_probability_is_refused(student: Student, case: TokensCase) -> None:
    """alpha outside [0, 1] or gamma below 0 raises ValueError."""
    refused = {f"alpha {a:g} and gamma {case.gamma}": (a, case.gamma) for a in NO_CHANCE}
    expect_refusals(student.expected_tokens, refused, why="A probability is from 0 to 1.")
    refused = {f"alpha {case.alpha:g} and gamma -1": (case.alpha, -1)}
    why = "A number of tokens is never negative."
    expect_refusals(student.expected_tokens, refused, why=why)
    number_in(student.expected_tokens(case.alpha, case.gamma), "tokens per block")


@dataclass(frozen=True, slots=True)
class SpeedupCase:
    """Seconds of a step of either model and of a verification; tokens and seconds of a block."""

    alpha: float
    gamma: int
    draft_s: float
    target_s: float
    verify_s: float
    n_tokens: float
    block_s: float

    def __str__(self) -> str:
        times = f"{self.draft_s:g}, {self.target_s:g} and {self.verify_s:g} s"
        return f"alpha {self.alpha:g}, gamma {self.gamma}, durations {times}"

    def ask(self, student: Student, **changed: float) -> float:
        """The student's speedup with some of the numbers changed."""
        names = ("alpha", "gamma", "draft_s", "target_s", "verify_s")
        numbers = (changed.get(name, getattr(self, name)) for name in names)
        return number_in(student.speedup(*numbers), "the speedup")


_speedup = partial(check, "speedup", gate=True, parts=("expected_tokens",))


@_speedup(hint="A block takes gamma * draft_s + verify_s.")
def a_block_takes_its_drafts_and_one_verification(student: Student, case: SpeedupCase) -> None:
    """A block takes gamma draft steps and one verification; with alpha 0 it adds one token."""
    got, right_s = case.ask(student, alpha=0.0, target_s=1.0), case.block_s
    gamma, draft_s, verify_s = case.gamma, case.draft_s, case.verify_s
    times_s = {
        "That is the inverse: a larger speedup should be better.": 1 / right_s,
        "Count gamma steps of the draft, not gamma + 1.": right_s + draft_s,
        "Count gamma steps of the draft, not one.": draft_s + verify_s,
        "A verification takes verify_s, not target_s.": gamma * draft_s + 1,
        "One call of the target verifies all tokens: count verify_s once.": (
            right_s + gamma * verify_s
        ),
        "Add the steps of the draft.": verify_s,
        "Drafts and verification follow each other: add their times.": (
            max(gamma * draft_s, verify_s)
        ),
    }
    why = told(text for text, seconds in times_s.items() if is_number(got, 1 / seconds))
    what = "the speedup with alpha 0 and target_s 1"
    expect_number(got, 1 / right_s, what, relative=SINGLE_PRECISION, why=why)


@_speedup(hint="Multiply by the tokens of a block, from `expected_tokens`.")
def all_tokens_of_a_block_are_gained(student: Student, case: SpeedupCase) -> None:
    """The speedup is proportional to the tokens per block."""
    one, got = case.ask(student, alpha=0.0), case.ask(student)
    if not one > 0:
        raise Wrong("the speedup with alpha 0", expected="more than 0", got=show(one))
    what = f"the speedup with alpha {case.alpha:g}, divided by that with alpha 0"
    why = "Multiply by the tokens per block, from `expected_tokens`."
    expect_number(got / one, case.n_tokens, what, relative=2 * SINGLE_PRECISION, why=why)


@_speedup(hint="Multiply by target_s, the time of a plain step.")
def plain_decoding_is_what_is_compared_with(student: Student, case: SpeedupCase) -> None:
    """The speedup is proportional to target_s."""
    one, got = case.ask(student, target_s=1.0), case.ask(student)
    if not one > 0:
        raise Wrong("the speedup with target_s 1", expected="more than 0", got=show(one))
    what = f"the speedup with target_s {case.target_s:g}, divided by that with target_s 1"
    expect_number(got / one, case.target_s, what, relative=2 * SINGLE_PRECISION)


@_speedup(weight=0.5, hint="Call `expected_tokens`: it raises the ValueError.", gate=False)
def no_speedup_without_a_probability(student: Student, case: SpeedupCase) -> None:
    """alpha outside [0, 1] or gamma below 0 raises ValueError here, too."""

    def slips(alpha: float) -> dict[str, float]:
        n_tokens = 1 if alpha < 0 else case.gamma + 1
        cut = "You cut alpha to the range from 0 to 1. That hides a mistake in counting."
        return {cut: n_tokens * case.target_s / case.block_s}

    def ask(alpha: float) -> float:
        return case.ask(student, alpha=alpha)

    with cause_by_replay(ask, [(alpha,) for alpha in NO_CHANCE], slips):
        for name, value in (*(("alpha", alpha) for alpha in NO_CHANCE), ("gamma", -1)):
            changed = {name: value}
            expect_refusal(
                lambda changed=changed: case.ask(student, **changed),
                "ValueError",
                f"{name} {value:g}",
            )
    case.ask(student)


OPEN_CASES = {
    "expected_tokens": [
        TokensCase("between", 0.8, 5, 3.68928),
        TokensCase("between", 0.6, 2, 1.96),
        TokensCase("between", 0.9, 10, 6.86189404),
        TokensCase("between", 0.995, 1, 1.995),
        TokensCase("edge", 1.0, 4, 5.0),
        TokensCase("edge", 0.0, 3, 1.0),
        TokensCase("edge", 0.7, 0, 1.0),
    ],
    "speedup": [
        SpeedupCase(0.8, 5, 0.1, 2.0, 1.6, n_tokens=3.68928, block_s=2.1),
        SpeedupCase(0.5, 2, 0.025, 0.033, 0.034, n_tokens=1.75, block_s=0.084),
    ],
}
