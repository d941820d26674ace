"""What never ships: hidden cases, keys and picture data, a folder for each lab.

The grader finds the parts of a lab by its topic. Each lab has `cases`. It may have `key` (answers
of items) and `picture` (what its notebook opens with).
"""

import importlib
import importlib.util
import random
from functools import lru_cache
from pathlib import Path
from pkgutil import iter_modules
from types import ModuleType

from autograder.labs.parts import Parts
from labkit.checks.core import tables_of

HERE = Path(__file__).resolve().parent


def part_of(topic: str, name: str) -> ModuleType | None:
    """A part of a lab, such as its key; None if the lab has none."""
    path = HERE / topic / name
    if not topic or not (path.with_suffix(".py").is_file() or (path / "__init__.py").is_file()):
        return None
    return importlib.import_module(f"autograder.labs.{topic}.{name}")


def right_of(topic: str) -> ModuleType | None:
    """The module of a lab's right functions; None if its answers are no code."""
    name = f"labkit.{topic}"
    return importlib.import_module(name) if importlib.util.find_spec(name) else None


def parts_of(topic: str) -> Parts | None:
    """The same, for the student's code to call: they refuse arguments that are too large."""
    right = right_of(topic)
    return right and Parts(right)


@lru_cache(maxsize=8)  # each submission has a seed of its own
def cases_of(topic: str, seed: int | str) -> dict[str, list]:
    """The hidden cases of a lab by exercise; the same seed gives the same cases.

    They are more of what the notebook plays in the open, fresh for every seed. The package `cases`
    and each of its modules may have functions `hidden_cases(rng)` and, for tables of checks,
    `hidden_calls(rng)`: the reference answer gives their results. Each gets a fresh `rng`.
    """
    package = importlib.import_module(f"autograder.labs.{topic}.cases")
    names = [each.name for each in iter_modules(package.__path__, f"{package.__name__}.")]
    found: dict[str, list] = {}
    for module in (package, *map(importlib.import_module, names)):
        if make := vars(module).get("hidden_cases"):
            found |= make(random.Random(f"{topic}:{seed}"))
        if make := vars(module).get("hidden_calls"):
            tables, right = tables_of(topic), right_of(topic)
            calls = make(random.Random(f"{topic}:{seed}"))
            found |= {
                name: tables[name].hidden(calls[name], getattr(right, name)) for name in calls
            }
    return found
