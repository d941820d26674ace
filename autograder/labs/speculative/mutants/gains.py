"""Wrong answers of lab 06: what speculation gains; drafts and cells have modules of their own."""

from autograder.labs.mutants import Mutant
from autograder.labs.speculative.mutants.answers import ANSWERS
from autograder.labs.speculative.mutants.drafts import DRAFTS

_BETWEEN = "each_token_counts_by_its_chance_to_stay"
_ENDS = "the_ends_are_not_forgotten"
_NO_CHANCE = "what_is_no_probability_is_refused"
_OMEGA = "float(sum(alpha**n_accepted for n_accepted in range(gamma + 1)))"

TOKENS = [
    Mutant("expected_tokens", "without the target's own token", (_BETWEEN, _ENDS), _OMEGA,
           "float(sum(alpha**n for n in range(1, gamma + 1)))"),
    Mutant("expected_tokens", "gamma for gamma + 1", (_BETWEEN, _ENDS), "range(gamma + 1)",
           "range(gamma)"),
    Mutant("expected_tokens", "each accepted on its own", (_BETWEEN,), _OMEGA, "1 + gamma * alpha"),
    Mutant("expected_tokens", "endless blocks", (_BETWEEN, _ENDS), _OMEGA,
           "1 / (1 - alpha) if alpha < 1 else gamma + 1"),
    Mutant("expected_tokens", "all or nothing", (_BETWEEN,), _OMEGA, "1 + gamma * alpha**gamma"),
    Mutant("expected_tokens", "the target's token has to be accepted", (_BETWEEN, _ENDS), _OMEGA,
           "alpha * sum(alpha**n for n in range(gamma + 1))"),
    Mutant("expected_tokens", "whole tokens", (_BETWEEN,), _OMEGA,
           "round(sum(alpha**n for n in range(gamma + 1)))"),
    Mutant("expected_tokens", "the closed form alone", (_ENDS,), _OMEGA,
           "(1 - alpha ** (gamma + 1)) / (1 - alpha)"),
    Mutant("expected_tokens", "an alpha near 1 is 1", (_BETWEEN,), _OMEGA,
           "gamma + 1 if alpha > 0.99 else (1 - alpha ** (gamma + 1)) / (1 - alpha)"),
    Mutant("expected_tokens", "endless for alpha 1", (_ENDS,), _OMEGA,
           'float("inf") if alpha == 1 else (1 - alpha ** (gamma + 1)) / (1 - alpha)'),
    Mutant("expected_tokens", "something in the denominator", (_ENDS,), _OMEGA,
           "(1 - alpha ** (gamma + 1)) / (1 - alpha + 1e-8)"),
    Mutant("expected_tokens", "logarithms of nothing", (_ENDS,), _OMEGA,
           "sum(__import__('math').exp(n * __import__('math').log(alpha)) "
           "for n in range(gamma + 1))"),
    Mutant("expected_tokens", "gamma 0 is refused too", (_ENDS,), "if gamma < 0:", "if gamma < 1:"),
    Mutant("expected_tokens", "alpha 1 is refused too", (_ENDS,), "0 <= alpha <= 1",
           "0 <= alpha < 1"),
    Mutant("expected_tokens", "any alpha", (_NO_CHANCE,), "not 0 <= alpha <= 1", "False"),
    Mutant("expected_tokens", "alpha above 1", (_NO_CHANCE,), "not 0 <= alpha <= 1", "alpha < 0"),
    Mutant("expected_tokens", "any gamma", (_NO_CHANCE,), "if gamma < 0:", "if False:"),
    Mutant("expected_tokens", "clamped", (_NO_CHANCE,), "if not 0 <= alpha <= 1:",
           "alpha = min(1, max(0, alpha))\n    if not 0 <= alpha <= 1:"),
    Mutant("expected_tokens", "asserted", (_NO_CHANCE,), "if not 0 <= alpha <= 1:",
           "assert 0 <= alpha <= 1\n    if not 0 <= alpha <= 1:"),
]  # fmt: skip

_BLOCK = "a_block_takes_its_drafts_and_one_verification"
_GAINED = "all_tokens_of_a_block_are_gained"
_COMPARED = "plain_decoding_is_what_is_compared_with"
_INVALID = "no_speedup_without_a_probability"
_BLOCK_S = "block_s = gamma * draft_s + verify_s"
_SPEEDUP = "return expected_tokens(alpha, gamma) * target_s / block_s"

SPEEDUPS = [
    Mutant("speedup", "drafts are free", (_BLOCK,), _BLOCK_S, "block_s = verify_s"),
    Mutant("speedup", "one draft step", (_BLOCK,), _BLOCK_S, "block_s = draft_s + verify_s"),
    Mutant("speedup", "a draft step for the target's token", (_BLOCK,), "gamma * draft_s",
           "(gamma + 1) * draft_s"),
    Mutant("speedup", "a verification for each token", (_BLOCK,), "+ verify_s",
           "+ (gamma + 1) * verify_s"),
    Mutant("speedup", "side by side", (_BLOCK,), _BLOCK_S,
           "block_s = max(gamma * draft_s, verify_s)"),
    Mutant("speedup", "a verification as cheap as a step", (_BLOCK, _COMPARED), "+ verify_s",
           "+ target_s"),
    Mutant("speedup", "the inverse", (_BLOCK, _GAINED, _COMPARED), _SPEEDUP,
           "return block_s / (expected_tokens(alpha, gamma) * target_s)"),
    Mutant("speedup", "what is saved", (_BLOCK, _GAINED, _COMPARED), _SPEEDUP,
           "return 1 - block_s / (expected_tokens(alpha, gamma) * target_s)"),
    Mutant("speedup", "all drafts are accepted", (_GAINED,), "expected_tokens(alpha, gamma)",
           "((gamma + 1 if alpha else 1) + 0 * expected_tokens(alpha, gamma))"),
    Mutant("speedup", "each accepted on its own", (_GAINED,), "expected_tokens(alpha, gamma)",
           "(1 + gamma * alpha + 0 * expected_tokens(alpha, gamma))"),
    Mutant("speedup", "drafts end with the first rejected", (_BLOCK, _GAINED), _BLOCK_S,
           "block_s = expected_tokens(alpha, gamma) * draft_s + verify_s"),
    Mutant("speedup", "without the target's own token", (_BLOCK, _GAINED),
           "expected_tokens(alpha, gamma)", "(expected_tokens(alpha, gamma) - 1)"),
    Mutant("speedup", "tokens per second", (_COMPARED,), " * target_s", ""),
    Mutant("speedup", "against a verification", (_BLOCK, _COMPARED), "* target_s", "* verify_s"),
    Mutant("speedup", "a sum of its own", (_INVALID,), "expected_tokens(alpha, gamma)",
           "sum(alpha**n for n in range(gamma + 1))"),
    Mutant("speedup", "clamped", (_INVALID,), "expected_tokens(alpha, gamma)",
           "expected_tokens(min(1, max(0, alpha)), max(0, gamma))"),
    Mutant("speedup", "0 for what is no probability", (_INVALID,), _BLOCK_S,
           f"if not 0 <= alpha <= 1 or gamma < 0:\n        return 0.0\n    {_BLOCK_S}"),
]  # fmt: skip

_FASTEST = "the_fastest_gamma_is_found"
_OWN = "each_gamma_has_its_own_verification"
_HILL = "a_worse_gamma_does_not_end_the_search"
_LOST = "where_all_lose_nothing_is_drafted"
_LAST = "the_search_ends_with_max_gamma"
_TIE = "the_smallest_of_equals_is_taken"
_ODD = "no_best_gamma_without_a_probability"
_VERIFY = "verify_s(gamma)) if gamma"
_BEST = "return max(range(max_gamma + 1), key=gain)"
_GAIN = "return speedup(alpha, gamma, draft_s, target_s, verify_s(gamma)) if gamma else 1.0"
_BEFORE = """\
def best_gamma(alpha, draft_s, target_s, verify_s, max_gamma=64):
    def gain(gamma):
        return speedup(alpha, gamma, draft_s, target_s, verify_s(gamma))

"""

SEARCHES = [
    Mutant("best_gamma", "the most tokens per block", (_FASTEST, _OWN, _HILL, _LOST, _TIE), _GAIN,
           "return expected_tokens(alpha, gamma)"),
    Mutant("best_gamma", "drafts are free", (_FASTEST, _OWN, _HILL, _LOST, _TIE),
           "draft_s, target_s", "0.0, target_s"),
    Mutant("best_gamma", "no more than eight", (_FASTEST,), "range(max_gamma + 1)",
           "range(min(max_gamma, 8) + 1)"),
    Mutant("best_gamma", "an index for a gamma", (_FASTEST, _OWN, _HILL, _LAST, _TIE),
           source=_BEFORE + """\
    gains = [gain(gamma) for gamma in range(1, max_gamma + 1)]
    return gains.index(max(gains)) if max(gains) > 1 else 0
"""),
    Mutant("best_gamma", "the largest gamma that gains", (_FASTEST, _OWN, _HILL, _TIE),
           source=_BEFORE + """\
    return max((gamma for gamma in range(1, max_gamma + 1) if gain(gamma) > 1), default=0)
"""),
    Mutant("best_gamma", "the speedup, not its gamma", (_FASTEST, _OWN, _HILL, _LOST, _LAST, _TIE),
           _BEST, "return max(gain(gamma) for gamma in range(max_gamma + 1))"),
    Mutant("best_gamma", "the call that verifies one", (_OWN,), _VERIFY,
           "verify_s(1)) if gamma"),
    Mutant("best_gamma", "the call that verifies one more", (_OWN,), _VERIFY,
           "verify_s(gamma + 1)) if gamma"),
    Mutant("best_gamma", "a verification is a step", (_OWN, _HILL, _LOST, _TIE), _VERIFY,
           "target_s) if gamma"),
    Mutant("best_gamma", "the call that verifies 64", (_OWN,), _VERIFY,
           "verify_s(64)) if gamma"),
    Mutant("best_gamma", "stops at the first that is worse", (_HILL,), source=_BEFORE + """\
    best, gained = 0, 1.0
    for gamma in range(1, max_gamma + 1):
        now = gain(gamma)
        if gamma > 1 and now < last:
            break
        if now > gained:
            best, gained = gamma, now
        last = now
    return best
"""),
    Mutant("best_gamma", "gives up if the first loses", (_HILL,), _BEST,
           f"if gain(1) <= 1:\n        return 0\n    {_BEST}"),
    Mutant("best_gamma", "climbs from none", (_HILL,), source=_BEFORE + """\
    best, gained = 0, 1.0
    while best < max_gamma and gain(best + 1) > gained:
        best, gained = best + 1, gain(best + 1)
    return best
"""),
    Mutant("best_gamma", "the smallest loss", (_LOST,), "range(max_gamma + 1)",
           "range(1, max_gamma + 1)"),
    Mutant("best_gamma", "None if all lose", (_LOST,), _BEST,
           "return max(range(max_gamma + 1), key=gain) or None"),
    Mutant("best_gamma", "one at least", (_LOST,), _BEST,
           "return max(1, max(range(max_gamma + 1), key=gain))"),
    Mutant("best_gamma", "max_gamma left out", (_LAST,), "range(max_gamma + 1)",
           "range(max(max_gamma, 2))"),
    Mutant("best_gamma", "up to 64, whatever is asked", (_LAST,), "range(max_gamma + 1)",
           "range(65)"),
    Mutant("best_gamma", "the largest of equals", (_LOST, _TIE), _BEST,
           "return max(range(max_gamma, -1, -1), key=gain)"),
    Mutant("best_gamma", "as fast as plain will do", (_LOST,), "range(max_gamma + 1)",
           "[*range(1, max_gamma + 1), 0]"),
    Mutant("best_gamma", "the larger of two that gain alike", (_TIE,), source=_BEFORE + """\
    best = max(range(max_gamma, 0, -1), key=gain)
    return best if gain(best) > 1 else 0
"""),
    Mutant("best_gamma", "any alpha", (_ODD,), "speedup(alpha", "speedup(min(1, max(0, alpha))"),
    Mutant("best_gamma", "0 for what is no probability", (_ODD,), _BEST,
           f"if not 0 <= alpha <= 1:\n        return 0\n    {_BEST}"),
]  # fmt: skip

GAINS = DRAFTS + TOKENS + SPEEDUPS + SEARCHES + ANSWERS
