"""Right answers of lab 06, written otherwise: what speculation gains, and the answer cells."""

from autograder.labs.speculative.mutants.answers import alphas, notation, plan
from autograder.labs.speculative.variants.drafts import DRAFTS
from autograder.labs.variants import Variant

_CHECKED = """\
    if not 0 <= alpha <= 1 or gamma < 0:
        raise ValueError(f"alpha {alpha}, gamma {gamma}")
"""

TOKENS = [
    Variant(
        "expected_tokens",
        "the closed form, with a case for alpha 1",
        f"""\
def expected_tokens(alpha, gamma):
{_CHECKED}
    if alpha == 1:
        return gamma + 1
    return (1 - alpha ** (gamma + 1)) / (1 - alpha)
""",
    ),
    Variant(
        "expected_tokens",
        "the closed form, near 1 too, where differences cancel",
        f"""\
import math

def expected_tokens(alpha, gamma):
{_CHECKED}
    if math.isclose(alpha, 1.0, abs_tol=1e-7):
        return float(gamma + 1)
    if alpha == 0:
        return 1.0
    return math.expm1((gamma + 1) * math.log(alpha)) / math.expm1(math.log(alpha))
""",
    ),
    Variant(
        "expected_tokens",
        "the closed form in single precision",
        f"""\
def expected_tokens(alpha, gamma):
{_CHECKED}
    alpha = torch.tensor(alpha, dtype=torch.float32)
    if alpha == 1:
        return torch.tensor(gamma + 1.0)
    return (1 - alpha.pow(gamma + 1)) / (1 - alpha)
""",
    ),
    Variant(
        "expected_tokens",
        "from the last token to the first",
        f"""\
def expected_tokens(alpha, gamma):
{_CHECKED}
    tokens = 1.0
    for _ in range(gamma):
        tokens = 1 + alpha * tokens
    return tokens
""",
    ),
    Variant(
        "expected_tokens",
        "by the chance of each length",
        f"""\
def expected_tokens(alpha, gamma):
{_CHECKED}
    rejected = sum((n + 1) * alpha**n * (1 - alpha) for n in range(gamma))
    return rejected + (gamma + 1) * alpha**gamma
""",
    ),
    Variant(
        "expected_tokens",
        "powers of an array",
        """\
import numpy as np

def expected_tokens(alpha, gamma):
    if alpha < 0 or alpha > 1:
        raise ValueError("alpha")
    if gamma < 0:
        raise ValueError("gamma")
    return np.cumprod([1.0] + [alpha] * gamma).sum()
""",
    ),
]

SPEEDUPS = [
    Variant(
        "speedup",
        "seconds per token, one over the other",
        """\
def speedup(alpha, gamma, draft_s, target_s, verify_s):
    per_token_s = (gamma * draft_s + verify_s) / expected_tokens(alpha, gamma)
    return target_s / per_token_s
""",
    ),
    Variant(
        "speedup",
        "in steps of the target, as in the paper",
        """\
def speedup(alpha, gamma, draft_s, target_s, verify_s):
    c, v = draft_s / target_s, verify_s / target_s
    return expected_tokens(alpha, gamma) / (gamma * c + v)
""",
    ),
    Variant(
        "speedup",
        "draft steps one by one, in single precision",
        """\
import numpy as np

def speedup(alpha, gamma, draft_s, target_s, verify_s):
    n_tokens = np.float32(expected_tokens(alpha, gamma))
    seconds = np.float32(verify_s)
    for _ in range(gamma):
        seconds += np.float32(draft_s)
    return n_tokens / seconds * np.float32(target_s)
""",
    ),
    Variant(
        "speedup",
        "a sum of its own, checked",
        f"""\
def speedup(alpha, gamma, draft_s, target_s, verify_s):
{_CHECKED}
    plain_s = sum(target_s * alpha**n for n in range(gamma + 1))
    return torch.tensor([plain_s / (verify_s + draft_s * gamma)], dtype=torch.float64)
""",
    ),
]

_SPEEDUP = "speedup(alpha, gamma, draft_s, target_s, verify_s(gamma))"
SEARCHES = [
    Variant(
        "best_gamma",
        "a loop that keeps the best",
        f"""\
def best_gamma(alpha, draft_s, target_s, verify_s, max_gamma=64):
    best, largest = 0, 1.0
    for gamma in range(1, max_gamma + 1):
        gained = {_SPEEDUP}
        if gained > largest:
            best, largest = gamma, gained
    return best
""",
    ),
    Variant(
        "best_gamma",
        "the first maximum of an array",
        f"""\
import numpy as np

def best_gamma(alpha, draft_s, target_s, verify_s, max_gamma=64):
    gained = [1.0] + [{_SPEEDUP} for gamma in range(1, max_gamma + 1)]
    return np.argmax(gained)
""",
    ),
    Variant(
        "best_gamma",
        "a tensor in single precision",
        f"""\
def best_gamma(alpha, draft_s, target_s, verify_s, max_gamma=64):
    gained = torch.tensor([{_SPEEDUP} for gamma in range(1, max_gamma + 1)])
    if gained.max() <= 1:
        return 0
    return (gained == gained.max()).nonzero()[0] + 1
""",
    ),
    Variant(
        "best_gamma",
        "the least time of a token, and sorting",
        """\
def best_gamma(alpha, draft_s, target_s, verify_s, max_gamma=64):
    def token_s(gamma):
        if gamma == 0:
            return target_s
        return (gamma * draft_s + verify_s(gamma)) / expected_tokens(alpha, gamma)

    return sorted(range(max_gamma + 1), key=lambda gamma: (token_s(gamma), gamma))[0]
""",
    ),
    Variant(
        "best_gamma",
        "no tokens verified is a plain step",
        f"""\
def best_gamma(alpha, draft_s, target_s, verify_s, max_gamma=64):
    gained = {{gamma: {_SPEEDUP} for gamma in range(max_gamma + 1)}}
    return min(gamma for gamma in gained if gained[gamma] == max(gained.values()))
""",
    ),
]

_COMPUTED = """\
def alpha_of(ratio, gamma):
    low, high = 0.0, 1.0
    while high - low > 1e-9:
        middle = (low + high) / 2
        if sum(middle**n for n in range(1, gamma + 1)) < ratio * gamma:
            low = middle
        else:
            high = middle
    return low

published_alpha = {2: alpha_of(0.685, 2), 3: alpha_of(0.62, 3)}
published_alpha |= {5: alpha_of(0.525, 5), 7: torch.tensor(alpha_of(0.467, 7))}
"""
_PLANNED = """\
will_it_win = {}
for name, times_s in {"eager": (25e-3, 33e-3, 34e-3), "captured": (8e-4, 4.2e-3, 4.8e-3)}.items():
    best = best_gamma(0.78, *times_s[:2], lambda gamma: times_s[2])
    gained = speedup(0.78, best, *times_s) if best else 1
    will_it_win[name] = {"best_gamma": best, "speedup": gained, "alpha": 0.78}
"""

ANSWERS = [
    Variant("notation", "as they are", notation()),
    Variant(
        "notation",
        "positive parts, capitals",
        notation(
            {"target": "P", "residual": "norm(max(0, p(x) - q(x)))"},
            {"draft": " p ", "residual": "(q(x) \u2212 p(x))+"},
        ),
    ),
    Variant(
        "notation",
        "as code",
        notation({"residual": "clamp(p - q, min=0)"}, {"residual": "torch.relu(q-p)"}),
    ),
    Variant("published_alpha", "three digits", alphas(0.773, 0.779, 0.793, 0.809)),
    Variant("published_alpha", "two digits", alphas(0.77, 0.78, 0.79, 0.81)),
    Variant("published_alpha", "bisected, with more digits", _COMPUTED),
    Variant("will_it_win", "four digits", plan(eager=(0, 1), captured=(4, 1.697))),
    Variant("will_it_win", "two digits, and what gamma 1 would give", plan((0, 0.996), (4, 1.7))),
    Variant("will_it_win", "computed", _PLANNED),
]

GAINS = DRAFTS + TOKENS + SPEEDUPS + SEARCHES + ANSWERS
