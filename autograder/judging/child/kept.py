"""What an exercise is judged with: names, builtins and settings as they stood after its cell.

If a check of the exercise was called below its cell, the last such call counts instead.

A later cell may rebind a builtin, change a library's functions or its settings, the notebook's own
classes and functions, or the items of an answer. An answer above it is judged as if that cell were
not there. Only names and methods that it adds stay, for an answer may use what stands below it.
"""

import builtins
import contextlib
import sys
import warnings
from abc import ABCMeta
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

BUILTINS = frozenset(dir(builtins))
MODULES = sys.modules
LIBRARIES = (
    "builtins", "bisect", "collections", "copy", "dataclasses", "enum", "fractions", "functools",
    "heapq", "itertools", "math", "operator", "random", "re", "statistics", "string", "time",
    "typing", "numpy", "torch", "torch.nn", "torch.nn.functional",
)  # fmt: skip

CODE = ("__code__", "__defaults__", "__kwdefaults__")
MOST_ITEMS = 10_000  # of an answer that is kept

Setting = tuple[Callable[[], Any], Callable[[Any], Any]]  # how it is read, and how it is set


class Kept(NamedTuple):
    """What stood after a cell: names of the notebook, modules, attributes of these and of the
    notebook's own classes and functions, settings.
    """

    names: dict[str, Any]
    modules: dict[str, ModuleType]
    attributes: list[tuple[Any, dict[str, Any]]]
    settings: list[tuple[Setting, Any]]


def keep(namespace: Mapping[str, Any], answer: str = "") -> Kept:
    """What stands now. answer: the name whose items are kept, too."""
    kept = Kept(dict(namespace), _modules(), [], [])
    if answer in kept.names:
        kept.names[answer] = _copy(kept.names[answer], [MOST_ITEMS])
    for owner in (*kept.modules.values(), *_tensors(), *_own_classes(namespace)):
        kept.attributes.append((owner, dict(vars(owner))))
    for function in _own_functions(namespace):
        kept.attributes.append((function, {name: getattr(function, name) for name in CODE}))
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
    MODULES.update(kept.modules)
    for owner, attributes in kept.attributes:
        _set_attributes(owner, attributes)
    for (read, put), value in kept.settings:
        with contextlib.suppress(Exception):
            if read() != value:
                put(value)


def _copy(value: Any, n_left: list[int]) -> Any:
    """The value, with lists, dicts and sets of its own; as it is if they have too many items."""
    kind = type(value)
    if kind not in (dict, list, tuple, set) or n_left[0] < len(value):
        return value
    n_left[0] -= len(value)
    if kind is dict:
        return {name: _copy(item, n_left) for name, item in value.items()}
    return kind(_copy(item, n_left) for item in value)


def _set_attributes(owner: Any, attributes: Mapping[str, Any]) -> None:
    """Set what has changed. A module may have got more since then, such as modules in it."""
    is_function = type(owner) is FunctionType
    now = {name: getattr(owner, name) for name in CODE} if is_function else dict(vars(owner))
    put = type.__setattr__ if isinstance(owner, type) else object.__setattr__
    for name in attributes:
        if now.get(name) is not attributes[name]:
            with contextlib.suppress(Exception):
                put(owner, name, attributes[name])
    for name in now.keys() - attributes.keys() if isinstance(owner, type) else ():
        if name.startswith("__") or owner.__module__ != "__main__":
            with contextlib.suppress(Exception):
                type.__delattr__(owner, name)


def _modules() -> dict[str, ModuleType]:
    """What students' code uses most of. A cell may have put anything in a module's place."""
    found = {name: MODULES.get(name) for name in LIBRARIES}
    return {name: each for name, each in found.items() if isinstance(each, ModuleType)}


def _tensors() -> Iterator[type]:
    """The class of tensors, if torch is there."""
    tensor = getattr(MODULES.get("torch"), "Tensor", None)
    if isinstance(tensor, type):
        yield tensor


def _own_classes(namespace: Mapping[str, Any]) -> Iterator[type]:
    """The classes that the notebook defines."""
    for value in namespace.values():
        if type(value) in (type, ABCMeta) and value.__module__ == "__main__":
            yield value


def _own_functions(namespace: Mapping[str, Any]) -> Iterator[FunctionType]:
    """The functions that the notebook defines, those of its classes too."""
    methods = (each for owner in _own_classes(namespace) for each in vars(owner).values())
    for value in (*namespace.values(), *methods):
        if type(value) is FunctionType and value.__module__ == "__main__":
            yield value


def _settings() -> Iterator[Setting]:
    yield sys.getrecursionlimit, sys.setrecursionlimit
    yield lambda: [*warnings.filters], _set_filters
    if numpy := MODULES.get("numpy"):
        yield numpy.geterr, lambda state: numpy.seterr(**state)
    if torch := MODULES.get("torch"):
        yield torch.get_default_dtype, torch.set_default_dtype
        yield torch.get_default_device, torch.set_default_device
        yield torch.is_grad_enabled, torch.set_grad_enabled
        yield partial(torch.is_autocast_enabled, "cpu"), partial(torch.set_autocast_enabled, "cpu")
        yield partial(torch.get_autocast_dtype, "cpu"), partial(torch.set_autocast_dtype, "cpu")
        calls, dispatch = torch.overrides, torch.utils._python_dispatch
        for modes, read in (
            (calls, calls._get_current_function_mode_stack),
            (dispatch, dispatch._get_current_dispatch_mode_stack),
        ):
            yield read, partial(_set_modes, modes, read)


def _set_filters(filters: list) -> None:
    warnings.filters[:] = filters


def _set_modes(place: ModuleType, read: Callable[[], list], modes: list) -> None:
    """Leave the modes of torch that a cell has entered and not left; enter those that stood."""
    while read():
        place._pop_mode()
    for mode in modes:
        place._push_mode(mode)
