"""Speculative decoding: a small model drafts tokens, the large one verifies them all in one call.

The text has the law of the target model, whatever the draft is. Names: the papers disagree on
letters (the target is p in Leviathan et al., q in Chen et al.), so we write them out: target_probs
and draft_probs. Letters in shapes: k drafted tokens, T tokens of one call, V vocab.

Sources: Leviathan et al. 2023 (arXiv:2211.17192), Chen et al. 2023 (arXiv:2302.01318).
"""

from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Generator, Tensor

from labkit.models.arguments import check_rows, check_sampling, check_start, cut_after
from labkit.models.sampling import Block, CachedModel, sample


def distribution(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Tensor:
    """Probabilities of the next token: temperature, then top-k, then top-p.

    Temperature 0 gives all to the largest logit. Top-k keeps the k most likely tokens; top-p the
    fewest of the most likely that have at least probability top_p together. Of equal tokens the
    first comes first. `logits` stays as it is.

    Shapes: (... V) to (... V); float64 stays float64, all else becomes float32.
    Raises: ValueError for temperature < 0, top_k < 1, top_p outside (0, 1], and for a row of logits
    whose largest is not a finite number (NaN, infinity, all -inf).
    """
    check_sampling(temperature, top_k, top_p)
    logits = logits if logits.dtype == torch.float64 else logits.float()
    largest = logits.amax(-1, keepdim=True)
    if not torch.isfinite(largest).all():
        raise ValueError("the largest logit of each row must be a finite number; there are others")
    if temperature == 0:
        return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
    probs = torch.softmax((logits - largest) / temperature, dim=-1)
    if top_k is None and top_p is None:
        return probs
    ranked, order = probs.sort(dim=-1, descending=True, stable=True)
    if top_k is not None:
        ranked[..., top_k:] = 0
        ranked /= ranked.sum(-1, keepdim=True)
    if top_p is not None and top_p < 1:
        mass_before = ranked.cumsum(-1) - ranked
        ranked[mass_before >= top_p] = 0
        ranked /= ranked.sum(-1, keepdim=True)
    return torch.zeros_like(probs).scatter(-1, order, ranked)


def autoregressive(
    target: CachedModel,
    prompt: Sequence[int],
    n_new: int,
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos: int | None = None,
    rng: Generator | None = None,
) -> list[int]:
    """Up to n_new tokens after the prompt, one by one: each call feeds what the cache lacks.

    All chance comes from rng (None: torch's own generator): the same state gives the same text.

    Returns: the new tokens; the end-of-text token, if it comes, is the last.
    Raises: ValueError for n_new < 0, an empty prompt, a cache that is not empty, and as
    `distribution`.
    """
    check_start(prompt, n_new, target)
    check_sampling(temperature, top_k, top_p)
    text = list(prompt)
    while len(text) < len(prompt) + n_new:
        logits = target.feed(text[target.n_cached() :])
        text.append(sample(distribution(logits[-1], temperature, top_k, top_p), rng))
        if text[-1] == eos:
            break
    return text[len(prompt) :]


def residual(target_probs: Tensor, draft_probs: Tensor) -> Tensor:
    """Distribution of the token after a rejection: norm(max(0, target - draft)).

    Where the two are equal nothing is left (and nothing is ever rejected): the target's instead.

    Shapes: (... V) and (... V) to (... V).
    Source: Leviathan et al., Algorithm 1; Chen et al., Algorithm 2.
    """
    left = (target_probs - draft_probs).clamp(min=0)
    mass = left.sum(-1, keepdim=True)
    return torch.where(mass > 0, left / mass, target_probs)


def verify(
    drafted: Sequence[int], draft_probs: Tensor, target_probs: Tensor, rng: Generator | None = None
) -> tuple[int, int]:
    """Which drafted tokens stay, and the token that follows them.

    Token x is accepted with probability min(1, target(x) / draft(x)), each by a uniform of its own.
    The first one rejected is replaced by a token from `residual`; if none is, the target's
    last row gives one token more. No token at all may be drafted: then that is a plain step.
    All chance comes from rng (None: torch's own generator): draw with `torch.rand` and `sample`.

    Shapes: k tokens, each drawn from its row of draft_probs (k V); target_probs (k+1 V).
    Returns: how many are kept, from 0 to k, and the token after them.
    Raises: ValueError for other shapes.
    Source: Leviathan et al., Algorithm 1; Chen et al., Algorithm 2.
    """
    check_rows(drafted, draft_probs, target_probs)
    for i, token in enumerate(drafted):
        uniform = torch.rand(
            (), generator=rng, dtype=target_probs.dtype, device=target_probs.device
        )
        if not uniform < target_probs[i, token] / draft_probs[i, token]:
            return i, sample(residual(target_probs[i], draft_probs[i]), rng)
    return len(drafted), sample(target_probs[-1], rng)


def speculative(
    target: CachedModel,
    draft: CachedModel,
    prompt: Sequence[int],
    n_new: int,
    gamma: int | Callable[[], int],
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos: int | None = None,
    rng: Generator | None = None,
    blocks: list[Block] | None = None,
) -> list[int]:
    """Up to n_new tokens after the prompt, in blocks of up to gamma drafted tokens and one more.

    The last token of the text is in no cache. Both models are first fed the prompt without it, in a
    call of its own; or the target is fed the whole prompt, and the first new token is drawn from
    its last row, before the first block. In a block the draft is fed what it lacks (after a full
    acceptance that is two tokens), and drafts token by token, never more than can be used; one call
    of the target verifies them; both caches go back to what the text has kept. A draft with nothing
    to propose ends its part of the block. `blocks` gets a `Block` for each. gamma: a number, or a
    function that is asked for one before each block, where 0 means a plain step. All chance comes
    from rng (None: torch's own generator): the same state gives the same text.

    Returns: the new tokens; the end-of-text token, if it comes, is the last.
    Raises: ValueError for gamma < 1, n_new < 0, an empty prompt, caches that are not empty, two
    vocabularies, and as `distribution`.
    """
    check_start(prompt, n_new, target, draft, gamma)
    check_sampling(temperature, top_k, top_p)
    text, end = list(prompt), len(prompt) + n_new
    if n_new > 0 and len(prompt) > 1:
        target.feed(text[:-1])
        draft.feed(text[:-1])
    while len(text) < end:
        n_drafts = min(gamma() if callable(gamma) else gamma, end - len(text) - 1)
        drafted: list[int] = []
        draft_probs: list[Tensor] = []
        while len(drafted) < n_drafts:
            logits = draft.feed((text + drafted)[draft.n_cached() :])[-1]
            if torch.isneginf(logits).all():
                break
            draft_probs.append(distribution(logits, temperature, top_k, top_p))
            drafted.append(sample(draft_probs[-1], rng))

        logits = target.feed([text[-1], *drafted])
        target_probs = distribution(logits, temperature, top_k, top_p)
        rows = torch.stack(draft_probs) if drafted else target_probs[:0]
        n_kept, token = verify(drafted, rows, target_probs, rng)

        if blocks is not None:
            blocks.append(Block(len(drafted), n_kept, len(text)))
        text += cut_after([*drafted[:n_kept], token], eos)
        target.rewind(len(text) - 1)
        draft.rewind(min(draft.n_cached(), len(text) - 1))
        if text[-1] == eos:
            break
    return text[len(prompt) :]


def ngram_draft(tokens: Sequence[int], gamma: int, longest: int = 3) -> list[int]:
    """Prompt lookup: up to gamma tokens that followed where the text read before as it does now.

    The last `longest` tokens are looked for earlier in the text; then, if they are nowhere, one
    token less, and so on down to one. Of several places the earliest counts. What stood
    behind it is copied, to the end of the text at most; nothing is found: an empty list.

    Raises: ValueError for gamma < 1 or longest < 1.
    Source: Saxena 2023, prompt lookup decoding; `prompt_lookup_num_tokens` in transformers.
    """
    if gamma < 1 or longest < 1:
        raise ValueError(f"gamma and longest must be at least 1, not {gamma} and {longest}")
    tokens = list(tokens)
    for n in range(min(longest, len(tokens) - 1), 0, -1):
        for start in range(len(tokens) - n):
            if tokens[start : start + n] == tokens[-n:]:
                return tokens[start + n : start + n + gamma]
    return []


def acceptance_rate(blocks: Iterable[Block]) -> float:
    """Accepted tokens per examined one, over all blocks: the estimate of alpha.

    Drafted tokens behind a rejected one were never examined; to count them would make the rate fall
    with gamma although nothing about the models has changed.

    Raises: ValueError if no token was examined.
    """
    blocks = list(blocks)
    n_examined = sum(block.examined for block in blocks)
    if n_examined == 0:
        raise ValueError("no drafted token was examined, so there is no acceptance rate")
    return sum(block.n_accepted for block in blocks) / n_examined


def expected_tokens(alpha: float, gamma: int) -> float:
    """Tokens per block, on average, if each drafted token is accepted with probability alpha.

    The token that the target adds included: (1 - alpha^(gamma + 1)) / (1 - alpha), and gamma + 1
    for alpha = 1.

    Raises: ValueError for alpha outside [0, 1] or gamma < 0.
    Source: Leviathan et al., equation 1.
    """
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha is a probability, from 0 to 1; got {alpha}")
    if gamma < 0:
        raise ValueError(f"gamma must be at least 0, not {gamma}")
    return float(sum(alpha**n_accepted for n_accepted in range(gamma + 1)))


def speedup(alpha: float, gamma: int, draft_s: float, target_s: float, verify_s: float) -> float:
    """How many times faster than plain decoding: seconds per token of that, over those of this.

    Seconds of one step of the draft, of one step of the target, and of one call of the target that
    verifies gamma tokens.

    Raises: as `expected_tokens`.
    Source: Leviathan et al., Theorem 3.8, where verify_s = target_s.
    """
    block_s = gamma * draft_s + verify_s
    return expected_tokens(alpha, gamma) * target_s / block_s


def best_gamma(
    alpha: float,
    draft_s: float,
    target_s: float,
    verify_s: Callable[[int], float],
    max_gamma: int = 64,
) -> int:
    """The gamma from 1 to max_gamma with the largest speedup; 0 if none is faster than plain.

    verify_s(gamma): seconds of a call of the target that verifies gamma tokens. Of equals the
    smallest.

    Raises: as `expected_tokens`.
    """

    def gain(gamma: int) -> float:
        return speedup(alpha, gamma, draft_s, target_s, verify_s(gamma)) if gamma else 1.0

    return max(range(max_gamma + 1), key=gain)


def verify_batch(
    drafted: Tensor,
    n_drafted: Tensor,
    draft_probs: Tensor,
    target_probs: Tensor,
    rng: Generator | None = None,
) -> tuple[Tensor, Tensor]:
    """`verify` for all rows in a few operations: how many tokens stay, and the ones after them.

    A row keeps its leading accepted tokens: the product along the row of what was accepted, summed.
    Nothing is drafted behind n_drafted, which is the same as a draft that gives 0 to all tokens:
    the residual is then the target itself. That gives the token after a full acceptance. All chance
    comes from rng (None: torch's own generator).

    Shapes: drafted (B k), n_drafted (B,) from 0 to k, draft_probs (B k V), target_probs (B k+1 V);
    what stands behind a row's n_drafted is not looked at. Returns: (B,) and (B,), whole numbers.
    """
    n_rows, k = drafted.shape
    index = torch.arange(n_rows, device=drafted.device)
    is_drafted = torch.arange(k, device=drafted.device) < n_drafted[:, None]
    tokens = drafted.where(is_drafted, 0)[..., None]
    ratios = (target_probs[:, :k].gather(2, tokens) / draft_probs.gather(2, tokens))[..., 0]
    uniforms = torch.rand(
        n_rows, k, generator=rng, dtype=target_probs.dtype, device=target_probs.device
    )
    accepted = (uniforms < ratios) & is_drafted
    n_kept = accepted.long().cumprod(dim=1).sum(dim=1)
    nothing = torch.zeros_like(target_probs[:, :1])
    padded = torch.cat([draft_probs.where(is_drafted[..., None], 0), nothing], dim=1)
    left = residual(target_probs[index, n_kept], padded[index, n_kept])
    return n_kept, torch.multinomial(left, 1, generator=rng)[:, 0]
