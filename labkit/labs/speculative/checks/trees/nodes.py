"""Token trees for the checks of `verify_tree`: how one is played, and what should come of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from labkit.bridge.wire import is_array
from labkit.checks.compare import show
from labkit.checks.core import Wrong
from labkit.checks.forms import pair_in
from labkit.checks.law import Law, Outcome
from labkit.labs.speculative.checks.blocks import Probs
from labkit.labs.speculative.checks.calling import PlayedCase, whole_in
from labkit.labs.speculative.checks.cases import residual_row
from labkit.labs.speculative.checks.law import TOLERANCE, Weights

Subtract = Callable[[Sequence[float], Sequence[float], int], Sequence[float]]
STOPPED = (0,)  # no node's child: the path ends


@dataclass(frozen=True, slots=True)
class TreeCase(PlayedCase):
    """A tree of guesses.

    kind: "one" for one guess, "siblings" for guesses after node 0 alone, "order" for siblings of
    which each is accepted for sure if it is tried first, "deep" for several levels, "zeros" for a
    target that excludes tokens, "plain" for node 0 alone. draft, target: rows of probabilities.
    """

    function = "verify_tree"
    names = ("tokens", "parents", "draft_probs", "target_probs")
    kind: str
    tokens: tuple[int, ...]
    parents: tuple[int, ...]
    draft: tuple[Probs, ...]
    target: tuple[Probs, ...]

    def __str__(self) -> str:
        return f"tokens {list(self.tokens)}, parents {list(self.parents)}"

    @property
    def vocab_size(self) -> int:
        """V."""
        return len(self.target[0])

    def children(self, node: int) -> list[int]:
        """The nodes whose parent this is, in the order of their numbers."""
        return [child for child, parent in enumerate(self.parents) if parent == node]

    def path_to(self, node: int) -> tuple[int, ...]:
        """From node 0 to this node, it included."""
        return (*(self.path_to(self.parents[node]) if node else ()), node)

    def alone(self, *nodes: int) -> TreeCase:
        """The tree of a node, which becomes node 0, and of some of its children."""
        tokens, draft, target = (
            tuple(rows[node] for node in nodes) for rows in (self.tokens, self.draft, self.target)
        )
        parents = (-1, *[0] * (len(nodes) - 1))
        return replace(self, tokens=tokens, parents=parents, draft=draft, target=target)

    def given(self) -> tuple[list[int], list[int], Tensor, Tensor]:
        """The first four arguments of `verify_tree`."""
        draft, target = (torch.tensor(rows).double() for rows in (self.draft, self.target))
        return list(self.tokens), list(self.parents), draft, target

    def outcome_in(self, got: Any) -> Outcome:
        """The nodes of the path, then the token. Raises Wrong for anything but whole numbers."""
        path, token = pair_in(got, "the result of `verify_tree`")
        path = path.tolist() if is_array(path) else path
        if not isinstance(path, list | tuple):
            raise Wrong("the path", expected="a list of nodes", got=show(path))
        nodes = [whole_in(node, "a node of the path", len(self.tokens) - 1) for node in path]
        return (*nodes, whole_in(token, "the next token", self.vocab_size - 1))

    def branch(self, outcome: Outcome) -> Outcome:
        """The path of an outcome as far as it goes from parent to child, with node 0 first."""
        nodes = outcome[:-1]
        path: Outcome = (0,)
        for node in nodes[1:] if nodes[:1] == (0,) else nodes:
            if self.parents[node] != path[-1]:
                break
            path = (*path, node)
        return path

    def step_after(self, node: int) -> Callable[[Outcome], Outcome]:
        """What an outcome says about the node: the child that is accepted, or STOPPED."""
        level = len(self.path_to(node))
        return lambda outcome: self.branch(outcome)[level : level + 1] or STOPPED

    def passes(self, node: int) -> Callable[[Outcome], bool]:
        """Whether the path of an outcome has the node."""
        return lambda outcome: node in self.branch(outcome)

    def forms_of(self, outcome: Outcome) -> tuple[Outcome, ...]:
        """The branch of an outcome, with node 0 and without it."""
        branch = self.branch(outcome)
        return branch, branch[1:]

    def first_of_each_token(self, node: int) -> list[int]:
        """The children of a node without those whose token an earlier one has."""
        children = self.children(node)
        tokens = [self.tokens[child] for child in children]
        return [child for i, child in enumerate(children) if tokens[i] not in tokens[:i]]

    def ends_at(self, node: int) -> Callable[[Outcome], bool]:
        """Whether the path of an outcome ends at the node, and nowhere else."""
        path = self.path_to(node)
        return lambda outcome: (*path,) in (outcome[:-1], (0, *outcome[:-1]))


def token(outcome: Outcome) -> Outcome:
    """The token after the path."""
    return outcome[-1:]


def step_law(
    case: TreeCase,
    node: int,
    order: Sequence[int] | None = None,
    subtract: Subtract = residual_row,
) -> tuple[Weights, Sequence[float]]:
    """Which child is accepted, and the distribution that is left if none is.

    order: of the children, if it is another one. subtract: gives what a rejection leaves.
    """
    left, open_share = case.target[node], 1.0
    law = {}
    for child in case.children(node) if order is None else order:
        x, draft = case.tokens[child], case.draft[child]
        kept = accepted(left[x], draft[x])
        law[(child,)] = open_share * kept
        open_share *= 1 - kept
        left = subtract(left, draft, x)
    return {**law, STOPPED: open_share}, left


def accepted(target: float, draft: float) -> float:
    """The probability of an acceptance; a token that the target excludes has none."""
    return min(1.0, target / draft) if target and draft else float(target > 0)


def is_close(found: Weights, law: Weights) -> bool:
    """Whether two distributions are the same; the first need not sum to 1."""
    total = sum(found.values())
    if total < TOLERANCE:
        return False
    return Law({one: share / total for one, share in found.items()}).deviation(law) <= TOLERANCE
