"""Drawing tokens where the logits are: nothing here waits for the device, so all can be captured.

A token is drawn by an exponential race: the largest of probability / noise, where the noise is
exponential, falls on each token with its probability. So a draw is one argmax.
"""

from __future__ import annotations

import torch
from torch import Tensor


def warped(logits: Tensor, temperature: float, top_k: int | None, top_p: float | None) -> Tensor:
    """Probabilities (... V), float32: temperature first, then the top_k largest, then top_p.

    temperature 0 puts all on the largest. top_p keeps the fewest tokens that have that much.
    """
    if temperature == 0:
        return torch.zeros_like(logits).scatter_(-1, logits.argmax(-1, keepdim=True), 1.0)
    scaled = logits / temperature
    if top_k is not None and top_k < logits.shape[-1]:
        least = scaled.topk(top_k, dim=-1).values[..., -1:]
        scaled = scaled.masked_fill(scaled < least, float("-inf"))
    if top_p is not None and top_p < 1:
        ordered, places = scaled.softmax(dim=-1).sort(dim=-1, descending=True)
        before = ordered.cumsum(dim=-1) - ordered
        kept = torch.zeros_like(scaled, dtype=torch.bool).scatter_(-1, places, before < top_p)
        scaled = scaled.masked_fill(~kept, float("-inf"))
    return scaled.softmax(dim=-1)


def draw(probs: Tensor) -> Tensor:
    """A token (...) from each row of weights (... V); they need not add up to one."""
    return (probs / torch.empty_like(probs).exponential_()).argmax(dim=-1)


def accept(drafted: Tensor, draft_probs: Tensor, target_probs: Tensor) -> tuple[Tensor, Tensor]:
    """How many drafted tokens stay, and the token after them, both (1,), on the device.

    Shapes: drafted (k,), draft_probs (k V), target_probs (k+1 V).
    Source: Leviathan et al. (arXiv:2211.17192), algorithm 1.
    """
    n_drafted = len(drafted)
    wanted = target_probs[:n_drafted].gather(1, drafted[:, None])[:, 0]
    had = draft_probs.gather(1, drafted[:, None])[:, 0]
    stays = torch.rand_like(had) * had < wanted
    n_kept = stays.int().cumprod(dim=0).sum(dim=0, keepdim=True)
    return n_kept, draw(left_over(n_kept, draft_probs, target_probs))


def left_over(n_kept: Tensor, draft_probs: Tensor, target_probs: Tensor) -> Tensor:
    """Weights (1 V) of the token after n_kept drafted ones: what the target has beyond the draft.

    After the last drafted token the draft says nothing, and all of the target is left; so it is
    where rounding has left nothing.
    """
    padded = torch.cat([draft_probs, torch.zeros_like(target_probs[:1])])
    target = target_probs.index_select(0, n_kept)
    beyond = (target - padded.index_select(0, n_kept)).clamp_min(0)
    return torch.where(beyond.sum() > 0, beyond, target)
