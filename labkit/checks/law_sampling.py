"""The law of a sampler from samples, with certified error, where it cannot be followed exactly.

A probe is a pair of tiny models, so that the law of a few tokens is known exactly. Of n samples the
judge computes n KL(counts || law). For a right sampler that exceeds t with a probability of at most
exp(-t) (e t / (k - 1)) ** (k - 1), where k outcomes are possible: Agrawal 2020, "Finite-sample
concentration of the multinomial in relative entropy" (arXiv:1904.02291). Six probes share a chance
of one in a million that they together blame a right sampler. An impossible outcome needs no
statistics.

A alone needs thousands of samples to see a wrong bonus token; the others are made to see one kind
of fault in a few: E has nothing in common with the draft at the bonus token, D has zeros where the
draft is likely, C is strongly mismatched, B nearly the same. `n_new` exceeds gamma everywhere, for
otherwise no bonus token is ever drawn.
"""

import math
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor

from labkit.checks.law import Outcome, text_law

FALSE_ALARM = 1e-6  # that any of the six probes blames a right sampler
N_SAMPLES = 8_000  # of each probe: the mildest fault of the tests' catalogue needs 3,200


@dataclass(frozen=True, slots=True, eq=False)
class Probe:
    """Two models whose next token depends on the last two tokens, and what to sample from them.

    target_probs, draft_probs: (V V V) in float64, by the token before the last and the last one.
    """

    name: str
    gamma: int
    n_new: int
    target_probs: Tensor
    draft_probs: Tensor
    prompt: tuple[int, int] = (0, 1)

    @property
    def vocab_size(self) -> int:
        """V, of both models."""
        return self.target_probs.shape[-1]

    def law(self) -> dict[Outcome, float]:
        """The probability of every possible text of `n_new` tokens after the prompt."""

        def next_probs(new: Outcome) -> list[float]:
            before, last = (*self.prompt, *new)[-2:]
            return self.target_probs[before, last].tolist()

        return text_law(next_probs, self.n_new)


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
        raise ValueError("a law is judged by at least one outcome, got none")
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


def n_samples_needed(law: Mapping[Outcome, float], wrong: Mapping[Outcome, float]) -> int:
    """Samples with which a sampler of the law `wrong` is found out 999 times in 1,000, about.

    By the normal approximation of the log-likelihood ratio; for impossible outcomes exactly.
    Raises: ValueError if both laws are the same.
    """
    stray = math.fsum(p for outcome, p in wrong.items() if not law.get(outcome, 0.0) > 0)
    logs = [(p, math.log(p / law[o])) for o, p in wrong.items() if p > 0 and law.get(o, 0.0) > 0]
    found = math.inf if not stray else math.log(1e-3) / math.log1p(-stray) if stray < 1 else 1
    mean = math.fsum(p * log for p, log in logs)
    if not stray and mean < 1e-9:
        raise ValueError("the two laws are the same: no number of samples tells them apart")
    if not stray:
        spread = math.sqrt(max(math.fsum(p * log**2 for p, log in logs) - mean**2, 0.0))
        limit = threshold(sum(p > 0 for p in law.values()), FALSE_ALARM / 6)
        found = (
            (3.09 * spread + math.sqrt((3.09 * spread) ** 2 + 4 * mean * limit)) / 2 / mean
        ) ** 2
    return math.ceil(found)


def probes() -> list[Probe]:
    """The six probes, A to E; D comes with gamma 1 and with gamma 2."""
    generic, other = _random_table(4, 1), _random_table(4, 2)
    zeros, zeros_draft = _alternating_zeros()
    return [
        Probe("A: two generic models", 2, 4, generic, other),
        Probe("B: nearly the same model", 1, 3, generic, _reweighted(generic)),
        Probe("C: two tokens, strongly mismatched", 1, 3, *_mismatched()),
        Probe("D: zeros where the draft is likely, gamma 1", 1, 3, zeros, zeros_draft),
        Probe("D: zeros where the draft is likely, gamma 2", 2, 4, zeros, zeros_draft),
        Probe("E: nothing in common at the bonus token", 2, 3, *_disjoint_bonus(), prompt=(2, 3)),
    ]


def _random_table(vocab_size: int, seed: int, least: float = 0.04) -> Tensor:
    """Distributions of which no entry is below `least`."""
    rng = torch.Generator().manual_seed(seed)
    raw = torch.rand(vocab_size, vocab_size, vocab_size, generator=rng, dtype=torch.float64) ** 3
    return least + (1 - vocab_size * least) * raw / raw.sum(-1, keepdim=True)


def _reweighted(table: Tensor) -> Tensor:
    """A quarter more for some tokens and a quarter less for others, in turns by context."""
    tokens = torch.arange(table.shape[-1])
    contexts = tokens[:, None, None] + tokens[None, :, None]
    weights = torch.where((contexts + tokens) % 2 == 0, 1.25, 0.75).to(table)
    return table * weights / (table * weights).sum(-1, keepdim=True)


def _mismatched() -> tuple[Tensor, Tensor]:
    target = [[[0.4, 0.6], [0.6, 0.4]], [[0.5, 0.5], [0.6, 0.4]]]
    draft = [[[0.2, 0.8], [0.9, 0.1]], [[0.1, 0.9], [0.7, 0.3]]]
    return torch.tensor(target, dtype=torch.float64), torch.tensor(draft, dtype=torch.float64)


def _alternating_zeros() -> tuple[Tensor, Tensor]:
    """The token that is impossible for the target and likely for the draft goes by the context."""
    target, draft = torch.zeros(2, 4, 4, 4, dtype=torch.float64)
    for before in range(4):
        for last in range(4):
            zero = (before + 2 * last + 1) % 4
            others = [(zero + i) % 4 for i in (1, 2, 3)]
            target[before, last, others] = torch.tensor([0.5, 0.3, 0.2], dtype=torch.float64)
            draft[before, last, [zero, *others]] = torch.tensor(
                [0.5, 0.05, 0.25, 0.2], dtype=torch.float64
            )
    return target, draft


def _disjoint_bonus() -> tuple[Tensor, Tensor]:
    """After 2, 3 both say 0 or 1, then both 2 or 3; then the target 0 or 1, the draft 2 or 3."""
    low, high = [0.6, 0.4, 0.0, 0.0], [0.0, 0.0, 0.3, 0.7]
    target = torch.tensor([[high, high, low, low]] * 4, dtype=torch.float64)
    target[2:, 2:] = torch.tensor(low, dtype=torch.float64)
    draft = target.clone()
    draft[:2, 2:] = torch.tensor(high, dtype=torch.float64)
    return target, draft
