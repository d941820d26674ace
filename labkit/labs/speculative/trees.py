"""Token trees: several guesses for each place, all verified by one call of the target.

A tree is a list of parents: node i stands behind node parents[i] < i; -1 for a node that has none.
Node 0 is the last token of the text, which is in no cache; every other node is a guess at what
follows its parent. Each remembers the distribution it was drawn from, which `verify_tree` needs.

Source: SpecInfer (arXiv:2305.09781), Algorithm 2. There children are tried in random order; any
order does that was fixed without a look at the tokens, such as that in which they were drawn.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

import torch
from torch import Generator, Tensor
from torch.nn.functional import one_hot

from labkit.models.arguments import check_parents, check_sampling, check_start, cut_after
from labkit.models.sampling import Block, CachedModel
from labkit.speculative import distribution as kit_distribution
from labkit.speculative import verify_tree as kit_verify_tree


class TreeModel(CachedModel, Protocol):
    """A model that can be fed a tree; `TableModel` and `TransformersModel` can."""

    def feed_tree(self, tokens: Sequence[int], parents: Sequence[int]) -> Tensor:
        """Cache a tree: node i stands behind node parents[i] < i, or behind the cache for -1.

        Returns: logits (T V), row i after node i.
        """

    def keep(self, n_cached: int, nodes: Sequence[int]) -> None:
        """Keep of what follows the first n_cached tokens only these nodes, in this order."""


def depths(parents: Sequence[int]) -> list[int]:
    """How many ancestors each node has. Raises: ValueError as `check_parents`."""
    return (ancestor_mask(parents).sum(1) - 1).tolist()


def ancestor_mask(parents: Sequence[int]) -> Tensor:
    """The nodes that each node sees in a tree's forward pass: its ancestors and itself.

    For a chain this is the causal mask.

    Shapes: n parents to (n n), bool; row: who looks, column: who is seen.
    Raises: ValueError as `check_parents`.
    Source: SpecInfer (arXiv:2305.09781), section 4.2, tree attention.
    """
    check_parents(parents)
    mask = torch.eye(len(parents), dtype=torch.bool)
    for node, parent in enumerate(parents):
        if parent >= 0:
            mask[node] |= mask[parent]
    return mask


@dataclass(frozen=True, slots=True)
class Tree:
    """Tokens, each with its parent's number (-1 for node 0) and the distribution it came from.

    draft_probs: (n V), row i the distribution of which node i was drawn; that of node 0 is unused.
    Siblings may be the same token: they were drawn independently.
    """

    tokens: list[int]
    parents: list[int]
    draft_probs: Tensor

    def children(self, node: int) -> list[int]:
        """The nodes behind this one, in the order in which they were drawn."""
        return [child for child, parent in enumerate(self.parents) if parent == node]

    @property
    def depth(self) -> int:
        """Guesses on the longest path."""
        return max(depths(self.parents))


def expand(
    draft: CachedModel,
    text: Sequence[int],
    widths: Sequence[int],
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    rng: Generator | None = None,
    distribution: Callable[..., Tensor] = kit_distribution,
) -> Tree:
    """A tree behind the text's last token: widths[d] children at depth d, drawn one by one.

    The same token may be drawn twice. At temperature 0 nothing is drawn: the children are the most
    likely tokens of those that the draft holds possible, and each has a one-hot distribution. So
    child x is accepted with the target's probability of x; target(x) / draft(x) would change the
    distribution. The draft's cache holds a part of the text from its beginning, but not all of it;
    afterwards it holds the text, if any width was asked for.

    Raises: ValueError for a width below 1.
    Source: SpecInfer, section 3, expansion-based construction <k1, ..., km>.
    """
    _check_widths(widths)
    tokens, parents = [text[-1]], [-1]
    rows = [torch.zeros(draft.vocab_size)]

    def children(probs: Tensor, width: int) -> tuple[Tensor, Tensor]:
        """Tokens, and the distribution that each came from."""
        if temperature:
            drawn = torch.multinomial(probs, width, replacement=True, generator=rng)
            return drawn, probs.expand(width, -1)
        likely = probs.topk(min(width, int(probs.count_nonzero()))).indices
        return likely, one_hot(likely, len(probs)).to(probs)

    def grow(node: int, fed: Sequence[int], depth: int) -> None:
        if depth == len(widths):
            return
        logits = draft.feed(fed)[-1]
        if logits.max() == -torch.inf:
            return
        drawn, draft_probs = children(
            distribution(logits, temperature or 1.0, top_k, top_p), widths[depth]
        )
        here = draft.n_cached()
        for token, row in zip(drawn.tolist(), draft_probs, strict=True):
            tokens.append(token)
            parents.append(node)
            rows.append(row)
            grow(len(tokens) - 1, [token], depth + 1)
            draft.rewind(here)

    grow(0, list(text)[draft.n_cached() :], 0)
    return Tree(tokens, parents, torch.stack([row.to(rows[-1]) for row in rows]))


def _check_widths(widths: Sequence[int]) -> None:
    if any(width < 1 for width in widths):
        raise ValueError(f"widths must be at least 1, not {list(widths)}")


def speculative_tree(
    target: TreeModel,
    draft: CachedModel,
    prompt: Sequence[int],
    n_new: int,
    widths: Sequence[int],
    *,
    temperature: float = 1.0,
    top_k: int | None = None,
    top_p: float | None = None,
    eos: int | None = None,
    rng: Generator | None = None,
    blocks: list[Block] | None = None,
    distribution: Callable[..., Tensor] = kit_distribution,
    verify_tree: Callable[..., tuple[list[int], int]] = kit_verify_tree,
) -> list[int]:
    """Up to n_new tokens after the prompt: `speculative` with a tree of guesses in each block.

    `blocks` gets a `Block` per block, in which n_drafted counts the tree's levels: a level is
    accepted if one of its nodes is. Levels that stand only in branches other than the path's do not
    count where the path runs out of guesses, for nothing was rejected there. distribution,
    verify_tree: as `labkit.speculative` has them, or a student's own.

    Returns: the new tokens; the end-of-text token, if it comes, is the last.
    Raises: ValueError as `speculative`, and for no widths or one below 1.
    """
    check_start(prompt, n_new, target, draft, len(widths))
    _check_widths(widths)
    warp = {"temperature": temperature, "top_k": top_k, "top_p": top_p}
    check_sampling(**warp)
    records = [] if blocks is None else blocks
    new: list[int] = []
    if n_new and len(prompt) > 1:
        for model in (target, draft):
            model.feed(list(prompt[:-1]))
    while len(new) < n_new and eos not in new[-1:]:
        text, usable = [*prompt, *new], widths[: n_new - len(new) - 1]
        tree = expand(draft, text, usable, rng=rng, distribution=distribution, **warp)
        target_probs = distribution(target.feed_tree(tree.tokens, tree.parents), **warp)
        path, token = verify_tree(tree.tokens, tree.parents, tree.draft_probs, target_probs, rng)
        n_levels = tree.depth if tree.children(path[-1]) else len(path) - 1
        records.append(Block(n_levels, len(path) - 1, len(text)))
        written = cut_after([*(tree.tokens[node] for node in path[1:]), token], eos)
        target.keep(len(text) - 1, path[: len(written)])
        new += written
    return new
