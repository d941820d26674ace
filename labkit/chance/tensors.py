"""Tensors of random numbers that are not drawn.

`Uniforms` looks like a tensor of floats. Its elements are `Number`s (labkit.chance.numbers); which
element stands where is an ordinary tensor of indices, so whatever torch does with shapes can be
done to that. What torch may do with them is in labkit.chance.operations.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from labkit.chance.numbers import UNKNOWN, CannotFollow, Number


class Uniforms(Tensor):
    """A tensor whose elements are random numbers that are not drawn; see the module."""

    numbers: list[Number]
    places: Tensor  # for each element its index in `numbers`
    is_part = False  # whether torch would have it share memory with another tensor

    @classmethod
    def __torch_function__(cls, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        if operation(func) in ("repr", "str", "format"):
            return UNKNOWN
        raise CannotFollow(f"{operation(func)}, after the run it was drawn in")


def uniforms(numbers: Sequence[Number], places: Tensor, dtype: torch.dtype) -> Uniforms:
    """A tensor of random numbers: at each place the number of that index."""
    return become(torch.full(places.shape, math.nan, dtype=dtype), numbers, places)


def become(tensor: Tensor, numbers: Sequence[Number], places: Tensor) -> Uniforms:
    """Turn this tensor object into one of random numbers, so that all references see it."""
    tensor.__class__ = Uniforms
    tensor.numbers, tensor.places = list(numbers), places
    return tensor


def expect_whole(tensor: Tensor, name: str) -> None:
    """Raises: CannotFollow if another tensor shares the memory that `name` is to change."""
    if isinstance(tensor, Uniforms):
        is_part = tensor.is_part
    else:
        n_bytes = tensor.numel() * tensor.element_size()
        is_part = tensor._is_view() or tensor.untyped_storage().nbytes() != n_bytes
    if is_part:
        raise CannotFollow(f"{name} on a part of a tensor")


def from_numbers(data: Any, dtype: torch.dtype | None = None) -> Uniforms:
    """What `torch.tensor` makes of a random number, or of nested lists of them."""
    array = np.asarray(data, dtype=object)
    if not all(isinstance(one, Number) for one in array.flat):
        raise CannotFollow("torch.tensor of random and known numbers")
    return uniforms(list(array.flat), in_order(array.shape), dtype or torch.get_default_dtype())


def operation(func: Any) -> str:
    """What torch calls an operation: "add" for `__add__` too, ".shape" for an attribute."""
    name = getattr(func, "__name__", str(func))
    if name in ("__int__", "__float__", "__bool__", "__index__"):  # float(x) is not x.float()
        return name
    if name in ("__get__", "__set__"):
        return ("." if name == "__get__" else "set .") + func.__self__.__name__
    return name.strip("_") if name.startswith("__") else name


def items_of(tensor: Uniforms) -> list[Number]:
    return [tensor.numbers[i] for i in tensor.places.flatten().tolist()]


def aligned(one: Any, other: Any) -> tuple[list, list, torch.Size]:
    """The elements of both, broadcast against each other, and their shape."""
    sides = [side if isinstance(side, Tensor) else scalar(side) for side in (one, other)]
    places = [side.places if isinstance(side, Uniforms) else side.detach() for side in sides]
    spread = torch.broadcast_tensors(*places)
    items = [
        [side.numbers[i] for i in place.flatten().tolist()]
        if isinstance(side, Uniforms)
        else place.flatten().tolist()
        for side, place in zip(sides, spread, strict=True)
    ]
    return items[0], items[1], spread[0].shape


def scalar(value: Any) -> Tensor:
    if isinstance(value, Number):
        return from_numbers(value)
    return torch.tensor(value, dtype=torch.float64)


def in_order(shape: Sequence[int]) -> Tensor:
    return torch.arange(math.prod(shape)).reshape(tuple(shape))


def is_random(value: Any) -> bool:
    return isinstance(value, Uniforms | Number)


def dtype_of(value: Any) -> torch.dtype:
    if isinstance(value, Number):
        return torch.get_default_dtype()
    with torch._C.DisableTorchFunctionSubclass():
        return value.dtype
