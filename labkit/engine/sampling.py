"""Drawing tokens where the logits are: nothing here waits for the device, so all can be captured.

A token is drawn by an exponential race: the largest of probability / noise, where the noise is
exponential, falls on each token with its probability. In logarithms that is the largest of logit -
log(noise), so a draw needs no softmax.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

NEVER = float("-inf")


def warped(
    logits: Tensor, temperature: float, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """Logits (... V) of the law that tokens follow: temperature, then top_k, then top_p.

    temperature 0 leaves the largest alone. top_p keeps the fewest tokens that have that much.
    """
    if temperature == 0:
        best = logits.argmax(-1, keepdim=True)
        return torch.full_like(logits, NEVER).scatter_(-1, best, 0.0)
    scaled = logits if temperature == 1 else logits / temperature
    if top_k is not None and top_k < logits.shape[-1]:
        least = scaled.topk(top_k, dim=-1).values[..., -1:]
        scaled = scaled.masked_fill(scaled < least, NEVER)
    if top_p is not None and top_p < 1:
        ordered, places = scaled.softmax(dim=-1).sort(dim=-1, descending=True)
        before = ordered.cumsum(dim=-1) - ordered
        kept = torch.zeros_like(scaled, dtype=torch.bool).scatter_(-1, places, before < top_p)
        scaled = scaled.masked_fill(~kept, NEVER)
    return scaled


@dataclass(frozen=True, slots=True)
class Warp:
    """How a model's logits become those that tokens are drawn from; see `warped`.

    Raises: ValueError for a temperature below 0, top_k below 1, or top_p outside 0 to 1.
    """

    temperature: float = 1.0
    top_k: int | None = None
    top_p: float | None = None

    def __post_init__(self) -> None:
        if not self.temperature >= 0:
            raise ValueError(f"wanted a temperature of at least 0, got {self.temperature}")
        if self.top_k is not None and self.top_k < 1:
            raise ValueError(f"wanted a top_k of at least 1, got {self.top_k}")
        if self.top_p is not None and not 0 < self.top_p <= 1:
            raise ValueError(f"wanted a top_p above 0 and at most 1, got {self.top_p}")

    def __call__(self, logits: Tensor) -> Tensor:
        return warped(logits, self.temperature, self.top_k, self.top_p)


def draw(logits: Tensor) -> Tensor:
    """A token (...) from each row of logits (... V)."""
    noise = torch.empty_like(logits).exponential_()
    return (logits - noise.log_()).argmax(dim=-1)


def accept(drafted: Tensor, draft_logits: Tensor, target_logits: Tensor) -> tuple[Tensor, Tensor]:
    """How many drafted tokens stay, and the token after them, both (1,); see `n_accepted`."""
    n_kept = n_accepted(drafted, draft_logits, target_logits)
    return n_kept, draw(left_over(n_kept, draft_logits, target_logits))


def n_accepted(drafted: Tensor, draft_logits: Tensor, target_logits: Tensor) -> Tensor:
    """How many drafted tokens stay, (1,), on the device.

    Shapes: drafted (k,), draft_logits (k V), target_logits (k+1 V), warped.
    Source: Leviathan et al. (arXiv:2211.17192), algorithm 1.
    """
    n_drafted = len(drafted)
    target_sums, draft_sums = (each.logsumexp(dim=-1) for each in (target_logits, draft_logits))
    wanted = target_logits[:n_drafted].gather(1, drafted[:, None])[:, 0] - target_sums[:n_drafted]
    had = draft_logits.gather(1, drafted[:, None])[:, 0] - draft_sums
    stays = torch.rand_like(had).log() < wanted - had
    return stays.int().cumprod(dim=0).sum(dim=0, keepdim=True)


def left_over(n_kept: Tensor, draft_logits: Tensor, target_logits: Tensor) -> Tensor:
    """Logits (1 V) of the token after n_kept drafted ones: what the target has beyond the draft.

    After the last drafted token the draft says nothing, and all of the target is left; so it is
    where rounding has left nothing.
    """
    n_drafted = len(draft_logits)
    target = target_logits.index_select(0, n_kept).softmax(dim=-1)
    draft = draft_logits.index_select(0, n_kept.clamp_max(n_drafted - 1)).softmax(dim=-1)
    beyond = (target - draft * (n_kept < n_drafted)).clamp_min(0)
    return torch.where(beyond.sum() > 0, beyond, target).log()
