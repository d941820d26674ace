"""What the checks of lab 04 share: comparisons of stored numbers, and what callbacks accept."""

from collections.abc import Callable, Collection, Sequence
from typing import Any

import torch
from torch import Tensor

from labkit.bridge.student import Proxy, StudentError, hold_attribute, in_turn, method_of
from labkit.checks.compare import expect_tensor, show, tensor_in
from labkit.checks.core import Wrong


class Store:
    """An object made by the student's class: its attributes by value, its methods to call."""

    def __init__(self, made: Proxy, methods: Collection[str]) -> None:
        self._made, self._methods = made, methods

    def __getattr__(self, name: str) -> Any:
        return method_of(self._made, name) if name in self._methods else getattr(self._made, name)

    def in_turn(self, *steps: str | tuple) -> list:
        """What attributes (`"length"`) and calls (`("append", k, v)`) give, in one request."""
        return in_turn(self._made, *steps)

    def held(self, name: str) -> Proxy:
        """An attribute as the object it is, to be looked at again later."""
        return hold_attribute(self._made, name)


def expect_refusal(call: Callable[[], Any], kind: str, what: str, *, why: str = "") -> None:
    """The call raises the exception called `kind` (in the student's code)."""
    try:
        call()
    except StudentError as error:
        if error.is_a("NotImplementedError"):
            raise
        if not error.is_a(kind):
            raise Wrong(what, expected=f"a {kind}", got=str(error), why=why) from None
        return
    raise Wrong(what, expected=f"a {kind}", got="no error", why=why)


def pair_in(got: Any, what: str) -> tuple[Any, Any]:
    """The two parts of an answer that should be a pair."""
    if not isinstance(got, tuple | list) or len(got) != 2:
        raise Wrong(f"{what} should be a pair", expected="a pair", got=show(got))
    return got[0], got[1]


def expect_pair(got: Any, keys: Tensor, values: Tensor, what: str, *, why: str = "") -> None:
    """The answer is the pair (keys, values), number for number, stored in their dtype."""
    for part, expected, name in zip(
        pair_in(got, what), (keys, values), ("keys", "values"), strict=True
    ):
        expect_stored(part, expected, f"the {name} {what}", why=why)


def expect_stored(got: Any, expected: Tensor, what: str, *, why: str = "") -> None:
    """The answer has the shape, dtype and very numbers of `expected`: storing rounds only once."""
    tensor = tensor_in(got, what)
    if tensor.dtype != expected.dtype:
        raise Wrong(f"the dtype of {what}", expected=str(expected.dtype), got=str(tensor.dtype))
    expect_tensor(tensor, expected, what, why=why, tolerance=1e-7)


def random_tokens(seed: int, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Random numbers of `shape`, as they are after storing them as `dtype`."""
    rng = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=rng).to(dtype).to(torch.float32)


def expect_unchanged(got: Any, before: Tensor, what: str, *, why: str = "") -> None:
    """Every byte is what it was; memory that was never written to may hold anything."""
    tensor = tensor_in(got, what)
    same_kind = tensor.shape == before.shape and tensor.dtype == before.dtype
    if not same_kind or not torch.equal(_bytes(tensor), _bytes(before)):
        raise Wrong(what, expected="the same bytes as before", got="other bytes", why=why)


def _bytes(tensor: Tensor) -> Tensor:
    return tensor.contiguous().reshape(-1).view(torch.uint8)


def wanted_floats(value: Any, shape: Sequence[int], name: str) -> Tensor:
    """The tensor of that shape. Raises ValueError, which the student's code sees, for others."""
    if not isinstance(value, Tensor) or not value.is_floating_point():
        raise ValueError(f"{name} should be a tensor of floats, got {show(value)}")
    if value.shape != tuple(shape):
        raise ValueError(f"{name} should have shape {tuple(shape)}, got {tuple(value.shape)}")
    return value.float()


def wanted_tokens(value: Any, shape: Sequence[int], vocab_size: int) -> None:
    """Raise ValueError, which the student's code sees, unless it is a tensor of such tokens."""
    if not isinstance(value, Tensor) or value.is_floating_point() or value.is_complex():
        raise ValueError(f"tokens should be a tensor of whole numbers, got {show(value)}")
    if value.shape != tuple(shape):
        raise ValueError(f"tokens should have shape {tuple(shape)}, got {tuple(value.shape)}")
    if value.numel() and not 0 <= int(value.min()) <= int(value.max()) < vocab_size:
        raise ValueError(f"tokens should be from 0 to {vocab_size - 1}")
