"""What the hidden cases of an exercise vary: their fields, over many seeds."""

import inspect
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, is_dataclass
from typing import Any

from autograder.labs import cases_of, right_of
from labkit.checks.tables import Call, Made, Row

SEEDS = range(20)
SEVERAL = "several values"


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
        case _ if is_dataclass(value) and not isinstance(value, type):
            each = {field.name: getattr(value, field.name) for field in fields(value)}
            yield from _of_each(each, function, name)
        case str() | bytes() | bool() | int() | float() | None:
            yield name, value
        case Mapping():
            yield from _leaves(tuple(value.values()), function, name)
        case Sequence():
            yield name, SEVERAL
            yield f"len({name})", len(value)
            for each in value:
                yield from _leaves(each, function, f"{name}[]")


def _of_each(values: Mapping[str, Any], function: Any, name: str) -> Iterator[tuple[str, Any]]:
    for key, value in values.items():
        yield from _leaves(value, function, f"{name}.{key}" if name else str(key))


def faults_of(values: Mapping[int, list]) -> list[str]:
    """What a field's values, by seed, leave out: other values, the least count, larger counts."""
    every = [value for each in values.values() for value in each]
    counts = [value for value in every if type(value) is int]
    faults = []
    if len({repr(value) for value in every}) == 1 and every[0] is not SEVERAL:
        faults.append(f"is always {every[0]!r}")
    elif min(counts, default=0) > 1:
        faults.append(f"is never 1 or less, but {min(counts)} and more")
    largest = {
        seed: max((value for value in each if type(value) is int), default=0)
        for seed, each in values.items()
    }
    alone = [seed for seed in largest if largest[seed] <= 1 < max(largest.values())]
    if alone:
        faults.append(f"is never more than 1 with the seeds {alone}")
    return faults
