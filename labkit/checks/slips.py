"""Causes by replay: a slip is named only if it gives all that the student's code gives.

A slip is a known wrong answer with a sentence. It gets the same arguments as the student's
function. If all results agree, its sentence is shown. If two slips agree, both are shown, so cases
and probes are chosen to separate slips. Slips of numbers are one function that gives the
wrong numbers by sentence; slips of tensors are a function each.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from math import isclose
from typing import Any

from labkit.bridge.student import StudentError
from labkit.checks.compare import joined, number_in
from labkit.checks.core import Unfinished, Wrong

WrongNumbers = Callable[..., Mapping[str, float]]


def is_number(got: Any, number: float) -> bool:
    """Whether an answer is this number; answers of other types are not."""
    try:
        return isclose(number_in(got, ""), number, rel_tol=1e-6)
    except (Wrong, Unfinished):
        return False


def slip_in_numbers(
    ask: Callable[..., Any], probes: Sequence[tuple], slips: WrongNumbers, relative: float = 1e-6
) -> str:
    """The sentences for a function that gives one number: the slips that agree on every probe."""
    try:
        got = [number_in(ask(*probe), "a probe") for probe in probes]
    except (StudentError, Wrong, Unfinished):
        return ""
    wrong = [slips(*probe) for probe in probes]
    return joined(
        sentence
        for sentence in wrong[0]
        if all(
            isclose(one, by[sentence], rel_tol=relative) for one, by in zip(got, wrong, strict=True)
        )
    )


@contextmanager
def cause_by_replay(
    ask: Callable[..., Any], probes: Sequence[tuple], *tables: WrongNumbers, relative: float = 1e-6
) -> Iterator[None]:
    """Add to an error inside the sentences of the slips that agree on every probe, if any does.

    Of several tables the first in which one agrees counts: simple slips come before rare ones.
    """
    try:
        yield
    except Wrong as wrong:
        fits = (slip_in_numbers(ask, probes, slips, relative) for slips in tables)
        why = next(filter(None, fits), wrong.why)
        raise Wrong(
            wrong.what, expected=wrong.expected, got=wrong.got, where=wrong.where, why=why
        ) from None
