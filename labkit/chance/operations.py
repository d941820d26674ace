"""Operations of torch on tensors of random numbers that are not drawn (labkit.chance.tensors).

Operations that change only shapes are done to the indices. Arithmetic with known numbers gives
other random numbers. Comparisons give ordinary tensors of bools, argmax of noise ordinary indices.
Everything else raises `CannotFollow` and says what it was.
"""

import math
import operator
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor

from labkit.chance.numbers import UNKNOWN, CannotFollow, Number
from labkit.chance.race import race
from labkit.chance.tensors import (
    Uniforms,
    aligned,
    become,
    dtype_of,
    expect_whole,
    from_numbers,
    in_order,
    is_random,
    items_of,
    operation,
    uniforms,
)

SHAPE = frozenset(
    "getitem reshape view view_as reshape_as flatten unflatten ravel squeeze unsqueeze expand "
    "expand_as broadcast_to repeat repeat_interleave tile transpose swapaxes "
    "permute movedim t .T .mT flip roll gather take take_along_dim index_select masked_select "
    "narrow select diagonal chunk split tensor_split unbind atleast_1d atleast_2d".split()
)
JOINS = frozenset("cat concat concatenate stack hstack vstack".split())
COPIES = frozenset(
    "clone contiguous detach detach_ requires_grad_ cpu cuda to type type_as float double half "
    "bfloat16 .data".split()
)
ABOUT = frozenset(
    ".shape .dtype .device .ndim .requires_grad .is_cuda .layout .names .itemsize .nbytes .is_leaf "
    ".grad .grad_fn size dim ndimension numel nelement len is_floating_point is_complex hash "
    "element_size is_contiguous stride get_device zeros_like ones_like empty_like full_like "
    "new_empty new_zeros new_ones new_full".split()
)
UNARY: dict[str, Callable[[Number], Any]] = {
    "neg": operator.neg,
    "negative": operator.neg,
    "log": Number.log,
    "log2": lambda number: number.log() / math.log(2),
    "log10": lambda number: number.log() / math.log(10),
    "log1p": Number.log1p,
    "exp": Number.exp,
    "sqrt": Number.sqrt,
    "square": lambda number: number**2,
    "reciprocal": Number.reciprocal,
}
BINARY: dict[str, Callable[[Any, Any], Any]] = {
    **dict.fromkeys(("add", "radd", "iadd"), operator.add),
    **dict.fromkeys(("sub", "subtract", "isub"), operator.sub),
    **dict.fromkeys(("mul", "multiply", "rmul", "imul"), operator.mul),
    **dict.fromkeys(
        ("div", "divide", "true_divide", "truediv", "idiv", "itruediv"), operator.truediv
    ),
    **dict.fromkeys(("pow", "float_power", "ipow"), operator.pow),
    **dict.fromkeys(("rsub",), lambda one, other: other - one),
    **dict.fromkeys(("rdiv", "rtruediv"), lambda one, other: other / one),
    **dict.fromkeys(("rpow",), lambda one, other: other**one),
}
COMPARE: dict[str, Callable[[Any, Any], bool]] = {
    **dict.fromkeys(("lt", "less"), operator.lt),
    **dict.fromkeys(("le", "less_equal"), operator.le),
    **dict.fromkeys(("gt", "greater"), operator.gt),
    **dict.fromkeys(("ge", "greater_equal"), operator.ge),
    **dict.fromkeys(("eq",), operator.eq),
    **dict.fromkeys(("ne", "not_equal"), operator.ne),
}


def follow(func: Callable, args: tuple, kwargs: dict) -> Any:
    """Do what torch was asked to do with random numbers among the arguments.

    Raises: CannotFollow, naming the operation.
    """
    name = operation(func)
    if name in ("repr", "str", "format"):
        return UNKNOWN
    if name in JOINS:
        return _join(func, *args, **kwargs)
    is_in_place = name[-1] == "_" != name[0] and name not in COPIES
    if is_in_place:
        expect_whole(args[0], name)
    name, known = name.rstrip("_") if is_in_place else name, args[1:]
    if kwargs.get("alpha", 1) != 1 or kwargs.get("out") is not None:
        raise CannotFollow(f"{name} with {', '.join(kwargs)}")
    if name in BINARY and len(args) + ("other" in kwargs) == 2:
        result = _arithmetic(BINARY[name], args[0], *known, **kwargs)
    elif name in COMPARE:
        return _compare(COMPARE[name], args[0], *known, **kwargs)
    elif name in ("searchsorted", "bucketize"):
        return _search(name, *args, **kwargs)
    elif not isinstance(args[0] if args else None, Uniforms):
        raise CannotFollow(name)
    elif name in UNARY:
        result = _each(args[0], UNARY[name])
    elif name in METHODS:
        result = METHODS[name](args[0], *known, **kwargs)
    else:
        return _about(func, name, args[0], known, kwargs)
    return become(args[0], result.numbers, result.places) if is_in_place else result


def _about(func: Callable, name: str, tensor: Uniforms, known: tuple, kwargs: dict) -> Any:
    """Operations on shape and type, which need no value."""
    if name in SHAPE:
        return _wrap(func(tensor.places, *known, **kwargs), tensor)
    if name in COPIES or name in ABOUT:
        with torch._C.DisableTorchFunctionSubclass():
            result = func(tensor, *known, **kwargs)
            if name in ABOUT:
                return result
            if result.is_floating_point():
                copy = uniforms(tensor.numbers, tensor.places.clone(), result.dtype)
                copy.is_part = name != "clone" and result.dtype is tensor.dtype
                return copy
        return _whole(tensor, int)
    raise CannotFollow(name if name[0] in "_." else f"torch.{name}")


def _wrap(result: Any, source: Uniforms) -> Any:
    if isinstance(result, Tensor):
        part = uniforms(source.numbers, result, dtype_of(source))
        part.is_part = True
        return part
    return tuple(_wrap(one, source) for one in result)


def _join(func: Callable, tensors: Sequence[Any], *args: Any, **kwargs: Any) -> Uniforms:
    numbers: list[Number] = []
    places = []
    for tensor in tensors:
        if isinstance(tensor, Number):
            tensor = from_numbers(tensor)
        if not isinstance(tensor, Uniforms):
            raise CannotFollow(f"{operation(func)} of random and known numbers")
        places.append(tensor.places + len(numbers))
        numbers += tensor.numbers
    return uniforms(numbers, func(places, *args, **kwargs), dtype_of(tensors[0]))


def _arithmetic(operate: Callable, one: Any, other: Any) -> Uniforms:
    left, right, shape = aligned(one, other)
    results = [operate(a, b) for a, b in zip(left, right, strict=True)]
    return uniforms(results, in_order(shape), dtype_of(one if is_random(one) else other))


def _compare(compare: Callable, one: Any, other: Any) -> Tensor:
    left, right, shape = aligned(one, other)
    results = [bool(compare(a, b)) for a, b in zip(left, right, strict=True)]
    return torch.tensor(results, dtype=torch.bool).reshape(shape)


def _search(name: str, one: Any, other: Any, *, right: bool = False, **kwargs: Any) -> Tensor:
    """How many of the sorted known numbers are below each random one (per row, in searchsorted)."""
    ordered, wanted = (other, one) if name == "bucketize" else (one, other)
    if is_random(ordered) or kwargs.get("sorter") is not None:
        raise CannotFollow(f"{name} among random numbers")
    if isinstance(wanted, Number):
        wanted = from_numbers(wanted)
    shape = wanted.places.shape
    columns = ordered if ordered.ndim == 1 else ordered.unsqueeze(-2)
    below, edges, grid = aligned(_wrap(wanted.places.unsqueeze(-1), wanted), columns)
    n_edges = grid[-1] if grid else 0
    counts = []
    for start in range(0, len(below), n_edges):
        row = zip(below[start : start + n_edges], edges[start : start + n_edges], strict=True)
        counts.append(next((i for i, (number, edge) in enumerate(row) if number < edge), n_edges))
    return torch.tensor(counts).reshape(shape)


def _each(tensor: Uniforms, operate: Callable[[Number], Number]) -> Uniforms:
    results = [operate(number) for number in items_of(tensor)]
    return uniforms(results, in_order(tensor.places.shape), dtype_of(tensor))


def _whole(tensor: Uniforms, rounded: Callable[[Number], int]) -> Tensor:
    return torch.tensor([rounded(number) for number in items_of(tensor)]).reshape(
        tensor.places.shape
    )


def _floor(tensor: Uniforms) -> Tensor:
    floors = [math.floor(number) for number in items_of(tensor)]
    if any(isinstance(one, Number) for one in floors):
        return uniforms(floors, in_order(tensor.places.shape), dtype_of(tensor))
    return torch.tensor(floors, dtype=dtype_of(tensor)).reshape(tensor.places.shape)


def _clamp(tensor: Uniforms, min: Any = None, max: Any = None) -> Uniforms:
    limits = [None if limit is None else float(limit) for limit in (min, max)]
    return _each(tensor, lambda number: number.clamp(*limits))


def _winner(tensor: Uniforms, dim: Any = None, keepdim: bool = False, *, largest: bool) -> Tensor:
    """argmax or argmin of noise: a choice by weight, per row."""
    places = tensor.places.flatten() if dim is None else tensor.places.movedim(dim, -1)
    rows = places.reshape(-1, places.shape[-1]).tolist()
    found = [race([tensor.numbers[i] for i in row], largest) for row in rows]
    winners = torch.tensor(found).reshape(places.shape[:-1])
    if not keepdim:
        return winners
    shape = [1] * tensor.places.ndim if dim is None else None
    return winners.reshape(shape) if shape else winners.unsqueeze(dim)


def _best(tensor: Uniforms, dim: Any = None, keepdim: bool = False, *, largest: bool) -> Any:
    if not isinstance(dim, int):
        raise CannotFollow("max" if largest else "min")
    winners = _winner(tensor, dim, keepdim, largest=largest)
    places = tensor.places.gather(dim, winners if keepdim else winners.unsqueeze(dim))
    values = _wrap(places if keepdim else places.squeeze(dim), tensor)
    kind = torch.return_types.max if largest else torch.return_types.min
    return kind((values, winners))


def _item(tensor: Uniforms) -> Number:
    (number,) = items_of(tensor) if tensor.places.numel() == 1 else (None,)
    if number is None:
        shape = tuple(tensor.places.shape)
        raise RuntimeError(f"a Tensor of shape {shape} cannot be converted to Scalar")
    return number


def _array(tensor: Uniforms, *_: Any, **__: Any) -> np.ndarray:
    array = np.empty(tensor.places.numel(), dtype=object)
    array[:] = items_of(tensor)
    return array.reshape(tuple(tensor.places.shape))


METHODS: dict[str, Callable] = {
    "item": _item,
    "tolist": lambda tensor: _array(tensor).tolist(),
    "numpy": _array,
    "array": _array,
    "__int__": lambda tensor: int(_item(tensor)),
    "int": lambda tensor: _whole(tensor, int).int(),
    "long": lambda tensor: _whole(tensor, int),
    "floor": lambda tensor: _floor(tensor),
    "trunc": lambda tensor: _whole(tensor, int).to(dtype_of(tensor)),
    "clamp": _clamp,
    "clip": _clamp,
    "clamp_min": lambda tensor, min: _clamp(tensor, min),
    "clamp_max": lambda tensor, max: _clamp(tensor, None, max),
    "argmax": lambda tensor, *at, **kw: _winner(tensor, *at, largest=True, **kw),
    "argmin": lambda tensor, *at, **kw: _winner(tensor, *at, largest=False, **kw),
    "max": lambda tensor, *at, **kw: _best(tensor, *at, largest=True, **kw),
    "min": lambda tensor, *at, **kw: _best(tensor, *at, largest=False, **kw),
    "isnan": lambda tensor: torch.zeros(tensor.places.shape, dtype=torch.bool),
    "isinf": lambda tensor: torch.zeros(tensor.places.shape, dtype=torch.bool),
    "isfinite": lambda tensor: torch.ones(tensor.places.shape, dtype=torch.bool),
}
