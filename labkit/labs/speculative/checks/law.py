"""What comes out of a student's random function, and how often: exactly, or else from samples."""

import math
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from labkit.bridge.student import StudentError
from labkit.checks.core import Wrong
from labkit.checks.law import NotRepeatable, Outcome, RandomSource, exact_law
from labkit.checks.law_sampling import judge_samples

MAX_PATHS = 2_000
N_SAMPLES = 1_500  # of each case, where the exact law cannot be had
TOLERANCE = 2e-5  # what single precision leaves of a small residual

Law = Mapping[Outcome, float]


@dataclass(frozen=True, slots=True)
class Found:
    """Outcomes with their weights: probabilities, or counts where `cannot` says why not exactly."""

    weights: Law
    cannot: str = ""

    def law(
        self,
        key: Callable[[Outcome], Outcome] = lambda outcome: outcome,
        given: Callable[[Outcome], bool] = lambda outcome: True,
    ) -> dict[Outcome, float]:
        """The weights of `key(outcome)`, for the outcomes of which `given` holds."""
        return gathered({one: self.weights[one] for one in self.weights if given(one)}, key)

    def share(self, given: Callable[[Outcome], bool]) -> float:
        """The probability, or the frequency, of the outcomes for which it holds."""
        weights = [weight for outcome, weight in self.weights.items() if given(outcome)]
        return math.fsum(weights) / math.fsum(self.weights.values())


@dataclass(frozen=True, slots=True)
class Claim:
    """What a law should be. what: in words, with {} for what the outcome consists of.

    slips: laws that known mistakes have, by the sentence that names the mistake.
    """

    what: str
    law: Law
    slips: Mapping[str, Law] = field(default_factory=dict)
    why: str = ""

    def expect(self, weights: Law, cannot: str = "") -> None:
        """Raise Wrong unless the weights go by the law; `cannot` says that they are counts."""
        total = math.fsum(weights.values())
        if total < TOLERANCE:
            often, share = max(self.law.items(), key=lambda item: item[1])
            wanted, seen = f"probability {share:.4g}", "that it never comes to that"
            raise Wrong(self.what.format(*often), expected=wanted, got=seen, why=self.why)
        shares = {outcome: weight / total for outcome, weight in weights.items()}
        if cannot:
            is_right = judge_samples(Counter(weights).elements(), self.law).passed
        else:
            is_right = _distance(shares, self.law) <= TOLERANCE
        if is_right:
            return
        worst = max(sorted({**self.law, **shares}), key=lambda one: _gap(shares, self.law, one))
        near = 0.05 if cannot else TOLERANCE
        slips = (slip for slip, law in self.slips.items() if _distance(shares, law) <= near)
        why = next(slips, self.why)
        sampled = f" Judged by {round(total):,} samples: {cannot}." if cannot else ""
        raise Wrong(
            self.what.format(*worst),
            expected=f"probability {self.law.get(worst, 0.0):.4g}",
            got=f"{shares.get(worst, 0.0):.4g}",
            why=why + sampled,
            cause=why or self.what,
        )


def found_law(play: Callable[[RandomSource | None], Outcome], n_samples: int = N_SAMPLES) -> Found:
    """What `play(source)` returns, over all that the source may say; None: real random numbers.

    Where random numbers cannot be followed, fall in too many ways or are not seen, `n_samples` runs
    are counted.
    Raises: what `play` raises.
    """
    try:
        law = exact_law(play, max_paths=MAX_PATHS)
    except NotRepeatable:
        cannot = "the same random numbers did not lead to the same questions again"
    except StudentError as error:
        if not error.is_a("CannotFollow"):
            raise
        cannot = error.message
    else:
        if law.is_complete and law.n_paths > 1:
            return Found(law.probabilities)
        cannot = "it asks for no random number of torch, numpy or Python's random"
        if law.n_paths > 1:
            cannot = f"there are more than {MAX_PATHS:,} ways for the random numbers to fall"
    return Found(Counter(play(None) for _ in range(n_samples)), cannot)


def gathered(weights: Law, key: Callable[[Outcome], Outcome]) -> dict[Outcome, float]:
    """The weights of `key(outcome)`."""
    found: Counter[Outcome] = Counter()
    for outcome, weight in weights.items():
        found[key(outcome)] += weight
    return dict(found)


def row_law(probs: Any) -> dict[Outcome, float]:
    """The law of one token, from its probabilities."""
    return {(token,): float(share) for token, share in enumerate(probs)}


def _gap(law: Law, other: Law, outcome: Outcome) -> float:
    return abs(law.get(outcome, 0.0) - other.get(outcome, 0.0))


def _distance(law: Law, other: Law) -> float:
    return max(_gap(law, other, outcome) for outcome in {**law, **other})
