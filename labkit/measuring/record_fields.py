"""Fields of a record as they stand in a file: every one there, each of its type, or said so."""

import dataclasses
from collections.abc import Iterator
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints


class RecordError(ValueError):
    """A record that cannot be read or continued; says which file, line and field."""


def build(kind: type, found: Any, where: str) -> Any:
    """A dataclass from what a file holds.

    Raises: RecordError, beginning with `where`, for a field that is missing, unknown or no number.
    """
    if not isinstance(found, dict):
        raise RecordError(f"{where}: wanted an object, got {found!r}")
    hints = get_type_hints(kind)
    needed = [each.name for each in required(kind)]
    if missing := [name for name in needed if name not in found]:
        raise RecordError(f"{where}: the field {missing[0]!r} is missing")
    if unknown := sorted(set(found) - set(hints)):
        raise RecordError(f"{where}: no field is called {unknown[0]!r}")
    values = {name: _typed(value, hints[name], where, name) for name, value in found.items()}
    try:
        return kind(**values)
    except ValueError as error:
        raise RecordError(f"{where}: {error}") from None


def required(kind: type) -> Iterator[dataclasses.Field]:
    """The fields of a dataclass that have no default."""
    for each in dataclasses.fields(kind):
        if each.default is dataclasses.MISSING and each.default_factory is dataclasses.MISSING:
            yield each


def _typed(value: Any, hint: Any, where: str, name: str) -> Any:
    if get_origin(hint) is tuple and isinstance(value, list):
        return tuple(_typed(each, float, where, name) for each in value)
    if get_origin(hint) is not None and not isinstance(hint, UnionType):
        if isinstance(value, dict) and get_origin(hint) is not tuple:
            return {key: _typed(each, float, where, name) for key, each in value.items()}
        raise RecordError(f"{where}: the field {name!r} has {value!r}")
    allowed = get_args(hint) or (hint,)
    if value is None and NoneType in allowed:
        return None
    is_bool = isinstance(value, bool)
    if float in allowed and isinstance(value, int) and not is_bool:
        return float(value) if abs(value) < 2**53 else value
    if is_bool != (bool in allowed) or not isinstance(value, allowed):
        wanted = "a number" if {int, float} & set(allowed) else f"a {allowed[0].__name__}"
        raise RecordError(f"{where}: the field {name!r} should be {wanted}, got {value!r}")
    return value
