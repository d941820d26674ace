"""Checks of what speculation gains, part of `labkit.labs.speculative.checks`.

Prompt lookup, the acceptance rate and the best gamma have modules of their own.
"""

from labkit.checks.tables import CallTable, Claim, call
from labkit.labs.speculative.checks.rates import SINGLE_PRECISION
from labkit.labs.speculative.checks.search import NO_CHANCE

NEAR_ONE = 1e-3  # what is left of single precision in (1 - alpha^n) / (1 - alpha) there


def token_slips(alpha: float, gamma: int, right: float) -> dict[str, float]:
    """The tokens of a block by known mistakes."""
    return {
        "A token counts only if all tokens before it are accepted.": 1 + gamma * alpha,
        "Add the token that the target adds.": right - 1,
        "The last power is missing: add up to alpha^gamma.": right - alpha**gamma,
        "The token that the target adds always counts: begin with 1.": (gamma + 1) * alpha,
    }


expected_tokens = CallTable(
    "expected_tokens",
    "tokens per block",
    [
        Claim(
            "each_token_counts_by_its_chance_to_stay",
            "The average is 1 + alpha + alpha^2 + ... + alpha^gamma.",
            hint="Add up 1, alpha, alpha^2, ..., alpha^gamma.",
            relative=lambda alpha, gamma: SINGLE_PRECISION if alpha < 0.99 else NEAR_ONE,
            rows=[
                call(0.8, 5).gives(3.68928),
                call(0.6, 2).gives(1.96),
                call(0.9, 10).gives(6.86189404),
                call(0.995, 1).gives(1.995),
            ],
        ),
        Claim(
            "the_ends_are_not_forgotten",
            "alpha = 1 gives gamma + 1 tokens; alpha = 0 or gamma = 0 gives 1 token.",
            hint="Test alpha = 1, alpha = 0 and gamma = 0; avoid 0 / 0.",
            rows=[call(1.0, 4).gives(5), call(0.0, 3).gives(1), call(0.7, 0).gives(1)],
        ),
        Claim(
            "what_is_no_probability_is_refused",
            "alpha outside [0, 1] or gamma below 0 raises ValueError.",
            hint="Check alpha and gamma before you compute.",
            weight=0.5,
            gate=False,
            what="an alpha that is no probability, or a negative gamma",
            why="A probability is from 0 to 1, and a number of tokens is never negative.",
            rows=[
                *(call(alpha, 5).gives(ValueError) for alpha in NO_CHANCE),
                call(0.8, -1).gives(ValueError),
            ],
        ),
    ],
    slips=token_slips,
    relative=SINGLE_PRECISION,
)


def block_slips(
    alpha: float, gamma: int, draft_s: float, target_s: float, verify_s: float
) -> dict[str, float]:
    """The speedup with one token in a block, if its time is a known mistake."""
    right_s = gamma * draft_s + verify_s
    times_s = {
        "That is the inverse: a larger speedup should be better.": 1 / right_s,
        "Count gamma steps of the draft, not gamma + 1.": right_s + draft_s,
        "Count gamma steps of the draft, not one.": draft_s + verify_s,
        "A verification takes verify_s, not target_s.": gamma * draft_s + target_s,
        "One call of the target verifies all tokens: count verify_s once.": (
            right_s + gamma * verify_s
        ),
        "Add the steps of the draft.": verify_s,
        "Drafts and verification follow each other: add their times.": (
            max(gamma * draft_s, verify_s)
        ),
    }
    return {text: target_s / block_s for text, block_s in times_s.items()}


def cut_slips(
    alpha: float, gamma: int, draft_s: float, target_s: float, verify_s: float
) -> dict[str, float]:
    """The speedup if alpha is cut to the range of probabilities."""
    if gamma < 0:
        return {}
    n_tokens = 1 if alpha < 0 else gamma + 1
    cut = "You cut alpha to the range from 0 to 1. That hides a mistake in counting."
    return {cut: n_tokens * target_s / (gamma * draft_s + verify_s)}


speedup = CallTable(
    "speedup",
    "the speedup",
    [
        Claim(
            "a_block_takes_its_drafts_and_one_verification",
            "A block takes gamma draft steps and one verification; with alpha 0 it adds one token.",
            hint="A block takes gamma * draft_s + verify_s.",
            what="the speedup with alpha 0 and target_s 1",
            rows=[
                call(0.0, 5, 0.1, 1.0, 1.6).gives(1 / 2.1),
                call(0.0, 2, 0.025, 1.0, 0.034).gives(1 / 0.084),
            ],
            slips=block_slips,
        ),
        Claim(
            "all_tokens_of_a_block_are_gained",
            "The speedup is proportional to the tokens per block.",
            hint="Multiply by the tokens of a block, from `expected_tokens`.",
            of=lambda f, alpha, *others: f(alpha, *others) / f(0.0, *others),
            what="the speedup, divided by that with alpha 0",
            slips=lambda *_: {"Multiply by the tokens per block, from `expected_tokens`.": 1.0},
            relative=2 * SINGLE_PRECISION,
            rows=[
                call(0.8, 5, 0.1, 2.0, 1.6).gives(3.68928),
                call(0.5, 2, 0.025, 0.033, 0.034).gives(1.75),
            ],
        ),
        Claim(
            "plain_decoding_is_what_is_compared_with",
            "The speedup is proportional to target_s.",
            hint="Multiply by target_s, the time of a plain step.",
            of=lambda f, a, n, draft_s, target_s, verify_s: (
                f(a, n, draft_s, target_s, verify_s) / f(a, n, draft_s, 1.0, verify_s)
            ),
            what="the speedup, divided by that with target_s 1",
            relative=2 * SINGLE_PRECISION,
            rows=[
                call(0.8, 5, 0.1, 2.0, 1.6).gives(2),
                call(0.5, 2, 0.025, 0.033, 0.034).gives(0.033),
            ],
        ),
        Claim(
            "no_speedup_without_a_probability",
            "alpha outside [0, 1] or gamma below 0 raises ValueError here, too.",
            hint="Call `expected_tokens`: it raises the ValueError.",
            weight=0.5,
            gate=False,
            what="an alpha that is no probability, or a negative gamma",
            rows=[
                *(call(alpha, 5, 0.1, 2.0, 1.6).gives(ValueError) for alpha in NO_CHANCE),
                call(0.8, -1, 0.1, 2.0, 1.6).gives(ValueError),
            ],
            slips=cut_slips,
        ),
    ],
    relative=SINGLE_PRECISION,
    parts=("expected_tokens",),
)
