"""How often a target accepts its draft's tokens, without running speculative decoding.

Speculative sampling emits a token x with the target's probability p(x), whatever the draft says,
and has accepted it from the draft with probability min(p(x), q(x)). So given a text that the target
has sampled, each of its tokens was accepted with probability min(1, q(x) / p(x)), independently:
the law of a whole run follows from one sampled text and one pass of either model over it.

Source: Leviathan et al. 2023 (arXiv:2211.17192), Definition 3.1 and Algorithm 1.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True, slots=True)
class Acceptance:
    """Draft tokens that the target examined, and those that it accepted."""

    n_examined: int
    n_accepted: int

    @property
    def rate(self) -> float:
        return self.n_accepted / self.n_examined

    def __add__(self, other: Acceptance) -> Acceptance:
        return Acceptance(self.n_examined + other.n_examined, self.n_accepted + other.n_accepted)


@torch.inference_mode()
def measure(
    target, draft, tokens: Tensor, n_prompt: int, temperature: float, gamma: int, rng
) -> Acceptance:
    """Acceptance over one text: `tokens` (S,), of which the target sampled all but `n_prompt`."""
    if tokens.shape[0] == n_prompt:
        return Acceptance(0, 0)
    kept = acceptance_probs(
        _logits(target, tokens, n_prompt),
        _logits(draft, tokens, n_prompt),
        tokens[n_prompt:],
        temperature,
    )
    drawn = torch.rand(kept.shape, generator=rng)
    return walk((drawn < kept).tolist(), gamma)


def acceptance_probs(
    target_logits: Tensor, draft_logits: Tensor, tokens: Tensor, temperature: float
) -> Tensor:
    """How likely each token of the target's text was accepted from the draft.

    Shapes: both logits (S, V), tokens (S,), returns (S,). At temperature 0: 1 where the draft's
    best token is the target's, else 0.
    """
    if temperature == 0:
        return (target_logits.argmax(-1) == draft_logits.argmax(-1)).float()
    target_probs, draft_probs = (
        (logits / temperature).softmax(-1).gather(-1, tokens[:, None])[:, 0]
        for logits in (target_logits, draft_logits)
    )
    return (draft_probs / target_probs).clamp(max=1)


def walk(would_accept: list[bool], gamma: int) -> Acceptance:
    """Count over blocks of `gamma` draft tokens; after a block that is accepted whole, one token is
    the target's own and no draft token is examined for it."""
    n_examined = n_accepted = n_in_block = 0
    for accepted in would_accept:
        if n_in_block == gamma:
            n_in_block = 0
            continue
        n_examined += 1
        n_accepted += accepted
        n_in_block = n_in_block + 1 if accepted else 0
    return Acceptance(n_examined, n_accepted)


def _logits(model, tokens: Tensor, n_prompt: int) -> Tensor:
    """What the model predicts for every token after the prompt. Shape: (S - n_prompt, V)."""
    return model(tokens[None].to(model.device)).logits[0, n_prompt - 1 : -1].float().cpu()
