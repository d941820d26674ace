"""The conditions of the samplers on their arguments, and the end of a text."""

from collections.abc import Sequence
from typing import Any

from torch import Tensor


def check_sampling(temperature: float, top_k: int | None, top_p: float | None) -> None:
    """Raise ValueError unless temperature >= 0, top_k >= 1 or None, 0 < top_p <= 1 or None."""
    if not temperature >= 0:
        raise ValueError(f"temperature must be at least 0 (0 is greedy), not {temperature}")
    if top_k is not None and top_k < 1:
        raise ValueError(f"top_k must be at least 1, or None to keep all tokens; got {top_k}")
    if top_p is not None and not 0 < top_p <= 1:
        raise ValueError(f"top_p must lie in (0, 1], or be None to keep all; got {top_p}")


def check_start(
    prompt: Sequence[int], n_new: int, target: Any, draft: Any = None, gamma: Any = 1
) -> None:
    """Raise ValueError for what no text can start with, before anything is fed.

    That is an empty prompt, n_new < 0 (0 passes), and a cache with tokens, of the target or of the
    draft. With a draft, it is also gamma < 1, and models of different vocab_size. A gamma that is
    a function passes, and is not called. Without a draft, pass the first three arguments alone.
    Temperature, top_k and top_p are for `check_sampling`.
    """
    check_wanted(prompt, n_new, gamma)
    if draft is not None:
        check_vocabularies(target, draft)
    for name, model in (("target", target), ("draft", draft)):
        if model is not None:
            check_empty(model, name)


def check_empty(model: Any, name: str = "target") -> None:
    """Raise ValueError for a model whose cache has tokens."""
    if model.n_cached() != 0:
        raise ValueError(
            f"the {name}'s cache holds {model.n_cached()} tokens of another text; "
            f"call {name}.rewind(0) first"
        )


def check_wanted(prompt: Sequence[int], n_new: int, gamma: Any) -> None:
    """Raise ValueError for an empty prompt, n_new < 0 or gamma < 1; a callable gamma passes."""
    if len(prompt) == 0:
        raise ValueError("the prompt is empty: there must be a token to go on from")
    if n_new < 0:
        raise ValueError(f"n_new must be at least 0, not {n_new}")
    if not callable(gamma) and gamma < 1:
        raise ValueError(f"gamma must be at least 1, not {gamma}; `autoregressive` drafts nothing")


def check_vocabularies(target: Any, draft: Any) -> None:
    """Raise ValueError unless both number as many tokens."""
    if target.vocab_size != draft.vocab_size:
        raise ValueError(
            f"target and draft must number the same tokens: the target has {target.vocab_size}, "
            f"the draft {draft.vocab_size}"
        )


def check_rows(drafted: Sequence[int], draft_probs: Tensor, target_probs: Tensor) -> None:
    """Raise ValueError unless k drafted tokens come with shapes (k V) and (k+1 V)."""
    k, vocab_size = len(drafted), target_probs.shape[-1]
    wanted = ((k, vocab_size), (k + 1, vocab_size))
    found = (tuple(draft_probs.shape), tuple(target_probs.shape))
    if found != wanted:
        raise ValueError(
            f"{k} drafted tokens need draft_probs {wanted[0]} and target_probs {wanted[1]}; "
            f"got {found[0]} and {found[1]}"
        )


def check_parents(parents: Sequence[int]) -> None:
    """Raise ValueError unless each node comes after its parent; -1 stands for no parent."""
    for node, parent in enumerate(parents):
        if not -1 <= parent < node:
            raise ValueError(f"node {node} must come after its parent, which is node {parent}")


def check_tree(
    tokens: Sequence[int], parents: Sequence[int], draft_probs: Tensor, target_probs: Tensor
) -> None:
    """Raise ValueError unless n nodes come with n parents and two tensors (n V).

    Each node comes after its parent, and node 0 alone has none (-1).
    """
    n = len(tokens)
    if n == 0:
        raise ValueError("the tree is empty: it needs node 0, the last token of the text")
    if len(parents) != n:
        raise ValueError(f"{n} tokens need {n} parents; got {len(parents)}")
    check_parents(parents)
    for node, parent in enumerate(parents):
        if node and parent == -1:
            raise ValueError(f"node {node} has no parent (-1), but only node 0 may have none")
    wanted = (n, target_probs.shape[-1])
    found = (tuple(draft_probs.shape), tuple(target_probs.shape))
    if found != (wanted, wanted):
        raise ValueError(
            f"a tree of {n} nodes needs draft_probs {wanted} and target_probs {wanted}; "
            f"got {found[0]} and {found[1]}"
        )


def check_rewind(n_cached: int, n_now: int) -> None:
    """Raise ValueError unless a cache of n_now tokens can go back to n_cached."""
    if not 0 <= n_cached <= n_now:
        raise ValueError(f"cannot rewind to {n_cached} tokens: {n_now} are cached")


def cut_after(tokens: list[int], eos: int | None) -> list[int]:
    """Return the tokens up to the first `eos`, this one included.

    Without `eos` among them, and for eos None, these are all tokens. An empty list stays empty.
    `tokens` is not changed.
    """
    return tokens[: tokens.index(eos) + 1] if eos in tokens else tokens
