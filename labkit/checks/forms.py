"""What the checks of lab 2 share: lists of numbers, whichever type holds them."""

from typing import Any

import numpy
import torch

from labkit.checks.compare import refuse_blank, show
from labkit.checks.core import Wrong

MOST_NUMBERS = 10_000


def numbers_in(got: Any, what: str, n: int | None = None) -> list[float]:
    """The numbers in a list, tuple or flat array; `n` of them if it is given."""
    refuse_blank(got)
    wanted = "a list of numbers" if n is None else f"{n} numbers"
    if isinstance(got, numpy.ndarray | torch.Tensor) and len(got.shape) == 1:
        got = got[:MOST_NUMBERS].tolist()
    if not isinstance(got, list | tuple) or (n is not None and len(got) != n):
        raise Wrong(what, expected=wanted, got=show(got))
    return [_number(each, what) for each in got[:MOST_NUMBERS]]


def _number(got: Any, what: str) -> float:
    from labkit.checks.answers import finite_number_in

    return float(finite_number_in(got, what))
