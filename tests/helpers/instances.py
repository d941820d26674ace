"""Which instances of a claim `make test` plays. `make test-rest` plays all others.

A claim about every lab, answer or page is shown on the instances that differ most from each other.
The others are marked slow.
"""

from collections.abc import Iterable
from functools import cache
from itertools import product

import pytest

from autograder.builder.source import Lab, read_labs
from autograder.labs import part_of

QUICK = ("04_kv_cache", "08_papers")  # between them they have every kind of cell


def slow_unless(is_shown: bool) -> tuple:
    """Marks of an instance, for `pytest.param`."""
    return () if is_shown else (pytest.mark.slow,)


def long_unless(is_shown: bool) -> tuple:
    """Marks of an instance that takes a minute or more; only `make test-long` plays it."""
    return () if is_shown else (pytest.mark.slow, pytest.mark.long)


def some_of(values: Iterable, *shown: object) -> list:
    """Parameters of a claim about these values, slow but for those shown."""
    return [pytest.param(value, marks=slow_unless(value in shown)) for value in values]


def each_nth(values: Iterable, n: int) -> list:
    """Parameters of a claim about these values, slow but for the first and each n-th after it."""
    return [pytest.param(each, marks=slow_unless(i % n == 0)) for i, each in enumerate(values)]


def lab_instances(n_shown: int | None = None) -> list:
    """Parameters of a claim about every lab: the labs, slow but for the first that are shown."""
    shown = shown_labs()[:n_shown]
    return [pytest.param(lab, id=lab.name, marks=slow_unless(lab in shown)) for lab in read_labs()]


def notebook_instances() -> list:
    """Parameters of a claim about every solved notebook, slow but for two quick ones."""
    shown = [lab for lab in read_labs() if lab.name in QUICK] or shown_labs()[:1]
    return [pytest.param(lab, id=lab.name, marks=slow_unless(lab in shown)) for lab in read_labs()]


def each_lab_but_the_first() -> list:
    """Parameters of a claim about hidden cases: those of the first lab hold whole configs."""
    return [
        pytest.param(lab, id=lab.name, marks=slow_unless(lab != read_labs()[0]))
        for lab in read_labs()
    ]


def crossed(ones: Iterable, others: Iterable, n_shown: int = 2) -> list:
    """Parameters of a claim about all pairs: shown are the two last, and then the two first."""
    ones, others = [*ones], [*others]
    shown = [(len(ones) - 1, len(others) - 1), (0, 0)][:n_shown]
    return [
        pytest.param(one, other, id=f"{one}-{other}", marks=slow_unless((i, j) in shown))
        for (i, one), (j, other) in product(enumerate(ones), enumerate(others))
    ]


@cache
def shown_labs() -> list[Lab]:
    """The first labs that have every kind of cell between them, one of a class and a key too."""
    shown: list[Lab] = []
    seen: set = set()
    for lab in read_labs():
        if not kinds_of(lab) <= seen:
            shown.append(lab)
            seen |= kinds_of(lab)
    return shown


def kinds_of(lab: Lab) -> set:
    """The kinds of a lab's cells, where a class is not a function; and whether it has a key."""
    kinds = {(cell.kind, cell.name[:1].isupper()) for cell in lab.cells}
    return kinds | {part_of(lab.topic, "key") is not None}
