"""Vectors times matrices on a CPU, with large matrices packed once, as oneDNN computes on them.

MKL takes 1.8 times as long for six vectors as for one. On packed matrices oneDNN takes 1.2 times,
so a verification costs little more than a step. One or two vectors, and small matrices, go to MKL.
"""

from functools import cache
from typing import Any

import torch
from torch import Tensor

from labkit.engine import operations
from labkit.engine.weights import DecoderShape

LEAST_VECTORS, LEAST_NUMBERS = 3, 100_000  # below these MKL is as fast or faster


@cache
def why_not() -> str:
    """Why this PyTorch cannot do it, "" if it can."""
    try:
        _multiply(torch.ones(1, 1), _pack(torch.ones(1, 1)))
    except (AttributeError, RuntimeError):  # an old or another build: no such operation
        return "this PyTorch has no packed matrices of oneDNN"
    return ""


class Linear:
    """As `labkit.engine.operations.linear`. The packed matrices are kept beside the plain ones."""

    def __init__(self, shape: DecoderShape, n_sequences: int, device: torch.device) -> None:
        self._packed: dict[Tensor, Tensor] = {}  # by the plain one; tensors are keys as objects

    def __call__(self, x: Tensor, weight: Tensor, **around: Any) -> Tensor:
        """The same arguments, by name but for the first two, and the same result."""
        if len(x) < LEAST_VECTORS or weight.numel() < LEAST_NUMBERS:
            return operations.linear(x, weight, **around)
        return operations.linear(x, weight, **around, product=self._product)

    def _product(self, x: Tensor, weight: Tensor) -> Tensor:
        if weight not in self._packed:
            self._packed[weight] = _pack(weight.contiguous())
        return _multiply(x, self._packed[weight])


def _pack(weight: Tensor) -> Tensor:
    return torch.ops.mkldnn._reorder_linear_weight(weight)


def _multiply(x: Tensor, packed: Tensor) -> Tensor:
    return torch.ops.mkldnn._linear_pointwise(x, packed, None, "none", [], "")
