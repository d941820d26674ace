"""The shared parts of lab 4's checks: random tokens, and comparisons of stored tokens."""

from collections.abc import Sequence
from typing import Any

import torch
from torch import Tensor

from labkit.checks.compare import refuse_blank, show, why_none
from labkit.checks.core import Wrong
from labkit.checks.forms import pair_in
from labkit.checks.tensors import expect_tensor, tensor_in


def dtype_if_given(dtype: torch.dtype) -> dict[str, torch.dtype]:
    """The argument `dtype` of a cache. It is left out for its default, float32."""
    return {} if dtype is torch.float32 else {"dtype": dtype}


def expect_pair(got: Any, keys: Tensor, values: Tensor, what: str, *, why: str = "") -> None:
    """The answer is the pair (keys, values), number for number, stored in their dtype."""
    pair = pair_in(got, f"the keys and values {what}", why=why)
    for part, expected, name in zip(pair, (keys, values), ("keys", "values"), strict=True):
        expect_stored(part, expected, f"the {name} {what}", why=why)


def triple_in(got: Any, what: str) -> tuple[Any, Any, Any]:
    """The keys, the values and the mask that `append` returns."""
    refuse_blank(got)
    if not isinstance(got, tuple | list) or len(got) != 3:
        raise Wrong(what, expected="keys, values and a mask", got=show(got), why=why_none(got))
    return tuple(got)


def is_pair(got: Any, expected: tuple[Tensor, Tensor]) -> bool:
    """Whether the answer is that pair (keys, values)."""
    try:
        expect_pair(got, *expected, "")
    except Wrong:
        return False
    return True


def n_tokens_in(got: Any) -> int | None:
    """How many tokens the keys that come back have, if they are a tensor."""
    shape = getattr(got[0], "shape", ()) if isinstance(got, list | tuple) and got else ()
    return shape[-2] if len(shape) > 1 else None


def expect_stored(got: Any, expected: Tensor, what: str, *, why: str = "") -> None:
    """The answer has the shape, dtype and very numbers of `expected`: storing rounds only once."""
    tensor = tensor_in(got, what)
    if tensor.dtype != expected.dtype:
        raise Wrong(f"the dtype of {what}", expected=str(expected.dtype), got=str(tensor.dtype))
    expect_tensor(tensor, expected, what, why=why, tolerance=1e-7)


def random_tokens(seed: int, *shape: int, dtype: torch.dtype = torch.float32) -> Tensor:
    """Random numbers of `shape` and `dtype`: a cache gets tokens of the dtype that it stores."""
    rng = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, generator=rng).to(dtype)


def wanted_floats(value: Any, shape: Sequence[int], name: str) -> Tensor:
    """The tensor of that shape. Raises ValueError, which the student's code sees, for others."""
    if not isinstance(value, Tensor) or not value.is_floating_point():
        raise ValueError(f"{name} should be a tensor of floats, got {show(value)}")
    if value.shape != tuple(shape):
        raise ValueError(f"{name} should have shape {tuple(shape)}, got {tuple(value.shape)}")
    return value.float()
