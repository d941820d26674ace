"""Mutants made from the right answer by more than one change."""

from collections.abc import Callable
from inspect import getsource

from autograder.labs.mutants import Mutant


def edited(function: Callable, title: str, *caught_by: str, edits: dict[str, str]) -> Mutant:
    """The reference with each of these pieces replaced. Raises: ValueError if one is not unique."""
    text = getsource(function)
    for old, new in edits.items():
        if text.count(old) != 1:
            raise ValueError(f"mutant {title!r}: {old!r} stands {text.count(old)} times, not once")
        text = text.replace(old, new)
    return Mutant(function.__name__, title, caught_by, source=text)


def written_out(new_maximum: str, rescaled: str, weights: str, held: str) -> str:
    """The step of `online_softmax` in place; held: the factor of the output so far."""
    return f"""\
new_maximum = {new_maximum}
            rescaled = {rescaled}
            weights = {weights}
            output = ({held})[:, None] * output + weights @ values
            total = rescaled * total + weights.sum(-1)
            maximum = new_maximum"""


BY_ROW = "torch.maximum(maximum, scores.amax(-1))"
RESCALED = "(maximum - new_maximum).exp()"
WEIGHTS = "(scores - new_maximum[:, None]).exp()"
