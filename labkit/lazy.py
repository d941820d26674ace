"""Names that a package offers, each imported when it is first used."""

from collections.abc import Callable, Mapping
from importlib import import_module
from importlib.util import find_spec
from types import FunctionType
from typing import Any


def offer(
    package: str, names: Mapping[str, str], own: tuple[str, ...] = ()
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """`__all__`, `__getattr__` and `__dir__` of a package.

    names: what it offers, by the module that defines it. If a key ends with a dot, the names are
    modules of that package. own: what the package itself defines.
    """
    places = places_of(names)
    modules = {name for key in names if key.endswith(".") for name in names[key].split()}

    def load(name: str) -> Any:
        if name not in places:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        if not _is_here(places[name]):
            raise AttributeError(
                f"{package}.{name} is in the labkit of other labs: this one has no {places[name]}"
            )
        found = import_module(places[name])
        return found if name in modules else _published(getattr(found, name), package)

    def listed() -> list[str]:
        return sorted([*own, *(name for name, module in places.items() if _is_here(module))])

    return [*own, *places], load, listed


def places_of(names: Mapping[str, str]) -> dict[str, str]:
    """The module of each name in such a table."""
    return {
        name: module + name if module.endswith(".") else module
        for module, some in names.items()
        for name in some.split()
    }


def _is_here(module: str) -> bool:
    try:
        return find_spec(module) is not None
    except ModuleNotFoundError:  # nor is its package
        return False


def _published(value: Any, package: str) -> Any:
    """A function or an exception, with the short name of its module.

    A class keeps its own: `inspect` looks for its source in the file of that module.
    """
    is_error = isinstance(value, type) and issubclass(value, BaseException)
    if is_error or isinstance(value, FunctionType):
        value.__module__ = package
    return value
