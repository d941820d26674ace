"""Values that travel between a judge and a student's process: JSON and raw bytes, never pickle.

A value is encoded into something `json` can write, plus a list of blobs (the bytes of tensors and
strings of bytes). What is decoded may come from hostile code, so the decoder trusts nothing: it
checks types, sizes, depth and that every byte of the blob is claimed at most once.

Plain values keep their type, and *only* their type: a subclass of `int` that says it equals
everything arrives as an ordinary int. Anything else goes to `to_handle`, or is refused.
"""

import math
import re
import sys
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from decimal import Decimal
from fractions import Fraction
from typing import Any

MAX_DEPTH = 64
MAX_INT_DIGITS = 4096
MAX_DIMENSION = 1 << 40
MAX_EMPTY_ITEMS = 1 << 20
MAX_DIMENSIONS = 64
MAX_SAME_HASH = 16  # a dict compares each key with all that share its hash
JSON_SAFE_INT = 1 << 53

TENSOR_DTYPES = frozenset(
    [
        "float64",
        "float32",
        "float16",
        "bfloat16",
        "int64",
        "int32",
        "int16",
        "int8",
        "uint8",
        "bool",
        "complex64",
    ]
)
PLAIN = frozenset([bool, int, float, str])  # types of JSON's values that stand for themselves
EXACT = frozenset([Fraction, Decimal])  # they travel as ints if they are whole, else as floats
ARRAY_KINDS = "biufc"
ARRAY_DTYPE = re.compile(rf"[<>|][{ARRAY_KINDS}]\d{{1,2}}")

_MALFORMED = (TypeError, ValueError, LookupError, ArithmeticError, RuntimeError)


class NoValue(TypeError):
    """The student gave an object where a check compares or computes with a value."""


class WireError(ValueError):
    """A message that breaks the format: too large, too deep, or of a wrong type."""


def is_array(value: Any) -> bool:
    """Whether it travels as raw bytes: a tensor or an array. To ask imports neither."""
    if value is None or type(value) in PLAIN:
        return False
    torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
    is_tensor = torch is not None and isinstance(value, torch.Tensor)
    return is_tensor or (numpy is not None and isinstance(value, numpy.ndarray))


class Encoder:
    """Turns values into JSON-able items; `blobs` collects the raw bytes they refer to.

    `to_handle(value)` stands in for what cannot travel by value: it returns the item to send, or
    raises TypeError.
    """

    def __init__(self, to_handle: Callable[[Any], dict] | None = None) -> None:
        self.blobs: list[bytes | memoryview] = []
        self._n_bytes = 0
        self._to_handle = to_handle

    def encode(self, value: Any, depth: int = 0) -> Any:
        """The item that stands for `value`. Raises WireError for nesting beyond MAX_DEPTH."""
        if depth > MAX_DEPTH:
            raise WireError(f"a value is nested more than {MAX_DEPTH} levels deep")
        kind = type(value)
        if value is None or kind is bool or kind is str:
            return value
        if kind is int:
            return _encode_int(value)
        if kind is list:
            return [self.encode(item, depth + 1) for item in value]
        if (torch := sys.modules.get("torch")) is not None and kind is torch.Tensor:
            return {"$tensor": self._tensor(torch, value)}
        if isinstance(value, int):
            return _encode_int(int.__index__(value))
        if isinstance(value, float):
            number = float.__float__(value)
            return number if math.isfinite(number) else {"$float": repr(number)}
        if isinstance(value, str):
            return str.__str__(value)
        if isinstance(value, complex):
            return {"$complex": [self.encode(value.real), self.encode(value.imag)]}
        if isinstance(value, bytes | bytearray):
            return {"$bytes": self._blob(bytes(value))}
        if isinstance(value, list):
            return [self.encode(item, depth + 1) for item in list.__iter__(value)]
        if isinstance(value, tuple):
            return {"$tuple": [self.encode(item, depth + 1) for item in tuple.__iter__(value)]}
        if isinstance(value, set | frozenset):
            return {"$set": [self.encode(item, depth + 1) for item in value]}
        if isinstance(value, dict):
            pairs = dict.items(value)
            return {
                "$dict": [[self.encode(k, depth + 1), self.encode(v, depth + 1)] for k, v in pairs]
            }
        return self._encode_other(value)

    def _encode_other(self, value: Any) -> Any:
        if type(value) in EXACT:
            with suppress(OverflowError, ValueError):  # too large, a signalling NaN
                number = float(value)
                is_whole = number.is_integer() and int(value) == value
                return self.encode(int(value) if is_whole else number)
        torch, numpy = sys.modules.get("torch"), sys.modules.get("numpy")
        if torch is not None:
            if isinstance(value, torch.Tensor):
                return {"$tensor": self._tensor(torch, value)}
            if isinstance(value, torch.dtype):
                return {"$dtype": str(value).removeprefix("torch.")}
        if numpy is not None and isinstance(value, (numpy.generic, numpy.ndarray)):
            array = numpy.asarray(value)
            if array.dtype.kind in ARRAY_KINDS:
                if array.ndim == 0 and isinstance(value, numpy.generic):
                    is_long = isinstance(value, numpy.longdouble)  # whose item() is one again
                    return self.encode(float(value) if is_long else array.item())
                data = numpy.ascontiguousarray(array).tobytes()
                return {"$array": [array.dtype.str, list(array.shape), self._blob(data)]}
        if self._to_handle is None:
            raise TypeError(f"a {type(value).__name__} cannot be passed by value")
        return self._to_handle(value)

    def _tensor(self, torch: Any, value: Any) -> list:
        is_plain = type(value) is torch.Tensor  # then nothing that watches torch need see this
        unseen = "DisableTorchFunction" if is_plain else "DisableTorchFunctionSubclass"
        with getattr(torch._C, unseen)():
            dtype, shape = str(value.dtype).removeprefix("torch."), list(value.shape)
            if dtype not in TENSOR_DTYPES:
                raise TypeError(f"a tensor of dtype {dtype} cannot be passed by value")
            tensor = value.detach()
            if tensor.layout is not torch.strided:
                tensor = tensor.to_dense()
            tensor = tensor.cpu().resolve_conj().resolve_neg()
            if tensor.dtype is torch.bfloat16:  # NumPy has none: send the same bytes
                tensor = tensor.view(torch.int16)
            return [dtype, shape, self._blob(tensor.numpy().tobytes())]

    def _blob(self, data: bytes | memoryview) -> list[int]:
        start, size = self._n_bytes, len(data)
        self._n_bytes += size
        self.blobs.append(data)
        return [start, size]


class WireDecoder:
    """Turns items back into values; raises WireError for anything malformed.

    `from_handle(tag, payload)` resolves handles; without it they are refused.
    """

    def __init__(
        self, blob: bytes | bytearray, from_handle: Callable[[str, Any], Any] | None = None
    ) -> None:
        self._blob = memoryview(blob)
        self._n_unclaimed = len(blob)
        self._from_handle = from_handle

    def decode(self, item: Any) -> Any:
        """The value that `item` stands for."""
        if type(item) in PLAIN:
            return item
        try:
            return self._decode(item, 0)
        except (WireError, NoValue):
            raise
        except _MALFORMED as error:
            raise WireError(f"a malformed value: {error}") from error

    def _decode(self, item: Any, depth: int) -> Any:
        if depth > MAX_DEPTH:
            raise WireError(f"a value is nested more than {MAX_DEPTH} levels deep")
        if item is None or type(item) in PLAIN:
            return item
        if type(item) is list:
            if len(item) > 0 and {*map(type, item)} <= PLAIN and depth < MAX_DEPTH:
                return [*item]
            return [self._decode(entry, depth + 1) for entry in item]
        ((tag, payload),) = item.items()
        if tag == "$tuple":
            return tuple(self._decode(entry, depth + 1) for entry in payload)
        if tag == "$dict":
            keys = _spread([self._decode(key, depth + 1) for key, _ in payload])
            return dict(
                zip(keys, (self._decode(value, depth + 1) for _, value in payload), strict=True)
            )
        if tag == "$set":
            return set(_spread([self._decode(entry, depth + 1) for entry in payload]))
        if tag == "$tensor":
            return self._tensor(*payload)
        if tag == "$array":
            return self._array(*payload)
        if tag == "$bytes":
            return bytes(self._claim(*payload))
        if tag == "$int":
            return _decode_int(payload)
        if tag == "$float":
            return {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}[payload]
        if tag == "$complex":
            real, imag = (self._decode(part, depth + 1) for part in payload)
            return complex(float(real), float(imag))
        if tag == "$dtype":
            import torch

            return getattr(torch, _known_dtype(payload))
        if self._from_handle is None:
            raise WireError(f"unexpected {tag}")
        return self._from_handle(tag, payload)

    def _claim(self, start: int, size: int) -> memoryview:
        """Bytes of the blob; each is handed out once, so a small message cannot grow large."""
        if type(start) is not int or type(size) is not int or start < 0 or size < 0:
            raise WireError("a reference into the blob is not a pair of counts")
        self._n_unclaimed -= size
        if start + size > len(self._blob) or self._n_unclaimed < 0:
            raise WireError("a value claims more bytes than were sent")
        return self._blob[start : start + size]

    def _tensor(self, dtype_name: str, shape: list, reference: list) -> Any:
        import torch

        dtype = getattr(torch, _known_dtype(dtype_name))
        n_items = _n_items(shape)
        data = self._claim(*reference)
        if n_items * dtype.itemsize != len(data):
            raise WireError(f"{len(data)} bytes do not make a {dtype_name} tensor of shape {shape}")
        with torch._C.DisableTorchFunction():  # whatever the code that waits for it has replaced
            if n_items == 0:
                return torch.empty(shape, dtype=dtype)
            if dtype is torch.bool:  # any byte but 0 and 1 would be undefined behaviour in a bool
                return torch.frombuffer(bytearray(data), dtype=torch.uint8).ne(0).view(shape)
            return torch.frombuffer(bytearray(data), dtype=dtype).view(shape)

    def _array(self, dtype_name: str, shape: list, reference: list) -> Any:
        import numpy

        if not ARRAY_DTYPE.fullmatch(dtype_name):
            raise WireError(f"arrays of dtype {dtype_name!r} do not travel")
        dtype = numpy.dtype(dtype_name)
        _n_items(shape)
        array = numpy.frombuffer(bytearray(self._claim(*reference)), dtype=dtype).reshape(shape)
        return array.view(numpy.uint8) != 0 if dtype.kind == "b" else array


def _encode_int(number: int) -> Any:
    return number if -JSON_SAFE_INT < number < JSON_SAFE_INT else {"$int": hex(number)}


def _decode_int(digits: Any) -> int:
    if not isinstance(digits, str) or len(digits) > MAX_INT_DIGITS:
        raise WireError("an integer is not hexadecimal digits of bounded length")
    return int(digits, 16)


def _known_dtype(name: Any) -> str:
    if not isinstance(name, str) or name not in TENSOR_DTYPES:
        raise WireError(f"unknown tensor dtype {name!r}")
    return name


def _spread(keys: list) -> list:
    """The keys, unless they were chosen so that a dict of them would take quadratic time."""
    if max(Counter(map(hash, keys)).values(), default=0) > MAX_SAME_HASH:
        raise WireError(f"more than {MAX_SAME_HASH} keys of a dict or set share a hash")
    return keys


def _n_items(shape: Any) -> int:
    n_items = 1
    if isinstance(shape, list) and len(shape) > MAX_DIMENSIONS:
        raise WireError(f"{len(shape)} dimensions, the limit is {MAX_DIMENSIONS}")
    for size in shape if isinstance(shape, list) else [None]:
        if type(size) is not int or not 0 <= size < MAX_DIMENSION:
            raise WireError(f"not a shape: {shape!r}")
        n_items *= size
    if n_items == 0 and math.prod(max(size, 1) for size in shape) > MAX_EMPTY_ITEMS:
        raise WireError(f"an empty tensor of shape {shape}")  # no bytes, but as a list gigabytes
    return n_items
