"""Acceptance: how to estimate it from blocks, how sure that is, and what it predicts.

alpha is the chance that the target accepts a drafted token which it examines. Each examined token
is one trial; so alpha is estimated by accepted / examined. Accepted / drafted is another quantity,
which falls as gamma grows; `alpha_of_ratio` turns it into alpha.
"""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from statistics import NormalDist, fmean, stdev

import numpy
from torch import Tensor

from labkit.models.sampling import Block
from labkit.speculative import acceptance_rate, expected_tokens


@dataclass(frozen=True, slots=True)
class Estimate:
    """An estimated rate, the ends of its confidence interval, and the trials it rests on."""

    value: float
    low: float
    high: float
    n: int


def acceptance(blocks: Iterable[Block], confidence: float = 0.95) -> Estimate:
    """alpha with Wilson's interval: examined tokens as independent trials of one chance.

    Raises: ValueError if no token was examined.
    Source: Wilson 1927; unlike +-1.96 standard errors it stays inside [0, 1].
    """
    records = list(blocks)
    rate, n = acceptance_rate(records), sum(block.examined for block in records)
    z = _normal_quantile(confidence)
    centre = (rate + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(rate * (1 - rate) / n + z * z / (4 * n * n))
    return Estimate(rate, max(0.0, centre - half), min(1.0, centre + half), n)


def clustered_acceptance(blocks: Iterable[Block], confidence: float = 0.95) -> Estimate:
    """alpha with an interval that allows for prompts of unlike difficulty.

    Tokens of one prompt share its difficulty, so they tell less than as many independent ones. The
    trials here are prompts (`prompt_id`): the interval comes from how they differ, and is never
    narrower than that of `acceptance`, for a few prompts may be alike by chance.

    Raises: ValueError if no token was examined, or with fewer than two prompts.
    Source: the linearised variance of a ratio estimator, Cochran 1977, equation 2.39, with the
    quantile of Student's t for one prompt less than there are.
    """
    prompts = list(group(blocks, lambda block: block.prompt_id).values())
    n = len(prompts)
    if n < 2:
        raise ValueError(f"an interval over prompts needs two prompts or more; got {n}")
    plain = acceptance((block for prompt in prompts for block in prompt), confidence)
    examined = [sum(block.examined for block in prompt) for prompt in prompts]
    accepted = [sum(block.n_accepted for block in prompt) for prompt in prompts]
    left = [a - plain.value * e for a, e in zip(accepted, examined, strict=True)]
    error = math.sqrt(n / (n - 1) * sum(x * x for x in left)) / sum(examined)
    half = student_quantile(confidence, n - 1) * error
    low, high = max(0.0, plain.value - half), min(1.0, plain.value + half)
    return Estimate(plain.value, min(low, plain.low), max(high, plain.high), n)


def acceptance_by(
    blocks: Iterable[Block], key: Callable[[Block], str], confidence: float = 0.95
) -> dict[str, Estimate]:
    """alpha of each group of blocks, such as key=lambda block: block.source.

    Groups in which nothing was examined are left out.
    """
    groups = group(blocks, key)
    return {
        name: acceptance(members, confidence)
        for name, members in groups.items()
        if any(block.examined for block in members)
    }


def group(blocks: Iterable[Block], key: Callable[[Block], str]) -> dict[str, list[Block]]:
    """Blocks by their key, in the order in which the keys first appear."""
    groups: dict[str, list[Block]] = {}
    for block in blocks:
        groups.setdefault(key(block), []).append(block)
    return groups


def overlap(target_probs: Tensor, draft_probs: Tensor) -> Tensor:
    """The chance of acceptance in each context: the sum of min(target, draft).

    Shapes: (... V) and (... V) to (...).
    Source: Leviathan et al. (arXiv:2211.17192), Corollary 3.6.
    """
    return target_probs.minimum(draft_probs).sum(-1)


def acceptance_from_overlaps(overlaps: Sequence[float], confidence: float = 0.95) -> Estimate:
    """alpha from the `overlap` at each examined position: the same mean, without the coins' noise.

    Raises: ValueError for fewer than two positions.
    """
    n = len(overlaps)
    if n < 2:
        raise ValueError(f"an interval needs two positions or more; got {n}")
    mean = fmean(overlaps)
    half = student_quantile(confidence, n - 1) * stdev(overlaps) / math.sqrt(n)
    return Estimate(mean, max(0.0, mean - half), min(1.0, mean + half), n)


def ratio_of_alpha(alpha: float, gamma: int) -> float:
    """Accepted / drafted that is to be expected: alpha (1 - alpha^gamma) / (gamma (1 - alpha)).

    Raises: ValueError for alpha outside [0, 1] or gamma < 1.
    """
    if gamma < 1:
        raise ValueError(f"gamma must be at least 1, not {gamma}")
    return (expected_tokens(alpha, gamma) - 1) / gamma


def alpha_of_ratio(ratio: float, gamma: int) -> float:
    """alpha from accepted / drafted, as many reports give it; the inverse of `ratio_of_alpha`.

    Raises: ValueError for a ratio outside [0, 1] (above 1 the target's own token was counted as an
    accepted one) or gamma < 1.
    """
    if not 0 <= ratio <= 1:
        raise ValueError(
            f"accepted / drafted lies between 0 and 1, not at {ratio}; above 1 the token that the "
            "target adds to each block was counted as accepted"
        )
    low, high = 0.0, 1.0
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if ratio_of_alpha(middle, gamma) < ratio else (low, middle)
    return high


@dataclass(frozen=True, slots=True)
class Run:
    """What a text of n_new tokens takes on average: target calls, tokens drafted, accepted.

    calls_by_gamma[k]: target calls that verify k tokens.
    """

    n_calls: float
    n_drafted: float
    n_accepted: float
    calls_by_gamma: tuple[float, ...]

    def seconds(self, draft_s: float, verify_s: Callable[[int], float]) -> float:
        """Time of the run: each drafted token, and each call by how many tokens it verifies."""
        calls = enumerate(self.calls_by_gamma)
        return self.n_drafted * draft_s + sum(n * verify_s(k) for k, n in calls if n)


def expected_run(alpha: float, gamma: int, n_new: int) -> Run:
    """The averages for a text of exactly n_new tokens, whose last blocks draft less than gamma.

    Raises: ValueError for alpha outside [0, 1], gamma < 1 or n_new < 0.
    """
    ratio_of_alpha(alpha, gamma)  # checks both
    if n_new < 0:
        raise ValueError(f"n_new must be at least 0, not {n_new}")
    reached = [1.0] + [0.0] * n_new  # chance that a block begins after so many new tokens
    calls = [0.0] * (gamma + 1)
    n_accepted = 0.0
    for n_done in range(n_new):
        k = min(gamma, n_new - n_done - 1)
        calls[k] += reached[n_done]
        for n_kept in range(k + 1):
            chance = alpha**n_kept * ((1 - alpha) if n_kept < k else 1)
            reached[n_done + n_kept + 1] += reached[n_done] * chance
            n_accepted += reached[n_done] * chance * n_kept
    n_drafted = sum(k * n for k, n in enumerate(calls))
    return Run(sum(calls), n_drafted, n_accepted, tuple(calls))


def arithmetic_growth(alpha: float, gamma: int, draft_cost: float) -> float:
    """How many times the arithmetic of plain decoding speculation does.

    draft_cost: the draft's operations per token, over the target's.
    Raises: ValueError for alpha outside [0, 1] or gamma < 0.
    Source: Leviathan et al., Theorem 3.11.
    """
    return (gamma * draft_cost + gamma + 1) / expected_tokens(alpha, gamma)


def measured_times(seconds: Mapping[int, float]) -> Callable[[int], float]:
    """A function of gamma from measured seconds at some gammas, straight lines between them.

    Raises: ValueError if there are none; the function, outside of what was measured.
    """
    if not seconds:
        raise ValueError("there are no measured times")
    gammas, times_s = zip(*sorted(seconds.items()), strict=True)

    def at(gamma: int) -> float:
        if not gammas[0] <= gamma <= gammas[-1]:
            known = f"from {gammas[0]} to {gammas[-1]}"
            raise ValueError(f"times were measured for gamma {known}, not for {gamma}")
        return float(numpy.interp(gamma, gammas, times_s))

    return at


def student_quantile(confidence: float, n_degrees: int) -> float:
    """How many standard errors, estimated from few numbers, lie to both sides of their mean.

    n_degrees: of freedom, one less than there are numbers.
    Raises: ValueError for a confidence outside of (0, 1) or n_degrees < 1.
    Source: Abramowitz and Stegun, equations 26.7.3 and 26.7.4, inverted by bisection.
    """
    _check_confidence(confidence)
    if n_degrees < 1:
        raise ValueError(f"an interval needs a degree of freedom, not {n_degrees}")
    is_odd = n_degrees % 2

    def inside(angle: float) -> float:
        """The chance of being less than sqrt(n_degrees) tan(angle) away from 0."""
        total, term = 0.0, math.sin(angle) * math.cos(angle) ** is_odd
        for i in range(1, n_degrees // 2 + 1):
            total += term
            term *= math.cos(angle) ** 2 * (2 * i - 1 + is_odd) / (2 * i + is_odd)
        return (angle + total) * 2 / math.pi if is_odd else total

    low, high = 0.0, math.pi / 2
    for _ in range(60):
        middle = (low + high) / 2
        low, high = (middle, high) if inside(middle) < confidence else (low, middle)
    return math.sqrt(n_degrees) * math.tan(high)


def _normal_quantile(confidence: float) -> float:
    _check_confidence(confidence)
    return NormalDist().inv_cdf((1 + confidence) / 2)


def _check_confidence(confidence: float) -> None:
    if not 0 < confidence < 1:
        raise ValueError(f"a confidence lies between 0 and 1, not at {confidence}")
