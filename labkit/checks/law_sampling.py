"""The law of a sampler from samples, with certified error, where it cannot be followed exactly.

Of n samples the judge computes n KL(counts || law). For a right sampler that exceeds t with a
probability of at most exp(-t) (e t / (k - 1)) ** (k - 1), where k outcomes are possible: Agrawal
2020, "Finite-sample concentration of the multinomial in relative entropy" (arXiv:1904.02291). An
impossible outcome needs no statistics.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from labkit.checks.law import Outcome

FALSE_ALARM = 1e-6  # that any of six judgements blames a right sampler


@dataclass(frozen=True, slots=True)
class Verdict:
    """n_samples; statistic: n KL(counts || law); threshold: what it may not exceed.

    impossible: the most frequent outcome that the law excludes, if there is one; the statistic is
    infinite then.
    """

    n_samples: int
    statistic: float
    threshold: float
    impossible: Outcome | None = None

    @property
    def passed(self) -> bool:
        """Whether nothing is known against the sampler."""
        return self.statistic <= self.threshold


def judge_samples(
    outcomes: Iterable[Outcome], law: Mapping[Outcome, float], false_alarm: float = FALSE_ALARM / 6
) -> Verdict:
    """Whether independent outcomes may come from this law; wrong at most with that probability.

    Raises: ValueError without any outcome.
    """
    counts = Counter(tuple(outcome) for outcome in outcomes)
    n_samples = counts.total()
    if not n_samples:
        raise ValueError("a distribution needs at least one outcome to be judged, got none")
    support = {outcome: probability for outcome, probability in law.items() if probability > 0}
    limit = threshold(len(support), false_alarm)
    impossible = next((one for one, _ in counts.most_common() if one not in support), None)
    if impossible is not None:
        return Verdict(n_samples, math.inf, limit, impossible)
    terms = (n * math.log(n / (n_samples * support[one])) for one, n in counts.items())
    return Verdict(n_samples, max(math.fsum(terms), 0.0), limit)


def threshold(n_outcomes: int, false_alarm: float) -> float:
    """What n KL(counts || law) exceeds with at most this probability, whatever n and the law.

    Source: Agrawal 2020 (arXiv:1904.02291), Theorem 1.2, solved for t by bisection.
    Raises: ValueError unless n_outcomes >= 1 and 0 < false_alarm < 1.
    """
    if n_outcomes < 1 or not 0 < false_alarm < 1:
        raise ValueError(f"no threshold for {n_outcomes} outcomes, false alarm {false_alarm}")
    free = n_outcomes - 1
    if not free:
        return 0.0
    low, high = float(free), free - 4 * math.log(false_alarm) + 4 * free
    while high - low > 1e-9 * high:
        middle = (low + high) / 2
        excess = middle - free * (1 + math.log(middle / free)) + math.log(false_alarm)
        low, high = (low, middle) if excess > 0 else (middle, high)
    return high
