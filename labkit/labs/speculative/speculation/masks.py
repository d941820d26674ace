"""Who stands behind whom in a token tree: depths, and who may see whom.

A tree is a list of parents: node i stands behind node parents[i] < i; -1 for a node that has none.
"""

from collections.abc import Sequence

import torch
from torch import Tensor


def check_parents(parents: Sequence[int]) -> None:
    """Raise ValueError unless each node comes after its parent."""
    for node, parent in enumerate(parents):
        if not -1 <= parent < node:
            raise ValueError(f"node {node} must come after its parent, which is node {parent}")


def depths(parents: Sequence[int]) -> list[int]:
    """How many ancestors each node has. Raises: ValueError as `check_parents`."""
    check_parents(parents)
    found: list[int] = []
    for parent in parents:
        found.append(0 if parent < 0 else found[parent] + 1)
    return found


def ancestor_mask(parents: Sequence[int]) -> Tensor:
    """Which nodes each node sees in a tree's one forward pass: its ancestors and itself.

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
