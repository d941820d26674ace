"""What every lab may have: its experiments, figures, tables and players, found by their names."""

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any

from labkit import labs


def of_each_lab(module: str, name: str) -> Iterator[Any]:
    """The value of `name` in `labkit.labs.<lab>.<module>`, for each lab that has it.

    A lab needs no entry in a list: `labkit measure` finds EXPERIMENTS in its `experiments`, and
    `labkit figures` calls figures_of in its `figures`, `labkit tables` tables_of in its `numbered`.
    """
    for lab in iter_modules(labs.__path__, f"{labs.__name__}."):
        if lab.ispkg and find_spec(path := f"{lab.name}.{module}"):
            found = import_module(path)
            if hasattr(found, name):
                yield getattr(found, name)
