"""Hidden cases of lab 06: fresh texts, blocks and times; right functions for the answer cells."""

import random
from collections.abc import Callable
from dataclasses import replace
from itertools import pairwise
from typing import Any

from labkit import speculative as lab
from labkit.checks.answers import AnswerCase
from labkit.labs.speculative.checks.answers import CHEN, LEVIATHAN, TEMPERATURES
from labkit.labs.speculative.checks.drafts import LookupCase
from labkit.labs.speculative.checks.search import BestCase
from labkit.labs.speculative.rules import THRESHOLD, toy_probs

RIGHT_NOTATION = {
    LEVIATHAN: {"target": "p", "draft": "q", "residual": "p - q"},
    CHEN: {"target": "q", "draft": "p", "residual": "q - p"},
}
MARGIN = 2e-4  # by which the best gamma is better than any other


def gain_cases(rng: random.Random) -> dict[str, list]:
    """The cases of one run, by exercise."""
    return {
        "ngram_draft": _lookups(rng),
        "best_gamma": [*_searches(rng), *_ties(rng)],
        "notation": [AnswerCase("notation", RIGHT_NOTATION)],
        "acceptance_rules": [AnswerCase("acceptance_rules", right_rules())],
        "batches": [AnswerCase("batches", lab)],
        "compared": [AnswerCase("compared", "record")],
    }


def right_rules() -> dict[str, dict[str, Any]]:
    """For each rule of acceptance, whether it is lossless and what it keeps, in closed form."""
    rules: dict[str, dict[str, Any]] = {
        rule: {"lossless": rule in ("ratio", "one_hot", "strict"), "kept": {}}
        for rule in ("ratio", "one_hot", "strict", "threshold", "greedy")
    }
    for temperature in TEMPERATURES:
        draft, target = toy_probs(temperature)
        kept = {
            "ratio": draft.minimum(target).sum(),
            "one_hot": target[draft.argmax()],
            "strict": draft @ target,
            "threshold": draft[target >= THRESHOLD].sum(),
            "greedy": draft[target.argmax()],
        }
        for rule, probability in kept.items():
            rules[rule]["kept"][temperature] = float(probability)
    return rules


def _lookups(rng: random.Random) -> list[LookupCase]:
    """Texts of tokens that are all different, but for the last few, which stand earlier too."""
    unused = iter(rng.sample(range(100, 50_000), 900))

    def few(n: int) -> list[int]:
        return [next(unused) for _ in range(n)]

    def case(kind: str, *parts: list[int], gamma: int, longest: int | None = None) -> LookupCase:
        tokens = [token for part in parts for token in part]
        drafted = lab.ngram_draft(tokens, gamma, 3 if longest is None else longest)
        return LookupCase(kind, tuple(tokens), gamma, tuple(drafted), longest)

    def gap() -> list[int]:
        return few(rng.randint(4, 9))

    a, b, c, d, e = few(5)
    last, n = [a, b, c], rng.randint(2, 4)
    x, digit, z = rng.sample(range(1, 10), 3)
    return [
        case("copy", gap(), last, gap(), last, gamma=n),
        case("copy", gap(), last, [next(unused), 0, 0, 1], gap(), last, gamma=4),
        case("copy", [10 * a + digit], gap(), [digit], gap(), [digit], gamma=n, longest=1),
        case("copy", [int(f"{digit}{a}")], gap(), [digit], gap(), [digit], gamma=n, longest=1),
        case("copy", gap(), last, few(300), last, gamma=n),
        case(
            "longest",
            [10 * x + digit, z],
            gap(),
            [x, 10 * digit + z],
            gap(),
            [x, 10 * digit + z],
            gamma=n,
            longest=2,
        ),
        case("longest", [b, a], gap(), [a, b], gap(), [a, b], gamma=n, longest=2),
        case("longest", [a, d, c], gap(), last, gap(), last, gamma=n),
        case("longest", [e, *last], gap(), [d, e, *last], gap(), [d, e, *last], gamma=n, longest=5),
        case("longest", [c], gap(), [b, c], gap(), last, gap(), last, gamma=n),
        case("longest", last, gap(), [d, e, *last], gap(), [d, e, *last], gamma=n, longest=5),
        case("shorter", gap(), [b, c], gap(), last, gamma=n),
        case("shorter", gap(), [c], gap(), last, gamma=n),
        case("shorter", [c], few(4), [a, c], gamma=1, longest=9),
        case("shorter", [c], few(1), [c], gamma=1),
        case("earliest", gap(), last, gap(), last, gap(), last, gap(), last, gamma=n),
        case("earliest", gap(), [b, c], gap(), [b, c], gap(), last, gamma=n, longest=2),
        case("earliest", [b, c], gap(), last, gap(), last, gap(), last, gamma=n, longest=2),
        case("earliest", [*last, d], gap(), [*last, e], gap(), [*last, e], gap(), last, gamma=n),
        case("earliest", gap(), last, gap(), [d, *last], gap(), [d, *last], gamma=n),
        case("end", gap(), last, few(n), last, gamma=20),
        case("end", gap(), last, few(12), last, gamma=20),
        case("end", few(n), last, last, gamma=n + 3),
        case("nothing", gap(), gamma=n),
        case("nothing", [a], gamma=n),
        case("nothing", gamma=n),
        case("nothing", last, gap(), few(1), gamma=n, longest=1),
    ]


def _searches(rng: random.Random) -> list[BestCase]:
    """Times in steps of the target by which the best gamma is where the case's kind has it."""

    def between(low: float, high: float) -> float:
        return rng.uniform(low, high)

    def alpha(low: int = 70, high: int = 92) -> float:
        return rng.randrange(low, high) / 100

    def few() -> int:
        return rng.randint(4, 8)

    def dear() -> BestCase:
        return _solved("dear", 0.9, between(0.04, 0.06), 1.0, more_s=0.5, dear=(few(), 64))

    def hill() -> BestCase:
        return _solved("hill", alpha(75, 83), between(0.09, 0.15), 1.0, more_s=0.6, dear=(2, 3))

    draws: list[Callable[[], BestCase]] = [
        lambda: _solved("inside", alpha(), between(0.03, 0.2), 1.0),
        lambda: _solved("inside", 0.9, between(0.03, 0.08), 1.0),
        dear,
        dear,
        hill,
        lambda: _solved("hill", alpha(80, 85), between(0.15, 0.25), between(1.9, 2.1)),
        lambda: _solved("lost", alpha(30, 60), between(0.7, 0.9), 1.05),
        lambda: _solved("lost", alpha(30, 60), between(0.1, 0.2), 2.6),
        lambda: _solved("last", 1.0, between(0.1, 0.3), 1.0, max_gamma=few()),
        lambda: _solved("last", alpha(), 0.0, 1.0, max_gamma=rng.randint(2, 4)),
        lambda: _solved("last", 1.0, between(0.1, 0.3), 1.0, max_gamma=1),
        lambda: _solved("last", 1.0, between(0.1, 0.3), 1.0),
    ]
    return [_first_that_is_clear(draw) for draw in draws]


def _solved(kind: str, alpha: float, draft_s: float, base_s: float, **more: Any) -> BestCase:
    case = BestCase(kind, alpha, draft_s, 1.0, base_s, 0, **more)
    last = case.max_gamma or 64
    return replace(case, best=lab.best_gamma(alpha, draft_s, 1.0, case.verify_s, last))


def _first_that_is_clear(draw: Callable[[], BestCase]) -> BestCase:
    """The first case drawn in which one gamma is clearly the best, and where its kind has it."""
    while True:
        case = draw()
        speedups = [1.0] + [
            lab.speedup(case.alpha, gamma, case.draft_s, 1.0, case.verify_s(gamma))
            for gamma in range(1, (case.max_gamma or 64) + 1)
        ]
        peak = next((i for i, (a, b) in enumerate(pairwise(speedups)) if b < a), len(speedups) - 1)
        is_where_it_should_be = {
            "inside": 1 < case.best == peak,
            "dear": case.best == peak == case.dear[0] - 1,
            "hill": 3 < case.best <= 8 and peak < 3,
            "lost": case.best == 0,
            "last": case.best == (case.max_gamma or 64),
        }
        second, first = sorted(speedups)[-2:]
        if is_where_it_should_be[case.kind] and first > (1 + MARGIN) * second:
            return case


def _ties(rng: random.Random) -> list[BestCase]:
    """Gammas that are equally fast, or as fast as plain, in numbers that no rounding touches.

    With alpha 1/2 blocks of gamma 1, 2, 3 have 1.5, 1.75, 1.875 tokens. The first two take 6 and 7
    draft steps if verifying takes 5, the latter two 14 and 15 if it takes 12.
    """
    draft_s = 2.0 ** rng.randint(-9, 3)
    return [
        BestCase("tie", 0.5, draft_s, 8 * draft_s, 5 * draft_s, best=1),
        BestCase("tie", 0.5, draft_s, 16 * draft_s, 12 * draft_s, best=2),
        BestCase("lost", 0.5, draft_s, 4 * draft_s, 5 * draft_s, best=0),
        BestCase("lost", 1.0, draft_s, draft_s, draft_s, best=0, max_gamma=rng.randint(2, 9)),
    ]
