"""A record's file, line by line: JSON objects, each on the disk before the next is measured.

What a line holds is checked when it becomes a dataclass: every field there, each of its type.
"""

import json
from collections.abc import Sequence
from dataclasses import MISSING, fields
from pathlib import Path
from types import NoneType, UnionType
from typing import Any, get_args, get_origin, get_type_hints


class RecordError(ValueError):
    """A record that cannot be read or continued; says which file, line and field."""


class NothingMeasured(ValueError):
    """A record has no time of what is to be shown; the message says why, and what to do."""

    @classmethod
    def of(cls, rows: Sequence[Any], experiment: str) -> "NothingMeasured":
        """For the rows of an experiment, none of which has a time."""
        if not rows:
            return cls(f"the record has no rows of the experiment {experiment}: measure it first")
        outcomes = ", ".join(dict.fromkeys(row.outcome for row in rows))
        return cls(
            f"{len(rows)} rows of the experiment {experiment} have no time ({outcomes}). "
            "Make room in the memory, and run the cell that measures them again."
        )


def objects_in(path: Path) -> list[tuple[int, dict]]:
    """The objects of a file with the numbers of their lines; a torn last line is left out.

    Raises: RecordError for a folder, a file without a whole line, and a line that is no object.
    """
    if path.is_dir():
        raise RecordError(f"{path} is a folder: name a file in it")
    lines = path.read_text(encoding="utf-8", errors="replace").split("\n")
    whole, torn = lines[:-1], lines[-1]
    if torn.strip() and parses(torn):
        whole.append(torn)  # only the end of the line is missing
    numbered = [(i, line) for i, line in enumerate(whole, start=1) if line.strip()]
    if not numbered and torn.strip():
        raise RecordError(
            f"{path}, line 1 is torn and no other line follows: the file holds no measurement, so "
            "delete it or name another"
        )
    if not numbered:
        raise RecordError(f"{path} is empty: a record begins with a line of provenance")
    return [(i, _object(line, f"{path}, line {i}")) for i, line in numbered]


def build(kind: type, found: Any, where: str) -> Any:
    """A dataclass from what a file holds.

    Raises: RecordError, beginning with `where`, for a field that is missing, unknown or no number.
    """
    if not isinstance(found, dict):
        raise RecordError(f"{where}: wanted an object, got {found!r}")
    hints = get_type_hints(kind)
    for each in fields(kind):
        if each.name not in found and each.default is each.default_factory is MISSING:
            raise RecordError(f"{where}: the field {each.name!r} is missing")
    if unknown := sorted(set(found) - set(hints)):
        raise RecordError(f"{where}: no field is called {unknown[0]!r}")
    values = {name: _typed(value, hints[name], where, name) for name, value in found.items()}
    try:
        return kind(**values)
    except ValueError as error:
        raise RecordError(f"{where}: {error}") from None


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


def _object(line: str, where: str) -> dict:
    try:
        found = json.loads(line)
    except json.JSONDecodeError as error:
        raise RecordError(f"{where}: not JSON ({error.msg})") from None
    if not isinstance(found, dict):
        raise RecordError(f"{where}: wanted an object, got {line[:40]}")
    return found


def parses(line: str) -> bool:
    """Whether a line holds a whole object."""
    try:
        return isinstance(json.loads(line), dict)
    except json.JSONDecodeError:
        return False
