"""Drawing tokens where the logits are: nothing here waits for the device, so all can be captured.

A token is drawn by an exponential race: the largest of probability / noise, where the noise is
exponential, falls on each token with its probability. In logarithms that is the largest of logit -
log(noise), so a draw needs no softmax.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

NEVER = float("-inf")


def warped(
    logits: Tensor, temperature: float, top_k: int | None = None, top_p: float | None = None
) -> Tensor:
    """Logits (... V) of the distribution that tokens follow: temperature, then top_k, then top_p.

    temperature 0 leaves the largest alone. top_p keeps the fewest tokens that have that much.
    Logits that are not numbers stay so.
    """
    if not temperature:
        largest, best = logits.max(-1, keepdim=True)
        return torch.full_like(logits, NEVER).scatter_(-1, best, largest * 0)
    scaled = logits if temperature == 1 else logits / temperature
    if top_k is not None and top_k < logits.shape[-1]:
        least = scaled.topk(top_k, dim=-1).values[..., -1:]
        scaled = scaled.masked_fill(scaled < least, NEVER)
    if top_p not in (None, 1):
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


def exponential(sizes: Sequence[int], device: torch.device) -> Tensor:
    """Noise of mean 1, float32; a CPU makes it faster from uniform numbers."""
    if device.type == "cpu":
        return torch.rand(sizes).clamp_min_(2**-25).log_().neg_()
    return torch.empty(sizes, device=device).exponential_()


def draw(logits: Tensor, noise: Tensor | None = None) -> Tensor:
    """A token (...) from each row of logits (... V); -1 from a row that is not of numbers.

    noise: (... V), exponential, if not its own.
    """
    if noise is None:
        noise = exponential(logits.shape, logits.device)
    best, token = (logits - noise.log()).max(dim=-1)
    return token.where(best.isfinite(), -1)


def accept(
    drafted: Tensor,
    draft_logits: Tensor,
    target_logits: Tensor,
    noise: Tensor | None = None,
    n_kept: Tensor | None = None,
) -> tuple[Tensor, Tensor]:
    """How many drafted tokens stay, and the token after them, both (1,); see `n_accepted`.

    noise: (V + k,), exponential, if not its own: for the race of all tokens, then for the drafted
    ones. n_kept: (1,), how many stay, where chance does not decide that. The token is -1 where the
    target's logits are not numbers.
    """
    race, coins = split_noise(noise, draft_logits)
    if n_kept is None:
        n_kept = n_accepted(drafted, draft_logits, target_logits, coins)
    return n_kept, draw(left_over(n_kept, draft_logits, target_logits), race)


def split_noise(noise: Tensor | None, draft_logits: Tensor) -> tuple[Tensor, Tensor]:
    """The noise of `accept` in its parts, (V,) and (k,); it is made if there is none."""
    n_drafted, vocab_size = draft_logits.shape
    if noise is None:
        noise = exponential((vocab_size + n_drafted,), draft_logits.device)
    return noise[:vocab_size], noise[vocab_size:]


def n_accepted(
    drafted: Tensor, draft_logits: Tensor, target_logits: Tensor, coins: Tensor | None = None
) -> Tensor:
    """How many drafted tokens stay, (1,), on the device.

    Shapes: drafted (k,), draft_logits (k V), target_logits (k+1 V), warped. coins: (k,),
    exponential, as the negative logarithm of a uniform number is.
    Source: Leviathan et al. (arXiv:2211.17192), algorithm 1.
    """
    had = _log_probs(draft_logits, drafted)
    wanted = _log_probs(target_logits[: len(drafted)], drafted)
    if coins is None:
        coins = exponential(had.shape, had.device)
    stays = coins > had - wanted
    return stays.int().cumprod(dim=0).sum(dim=0, keepdim=True)


def _log_probs(logits: Tensor, tokens: Tensor) -> Tensor:
    wide = logits.float()
    return wide.gather(1, tokens[:, None])[:, 0] - wide.logsumexp(dim=-1)


def left_over(n_kept: Tensor, draft_logits: Tensor, target_logits: Tensor) -> Tensor:
    """Logits (1 V) of the token after n_kept drafted ones: the target minus the draft.

    After the last drafted token there is no draft, so this is the target. It is also the target if
    rounding leaves nothing.
    """
    n_drafted = len(draft_logits)
    target = target_logits.index_select(0, n_kept).float().softmax(dim=-1)
    draft = draft_logits.index_select(0, n_kept.clamp_max(n_drafted - 1)).float().softmax(dim=-1)
    beyond = (target - draft * (n_kept < n_drafted)).clamp_min(0)
    return torch.where(beyond.sum() > 0, beyond, target).log()
