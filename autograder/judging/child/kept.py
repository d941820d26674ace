"""What an exercise is judged with: names, builtins and settings as they stood after its cell.

If a check of the exercise was called below its cell, the last such call counts instead.

A later cell may rebind a builtin, change a library's functions or its settings. An answer above it
is judged as if that cell were not there.
"""

import builtins
import contextlib
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any, NamedTuple

BUILTINS = frozenset(dir(builtins))
LIBRARIES = (
    "builtins", "bisect", "collections", "copy", "dataclasses", "enum", "fractions", "functools",
    "heapq", "itertools", "math", "operator", "random", "re", "statistics", "string", "time",
    "typing", "numpy", "torch", "torch.nn", "torch.nn.functional",
)  # fmt: skip

Setting = tuple[Callable[[], Any], Callable[[Any], Any]]  # how it is read, and how it is set


class Kept(NamedTuple):
    """What stood after a cell: names of the notebook, attributes of libraries, settings."""

    names: dict[str, Any]
    attributes: list[tuple[Any, dict[str, Any]]]
    settings: list[tuple[Setting, Any]]


def keep(namespace: Mapping[str, Any]) -> Kept:
    """What stands now."""
    kept = Kept(dict(namespace), [(owner, dict(vars(owner))) for owner in _owners()], [])
    with contextlib.suppress(Exception):  # a library that the student's code has broken
        for setting in _settings():
            kept.settings.append((setting, setting[0]()))
    return kept


def put_back(kept: Kept, namespace: dict[str, Any], later: Mapping[str, Any]) -> None:
    """Bind all as it stood; later names stay beside, but for those of builtins."""
    namespace.update(later)
    for name in BUILTINS - kept.names.keys():
        namespace.pop(name, None)
    namespace.update(kept.names)
    for owner, attributes in kept.attributes:
        _set_attributes(owner, attributes)
    for (read, put), value in kept.settings:
        with contextlib.suppress(Exception):
            if read() != value:
                put(value)


def _set_attributes(owner: Any, attributes: Mapping[str, Any]) -> None:
    """Set what has changed. A module may have got more since then, such as modules in it."""
    now = dict(vars(owner))
    with contextlib.suppress(AttributeError, TypeError):
        for name in attributes:
            if now.get(name) is not attributes[name]:
                setattr(owner, name, attributes[name])
        for name in now.keys() - attributes.keys() if isinstance(owner, type) else ():
            delattr(owner, name)


def _owners() -> Iterator[Any]:
    """What students' code uses most of: modules, and the class of tensors."""
    yield from (sys.modules[name] for name in LIBRARIES if name in sys.modules)
    tensor = getattr(sys.modules.get("torch"), "Tensor", None)
    if isinstance(tensor, type):
        yield tensor


def _settings() -> Iterator[Setting]:
    yield sys.getrecursionlimit, sys.setrecursionlimit
    yield lambda: [*warnings.filters], _set_filters
    if numpy := sys.modules.get("numpy"):
        yield numpy.geterr, lambda state: numpy.seterr(**state)
    if torch := sys.modules.get("torch"):
        yield torch.get_default_dtype, torch.set_default_dtype
        yield torch.get_default_device, torch.set_default_device
        yield torch.is_grad_enabled, torch.set_grad_enabled
        yield partial(torch.is_autocast_enabled, "cpu"), partial(torch.set_autocast_enabled, "cpu")
        yield partial(torch.get_autocast_dtype, "cpu"), partial(torch.set_autocast_dtype, "cpu")
        yield torch.overrides._get_current_function_mode_stack, _set_function_modes


def _set_filters(filters: list) -> None:
    warnings.filters[:] = filters


def _set_function_modes(modes: list) -> None:
    """Leave those that a cell has entered and not left, and enter those that stood."""
    core = sys.modules["torch"]._C
    while core._len_torch_function_stack():
        core._pop_torch_function_stack()
    for mode in modes:
        core._push_on_torch_function_stack(mode)
