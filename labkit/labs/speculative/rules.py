"""Rules of acceptance for one drafted token, as engines have them. Lab 6 asks which are lossless.

A rule gets a drafted token and says whether it is kept, and which token the text gets. `RULES`
names each with the way in which its draft proposes.
"""

from collections.abc import Callable

import torch
from torch import Generator, Tensor

from labkit.chance.paths import RandomSource
from labkit.chance.source import scripted
from labkit.checks.law import Law, exact_law
from labkit.models.sampling import sample

Draft = Callable[[Tensor, Generator | None], int]
Rule = Callable[[int, Tensor, Tensor, Generator | None], tuple[bool, int]]
THRESHOLD = 0.3
TOY_LOGITS = {"draft": (0.36, 0.0, 0.32), "target": (0.6, 0.45, 0.0)}


def ratio(
    drafted: int, draft_probs: Tensor, target_probs: Tensor, rng: Generator | None = None
) -> tuple[bool, int]:
    """Keep a token by the ratio of its two probabilities, or else draw from what is missing.

    Source: Leviathan et al. 2023 (arXiv:2211.17192); vLLM with probabilities of the draft.
    """
    shared = torch.minimum(draft_probs, target_probs)
    is_kept = bool(torch.bernoulli(shared[drafted] / draft_probs[drafted], generator=rng))
    return is_kept, drafted if is_kept else sample(target_probs - shared, rng)


def one_hot(
    drafted: int, draft_probs: Tensor, target_probs: Tensor, rng: Generator | None = None
) -> tuple[bool, int]:
    """Keep a token with the target's probability of it, or else draw another from the target.

    Source: vLLM's sampler for n-gram drafts; EAGLE (arXiv:2401.15077) in its own code.
    """
    is_kept = bool(torch.bernoulli(target_probs[drafted], generator=rng))
    others = target_probs.clone()
    others[drafted] = 0
    return is_kept, drafted if is_kept else sample(others, rng)


def strict(
    drafted: int, draft_probs: Tensor, target_probs: Tensor, rng: Generator | None = None
) -> tuple[bool, int]:
    """Draw the target's own token. The drafted one is kept if it is the same.

    Source: vLLM of early 2026, rejection method "strict" (pull request 35461).
    """
    token = sample(target_probs, rng)
    return token == drafted, token


def threshold(
    drafted: int, draft_probs: Tensor, target_probs: Tensor, rng: Generator | None = None
) -> tuple[bool, int]:
    """Keep a token that the target gives at least THRESHOLD, or else draw from the target.

    Source: SGLang with speculative_accept_threshold_single below 1. Typical acceptance in Medusa
    (Cai et al. 2024, arXiv:2401.10774) has a threshold that depends on the target's entropy.
    """
    is_kept = bool(target_probs[drafted] >= THRESHOLD)
    return is_kept, drafted if is_kept else sample(target_probs, rng)


def greedy(
    drafted: int, draft_probs: Tensor, target_probs: Tensor, rng: Generator | None = None
) -> tuple[bool, int]:
    """Take the target's most likely token. The drafted one is kept if it is the same.

    Source: SGLang at any temperature where its sampling kernel is missing.
    """
    token = most_likely(target_probs)
    return token == drafted, token


def most_likely(probs: Tensor, rng: Generator | None = None) -> int:
    """The most likely token: a draft that draws nothing."""
    return int(probs.argmax())


RULES: dict[str, tuple[Draft, Rule]] = {
    "ratio": (sample, ratio),
    "one_hot": (most_likely, one_hot),
    "strict": (sample, strict),
    "threshold": (sample, threshold),
    "greedy": (sample, greedy),
}


def one_token(
    rule: str, draft_probs: Tensor, target_probs: Tensor, rng: Generator | None = None
) -> tuple[bool, int]:
    """Draft one token and decide about it by a rule of `RULES`.

    Shapes: (V,) and (V,). Returns: whether the drafted token is kept, and the text's token.
    Raises: ValueError for another name.
    """
    if rule not in RULES:
        raise ValueError(f"a rule is one of {', '.join(RULES)}, not {rule!r}")
    draft, decide = RULES[rule]
    return decide(draft(draft_probs, rng), draft_probs, target_probs, rng)


def toy_probs(temperature: float) -> tuple[Tensor, Tensor]:
    """The probabilities of a toy draft and a toy target of three tokens, float64."""
    rows = (TOY_LOGITS[model] for model in ("draft", "target"))
    draft, target = (torch.tensor(row, dtype=torch.float64) for row in rows)
    return torch.softmax(draft / temperature, -1), torch.softmax(target / temperature, -1)


def rule_law(rule: str, temperature: float) -> Law:
    """Every outcome (is_kept, token) of a rule for the toy models, with its probability."""
    draft_probs, target_probs = toy_probs(temperature)

    def play(source: RandomSource) -> tuple[bool, int]:
        with scripted(source):
            return one_token(rule, draft_probs, target_probs)

    return exact_law(play)
