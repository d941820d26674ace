"""Speculative decoding: a small model drafts tokens, the large one verifies them all in one call.

The text has the distribution of the target model, whatever the draft is. The papers disagree on
letters (the target is p in Leviathan et al., q in Chen et al.), so the names here are target_probs
and draft_probs. Letters in shapes: k drafted tokens, T tokens of one call, V vocab.

Sources: Leviathan et al. 2023 (arXiv:2211.17192), Chen et al. 2023 (arXiv:2302.01318).
"""

from collections.abc import Callable, Sequence

import torch
from torch import Generator, Tensor

from labkit.models.arguments import (
    check_rows,
    check_sampling,
    check_start,
    check_tree,
    cut_after,
)
from labkit.models.sampling import Block, CachedModel, keep_top, sample


def distribution(
    logits: Tensor,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
) -> Tensor:
    """Turn logits into the probabilities of the next token.

    The temperature divides the logits. Temperature 0 gives probability 1 to
    the largest logit, the first of equal ones. `keep_top` then applies
    top_k and top_p to the probabilities. A logit of -inf gives probability
    0. `logits` is not changed.

    Shapes: (... V) to (... V), each row by itself. float64 stays float64;
    all other types become float32 before anything is computed.
    Raises: ValueError for temperature < 0, top_k < 1, top_p outside (0, 1]
    (use `check_sampling`), and for a row whose largest logit is not a
    finite number (NaN, infinity, or all -inf).
    """
    check_sampling(temperature, top_k, top_p)
    logits = logits if logits.dtype == torch.float64 else logits.float()
    largest = logits.amax(-1, keepdim=True)
    if not torch.isfinite(largest).all():
        raise ValueError("the largest logit of each row must be a finite number; there are others")
    if temperature == 0:
        return torch.zeros_like(logits).scatter(-1, logits.argmax(-1, keepdim=True), 1.0)
    probs = torch.softmax((logits - largest) / temperature, dim=-1)
    return keep_top(probs, top_k, top_p)


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
    """Write up to n_new tokens after the prompt, one token per call.

    Each call feeds only the tokens that the cache lacks. The last new token
    is not fed. Each token is drawn from `distribution` of the last row.
    Stop early after the end-of-text token eos, which is the last token
    returned. Draw all random numbers from rng; None means torch's own
    generator. The same state of rng gives the same text.

    Returns: the new tokens, without the prompt.
    Raises: ValueError for n_new < 0, an empty prompt, and a cache that is
    not empty (use `check_start`), and as `distribution`.
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
    """Return the distribution of the token after a rejection.

    It is max(0, target - draft), divided by its sum. If the two rows are
    equal, the sum is 0: then return the target's row. Add no small number
    to avoid a division by 0. Neither argument is changed.

    Shapes: (... V) and (... V) to (... V), each row by itself.
    Source: Leviathan et al., Algorithm 1; Chen et al., Algorithm 2.
    """
    left = (target_probs - draft_probs).clamp(min=0)
    mass = left.sum(-1, keepdim=True)
    return torch.where(mass > 0, left / mass, target_probs)


def verify(
    drafted: Sequence[int],
    draft_probs: Tensor,
    target_probs: Tensor,
    rng: Generator | None = None,
) -> tuple[int, int]:
    """Decide which drafted tokens are accepted, and draw the token after them.

    From left to right, token x is accepted with probability
    min(1, target(x) / draft(x)). Draw a uniform number for each token. The
    first rejected token is replaced by one from `residual`, of the two rows
    at its position, and the block ends. If all k are accepted, the token
    after them is drawn from the target's last row. k may be 0: then the
    token is drawn from the target's only row. Draw with `torch.rand` and
    `sample`, both from rng; None means torch's own generator. No argument
    is changed.

    Shapes: drafted has k tokens, draft_probs (k V), target_probs (k+1 V).
    Row i of both is about drafted[i].
    Returns: how many are accepted, from 0 to k, and the token after them.
    Raises: ValueError for other shapes (use `check_rows`).
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
    """Write up to n_new tokens after the prompt, in blocks.

    At the start, feed both models the prompt without its last token, in one
    call each; a prompt of one token leaves nothing to feed. (You may also
    feed the target the whole prompt and draw the first new token from its
    last row. This token is a block without drafts, or belongs to no block.)
    A block has four steps:
    1. Draft up to gamma tokens, and at most one less than are still wanted.
       Feed the draft only what its cache lacks. After a full acceptance
       that is two tokens. A row of logits that are all -inf means that the
       draft has nothing to propose: stop drafting in this block.
    2. Feed the target the last token and the drafted ones, in one call.
    3. `verify`, then append the accepted tokens and the token after them.
       Cut off what comes after eos.
    4. Rewind both caches to the text without its last token. If the draft's
       cache is shorter, leave it.
    If `blocks` is a list, append a `Block(n_drafted, n_accepted, position)`
    for each block. n_accepted is what `verify` returned, even if eos cuts
    some of these tokens. position is the length of the text before it,
    prompt included. gamma is a number, or a function without arguments that you
    call once before each block; 0 from it means a plain step. The settings
    go to both models. Draw all random numbers from rng; None means torch's
    own generator. The same state of rng gives the same text.

    Returns: the new tokens; eos, if it comes, is the last one.
    Raises: ValueError for gamma < 1, n_new < 0, an empty prompt, caches
    that are not empty and two different vocabularies (use `check_start`),
    and as `distribution`.
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
    """Propose up to gamma tokens by prompt lookup.

    Take the last `longest` tokens of the text. From the left, find the first
    place where the same tokens occur earlier. If there is none, try with one
    token less, and so on down to one token. Return the tokens that follow
    the place found: gamma of them, or fewer if the text ends before. A place
    that overlaps the last tokens may count or not: both are right. If nothing
    is found, return an empty list.

    Raises: ValueError for gamma < 1 or longest < 1.
    Source: Saxena 2023, prompt lookup decoding; `prompt_lookup_num_tokens`
    in transformers.
    """
    if gamma < 1 or longest < 1:
        raise ValueError(f"gamma and longest must be at least 1, not {gamma} and {longest}")
    tokens = list(tokens)
    for n in range(min(longest, len(tokens) - 1), 0, -1):
        for start in range(len(tokens) - n):
            if tokens[start : start + n] == tokens[-n:]:
                return tokens[start + n : start + n + gamma]
    return []


def acceptance_rate(blocks: Sequence[Block]) -> float:
    """Estimate alpha: accepted tokens divided by examined tokens.

    A `Block` has `n_drafted` and `n_accepted`, and `examined`: the number
    of tokens up to the first rejected one, this one included. Add up both
    over all blocks, then divide once. Tokens after a rejected one were
    never examined.

    Raises: ValueError if no token was examined.
    """
    n_examined = sum(block.examined for block in blocks)
    if n_examined == 0:
        raise ValueError("no drafted token was examined, so there is no acceptance rate")
    return sum(block.n_accepted for block in blocks) / n_examined


def speedup(
    alpha: float,
    gamma: int,
    draft_s: float,
    target_s: float,
    verify_s: float,
) -> float:
    """Return how many times faster speculation is than plain decoding.

    This is the time per token of plain decoding divided by that of
    speculation. A plain step takes target_s seconds. A block takes gamma
    steps of the draft, draft_s each, and one verification, verify_s. It adds
    1 + alpha + ... + alpha^gamma tokens to the text, on average. Each drafted
    token is accepted with probability alpha, if all before it were. The token
    that the target adds counts too. gamma may be 0.

    Raises: ValueError for alpha outside [0, 1] or gamma < 0.
    Source: Leviathan et al., equation 1 and Theorem 3.8.
    """
    if not 0 <= alpha <= 1:
        raise ValueError(f"alpha is a probability, from 0 to 1; got {alpha}")
    if gamma < 0:
        raise ValueError(f"gamma must be at least 0, not {gamma}")
    n_tokens = sum(alpha**n_accepted for n_accepted in range(gamma + 1))
    block_s = gamma * draft_s + verify_s
    return n_tokens * target_s / block_s


def best_gamma(
    alpha: float,
    draft_s: float,
    target_s: float,
    verify_s: Callable[[int], float],
    max_gamma: int = 64,
) -> int:
    """Return the gamma from 1 to max_gamma with the largest speedup.

    verify_s is a function: verify_s(gamma) is the seconds of a call of the
    target that verifies gamma tokens. If no gamma has a speedup above 1,
    return 0. Of equal speedups, take the smallest gamma. Try every gamma: a
    better one may follow a worse one.

    Raises: as `speedup`.
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
    """Do what `verify` does, for all rows of a batch at once.

    Row b has n_drafted[b] drafted tokens. Ignore the entries after them:
    these tokens and probabilities are valid, but mean nothing. A row keeps
    its accepted tokens up to the first rejection. If all its drafted tokens
    are accepted, the next token comes from the target's row after them. That
    is the same as a rejection where the draft gives 0 to every token: the
    residual is then the target. Each token and each row needs a random number
    of its own. Draw with `torch.rand` and `torch.multinomial`, from rng; None
    means torch's own generator. No argument is changed.

    Shapes: drafted (B k), n_drafted (B,) from 0 to k, draft_probs (B k V),
    target_probs (B k+1 V).
    Returns: how many are accepted and the tokens after them, both (B,) and
    int64.
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


def verify_tree(
    tokens: Sequence[int],
    parents: Sequence[int],
    draft_probs: Tensor,
    target_probs: Tensor,
    rng: Generator | None = None,
) -> tuple[list[int], int]:
    """Decide which path of a token tree is accepted, and draw the next token.

    Node i has the token tokens[i] and the parent parents[i] < i. Node 0 is
    the last token of the text: its parent is -1, and its row of draft_probs
    has no meaning. Every other node was drawn from its own row of
    draft_probs. Siblings may have the same token.
    The path begins at node 0. At a node, try its children in the order of
    their numbers, in which they were drawn. At first, `left` is the target's
    row of the node. Accept child c with token x with probability
    min(1, left(x) / draft(x)), where draft is the row of c. Draw a uniform
    number for each child that is tried. If c is rejected, `residual` of left
    and draft becomes the new `left`, and the next child is tried. If c is
    accepted, it is the next node of the path: its siblings are not tried any
    more. If no child is accepted, or the node has none, the path ends there
    and the next token is drawn from `left`. So a tree without branches is
    `verify`. Draw with `torch.rand` and `sample`, both from rng; None means
    torch's own generator. No argument is changed.

    Shapes: tokens and parents have n entries, draft_probs and target_probs
    are (n V). Row i of target_probs is about the token after node i.
    Returns: the nodes of the path, node 0 first, and the next token.
    Raises: ValueError for other shapes, for a node that does not come after
    its parent, and for a parent -1 of another node than 0 (use
    `check_tree`).
    Source: SpecInfer (arXiv:2305.09781), Algorithm 2.
    """
    check_tree(tokens, parents, draft_probs, target_probs)
    path, left = [0], target_probs[0]
    for node, token in enumerate(tokens):
        if parents[node] != path[-1]:
            continue
        draft = draft_probs[node]
        uniform = torch.rand((), generator=rng, dtype=left.dtype, device=left.device)
        if uniform < left[token] / draft[token]:
            path.append(node)
            left = target_probs[node]
        else:
            left = residual(left, draft)
    return path, sample(left, rng)
