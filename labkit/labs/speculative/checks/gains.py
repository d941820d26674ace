"""Checks of what speculation gains, part of `labkit.labs.speculative.checks`.

Those of prompt lookup, the acceptance rate and the best gamma come with them.
"""

from dataclasses import dataclass

from labkit.bridge.student import Student
from labkit.checks.compare import expect_number, number_in, show
from labkit.checks.core import Wrong, check
from labkit.checks.forms import expect_refusal, expect_refusals
from labkit.labs.speculative.checks.drafts import SINGLE_PRECISION
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
            1 + gamma * alpha: "A token counts only if all those before it are accepted too.",
            right - 1: "The token that the target adds belongs to the block.",
            right - alpha**gamma: "One token is missing: a block has gamma + 1 at most.",
            (gamma + 1) * alpha: "The token that the target adds needs nobody's acceptance.",
        }
        got = student.expected_tokens(alpha, gamma)
        expect_number(got, right, "tokens per block", relative=relative, slips=slips)


@check("expected_tokens", "between", gate=True, hint="How likely are n accepted?")
def each_token_counts_by_its_chance_to_stay(student: Student, case: TokensCase) -> None:
    """A block has 1 token, alpha more, alpha squared more, and so on up to alpha^gamma."""
    case.expect(student)


@check("expected_tokens", "edge", hint="Try alpha = 1 and gamma = 0 by hand.")
def the_ends_are_not_forgotten(student: Student, case: TokensCase) -> None:
    """If all drafted tokens are accepted there are gamma + 1, if none is, or none is drafted, 1."""
    case.expect(student)


@check("expected_tokens", "between", weight=0.5, hint="Before computing.")
def what_is_no_probability_is_refused(student: Student, case: TokensCase) -> None:
    """alpha below 0 or above 1, and gamma below 0, are a ValueError."""
    pairs = (*((alpha, case.gamma) for alpha in NO_CHANCE), (case.alpha, -1))
    refused = {f"alpha {alpha:g} and gamma {gamma}": (alpha, gamma) for alpha, gamma in pairs}
    why = "Where an acceptance rate is above 1, the target's own tokens were counted."
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
        return f"alpha {self.alpha:g}, gamma {self.gamma}, times {times}"

    def ask(self, student: Student, **changed: float) -> float:
        """The student's speedup with some of the numbers changed."""
        names = ("alpha", "gamma", "draft_s", "target_s", "verify_s")
        numbers = (changed.get(name, getattr(self, name)) for name in names)
        return number_in(student.speedup(*numbers), "the speedup")


@check("speedup", gate=True, hint="What is computed in a block, by which model, how often?")
def a_block_takes_its_drafts_and_one_verification(student: Student, case: SpeedupCase) -> None:
    """A block takes gamma steps of the draft and one verification; alpha 0 leaves it one token."""
    got, right_s = case.ask(student, alpha=0.0, target_s=1.0), case.block_s
    times_s = {
        1 / right_s: "That is the inverse: larger numbers should be better.",
        right_s + case.draft_s: "The target's own token needs no step of the draft.",
        case.draft_s + case.verify_s: "The draft takes one step after the other, gamma of them.",
        right_s - case.verify_s + 1: "A verification takes verify_s, not target_s.",
        right_s + case.gamma * case.verify_s: "One call of the target verifies all tokens.",
        case.verify_s: "The draft takes its time too.",
    }
    slips = {1 / seconds: text for seconds, text in times_s.items()}
    what = "the speedup with alpha 0 and target_s 1"
    expect_number(got, 1 / right_s, what, relative=SINGLE_PRECISION, slips=slips)


@check("speedup", hint="How many tokens does a block have?")
def all_tokens_of_a_block_are_gained(student: Student, case: SpeedupCase) -> None:
    """The speedup grows with alpha as the tokens per block do."""
    one, got = case.ask(student, alpha=0.0), case.ask(student)
    if not one > 0:
        raise Wrong("the speedup with alpha 0", expected="more than 0", got=show(one))
    what = f"times as fast with alpha {case.alpha:g} as with alpha 0"
    why = "The tokens per block are those of `expected_tokens`."
    expect_number(got / one, case.n_tokens, what, relative=2 * SINGLE_PRECISION, why=why)


@check("speedup", hint="Faster than what?")
def plain_decoding_is_what_is_compared_with(student: Student, case: SpeedupCase) -> None:
    """The slower a plain step of the target is, by so much is speculation the faster."""
    one, got = case.ask(student, target_s=1.0), case.ask(student)
    if not one > 0:
        raise Wrong("the speedup with target_s 1", expected="more than 0", got=show(one))
    what = f"times the speedup with target_s {case.target_s:g}, instead of 1"
    expect_number(got / one, case.target_s, what, relative=2 * SINGLE_PRECISION)


@check("speedup", weight=0.5, hint="Does expected_tokens see the numbers?")
def no_speedup_without_a_probability(student: Student, case: SpeedupCase) -> None:
    """alpha below 0 or above 1, and gamma below 0, are a ValueError here too."""
    for name, value in (*(("alpha", alpha) for alpha in NO_CHANCE), ("gamma", -1)):
        changed = {name: value}
        expect_refusal(
            lambda changed=changed: case.ask(student, **changed), "ValueError", f"{name} {value:g}"
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
        SpeedupCase(0.8, 5, 0.1, 2.0, 1.5, n_tokens=3.68928, block_s=2.0),
        SpeedupCase(0.5, 2, 0.025, 0.033, 0.034, n_tokens=1.75, block_s=0.084),
    ],
}
