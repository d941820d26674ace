"""The right functions of a lab as a student's code may call them in a second play.

They run on the judge's side, and their arguments are hostile: what would take much memory or time
is refused with an exception that reaches the student's code.
"""

import math
from collections.abc import Callable
from functools import wraps
from inspect import signature
from types import ModuleType
from typing import Any

from labkit.bridge.student import Proxy
from labkit.bridge.wire import is_array

MAX_ITEMS = 4_096  # of all arguments: two arrays of n numbers can make one of n * n
MAX_COUNT = 100_000  # of passes or tokens that a function goes through one by one
COUNTED = ("n_new", "gamma")
REPEATS = (str, bytes, list, tuple)  # what a product with a number makes longer
NUMBERS = (int, float, "int", "float")  # as annotations


class Parts:
    """The functions and classes of a module, by name; the functions refuse what is too large."""

    def __init__(self, module: ModuleType) -> None:
        self._module = module

    def __getattr__(self, name: str) -> Any:
        part = getattr(self._module, name)
        return part if isinstance(part, type) else bounded(part)


def bounded(part: Callable[..., Any]) -> Callable[..., Any]:
    """The function with a ValueError or a TypeError for arguments that are too large for it."""
    parameters = signature(part).parameters

    def checked(name: str, value: Any) -> Any:
        is_number = parameters[name].annotation in NUMBERS
        if is_number and isinstance(value, REPEATS):
            raise TypeError(f"{name} should be a number, got a {type(value).__name__}")
        if name in COUNTED and not value <= MAX_COUNT:
            raise ValueError(f"{name} should be at most {MAX_COUNT:,}")
        return _Numbers(value) if isinstance(value, Proxy) else value

    @wraps(part)
    def asked(*args: Any, **kwargs: Any) -> Any:
        given = signature(part).bind(*args, **kwargs)
        if (n_items := n_items_in(given.arguments)) > MAX_ITEMS:
            raise ValueError(
                f"the arguments should have {MAX_ITEMS:,} items at most, got {n_items:,}"
            )
        given.arguments.update({name: checked(name, v) for name, v in given.arguments.items()})
        return part(*given.args, **given.kwargs)

    return asked


class _Numbers:
    """An object of the student's whose attributes the function may multiply."""

    def __init__(self, proxy: Proxy) -> None:
        self._proxy = proxy

    def __getattr__(self, name: str) -> Any:
        value = getattr(self._proxy, name)
        if isinstance(value, REPEATS) or n_items_in(value) > 1:
            raise TypeError(f"{name} should be a number, got a {type(value).__name__}")
        return value


def n_items_in(value: Any) -> int:
    """How many numbers, characters and other parts a value from the student's code has."""
    if is_array(value):
        return math.prod(value.shape)
    if isinstance(value, str | bytes):
        return len(value)
    if isinstance(value, dict):
        return sum(n_items_in(key) + n_items_in(each) for key, each in value.items())
    if isinstance(value, list | tuple):
        return len(value) + sum(map(n_items_in, value))
    return 1
