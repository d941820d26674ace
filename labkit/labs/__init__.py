"""What ships beside each lab's answers: checks, figures, widget, experiments; a folder per lab."""

from collections.abc import Iterator
from importlib import import_module
from importlib.util import find_spec
from pkgutil import iter_modules
from typing import Any


def of_each_lab(module: str, name: str) -> Iterator[Any]:
    """What `labkit.labs.<lab>.<module>` calls `name`, of each lab that has it, by the labs' names.

    A lab needs no entry in a list: EXPERIMENTS in its `experiments` are what `labkit measure`
    finds, and figures_of in its `figures` is what `labkit figures` calls.
    """
    for lab in iter_modules(__path__, f"{__name__}."):
        if lab.ispkg and find_spec(path := f"{lab.name}.{module}"):
            found = import_module(path)
            if hasattr(found, name):
                yield getattr(found, name)
