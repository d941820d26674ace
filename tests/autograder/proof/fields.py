"""What the hidden cases of an exercise vary: their fields, over many seeds."""

import inspect
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from autograder.labs import cases_of, right_of
from labkit.checks.tables import Call, Made, Row

SEEDS = range(20)


def fields_of(topic: str) -> dict[str, dict[str, dict[int, list]]]:
    """exercise: field: seed: the values that the field has in this seed's cases."""
    found: dict = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    right = right_of(topic)
    for seed in SEEDS:
        for exercise, cases in cases_of(topic, seed).items():
            for case in cases:
                for name, value in _leaves(case, getattr(right, exercise, None), ""):
                    found[exercise][name][seed].append(value)
    return found


def _leaves(value: Any, function: Any, name: str) -> Iterator[tuple[str, Any]]:
    """The fields of a case that are numbers, words or switches, and how long its sequences are."""
    match value:
        case Row():
            yield from _leaves(value.call, function, name)
        case Call():
            bound = inspect.signature(function).bind(*value.args, **value.kwargs)
            bound.apply_defaults()
            yield from _of_each(bound.arguments, function, name)
        case Made():
            yield from _leaves(value.here(), function, name)
        case Mapping():
            yield from _of_each(value, function, name)
        case _ if is_dataclass(value) and not isinstance(value, type):
            each = {field.name: getattr(value, field.name) for field in fields(value)}
            yield from _of_each(each, function, f"{name}")
        case str() | bool() | int() | float() | None:
            yield name, value
        case Sequence():
            yield f"len({name})", len(value)
            for each in value:
                yield from _leaves(each, function, f"{name}[]")


def _of_each(values: Mapping[str, Any], function: Any, name: str) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        yield from _leaves(value, function, f"{name}.{key}" if name else str(key))


def never_varies(values: Mapping[int, list]) -> bool:
    return len({repr(value) for each in values.values() for value in each}) == 1


def least(values: Mapping[int, list]) -> Any:
    """The least count of a field; None if it holds something else."""
    counts = [value for each in values.values() for value in each if type(value) is int]
    return min(counts, default=None)


def drawn_alone(values: Mapping[int, list]) -> list[int]:
    """The seeds that have no count above 1 in a field, where others do."""
    largest = {
        seed: max((value for value in each if type(value) is int), default=0)
        for seed, each in values.items()
    }
    return [seed for seed in largest if largest[seed] <= 1 < max(largest.values())]
