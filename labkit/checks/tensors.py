"""Comparisons of tensors, and causes of wrong tensors."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy
import torch
from torch import Tensor

from labkit.checks.compare import difference_of, joined, refuse_blank, show, why_none
from labkit.checks.core import Wrong

# Largest difference that rounding alone explains, by dtype of the answer.
TOLERANCE = {torch.float16: 2e-2, torch.bfloat16: 1e-1}
FULL_PRECISION_TOLERANCE = 1e-5
Slips = Mapping[str, Callable[..., Any]]


def expect_tensor(
    got: Any,
    expected: Tensor,
    what: str,
    *,
    why: str = "",
    tolerance: float | None = None,
) -> None:
    """The answer has the shape and the values of `expected`, within its own dtype's rounding.

    An element is right if it differs by at most tolerance * (1 + |expected|): absolute near zero,
    relative for large values. If no tolerance is given, the dtype of the answer decides: 1e-5 in
    full precision, 2e-2 for float16, 1e-1 for bfloat16. A check that forbids half precision says so
    itself.
    """
    tensor = tensor_in(got, what)
    if tensor.shape != expected.shape:
        raise Wrong(
            f"the shape of {what}",
            expected=str(tuple(expected.shape)),
            got=str(tuple(tensor.shape)),
            why=why,
        )
    limit = tolerance or TOLERANCE.get(tensor.dtype, FULL_PRECISION_TOLERANCE)
    difference = (tensor.double() - expected.double()).abs()
    wrong = ~(difference <= limit * (1 + expected.double().abs()))  # NaN is wrong too
    if wrong.any():
        index = tuple(wrong.nonzero()[0].tolist())
        raise Wrong(
            what,
            **difference_of(expected[index], tensor[index]),
            where=f"index {list(index)}" if index else "",
            why=why,
        )


def tensor_in(got: Any, what: str) -> Tensor:
    """The tensor in an answer; arrays and nested lists of real numbers count as tensors."""
    refuse_blank(got)
    try:
        tensor = got if isinstance(got, Tensor) else torch.as_tensor(numpy.asarray(got))
    except (TypeError, ValueError):
        raise Wrong(what, expected="a tensor", got=show(got), why=why_none(got)) from None
    if tensor.is_complex():
        raise Wrong(what, expected="real numbers", got=f"a tensor of {tensor.dtype}")
    return tensor


def expect_unchanged(got: Any, before: Tensor, what: str, *, why: str = "") -> None:
    """Every byte is what it was; memory that was never written to may hold anything."""
    tensor = tensor_in(got, what)
    same_kind = tensor.shape == before.shape and tensor.dtype == before.dtype
    if not same_kind or not torch.equal(_bytes(tensor), _bytes(before)):
        raise Wrong(what, expected="the same bytes as before", got="other bytes", why=why)


def _bytes(tensor: Tensor) -> Tensor:
    if not tensor.numel():  # its strides may be any
        return torch.empty(0, dtype=torch.uint8)
    return tensor.contiguous().reshape(-1).view(torch.uint8)


def wanted_tokens(value: Any, shape: Sequence[int], vocab_size: int) -> None:
    """Raise ValueError, which the student's code sees, unless it is a tensor of such tokens."""
    if not isinstance(value, Tensor) or value.is_floating_point() or value.is_complex():
        raise ValueError(f"tokens should be a tensor of whole numbers, got {show(value)}")
    if value.shape != tuple(shape):
        raise ValueError(f"tokens should have shape {tuple(shape)}, got {tuple(value.shape)}")
    if value.numel() and not 0 <= int(value.min()) <= int(value.max()) < vocab_size:
        raise ValueError(f"tokens should be from 0 to {vocab_size - 1}")


def slip_in_tensors(got: Any, slips: Slips, *arguments: Any, within: float = 1e-4) -> str:
    """The sentences for a tensor: the slips that give it from the same arguments, NaN as NaN."""
    if not isinstance(got, Tensor) or not got.is_floating_point():
        return ""

    def agrees(slip: Callable[..., Tensor]) -> bool:
        one = slip(*arguments)
        return one.shape == got.shape and torch.allclose(
            got.float(), one.float(), rtol=within, atol=within, equal_nan=True
        )

    return joined(sentence for sentence, slip in slips.items() if agrees(slip))
