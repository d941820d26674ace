"""Wrong values that cannot be told from the right one at a glance: of the same form, or near it."""

import ast
from collections.abc import Sequence
from random import Random

MOST = 10**15  # a larger number is no result that a person works out


def alike(right: str, others: Sequence[str]) -> list[str]:
    """The values among others that have the form of the right one; none for a value too large."""
    form = _form(_value(right))
    return [each for each in others if form and _form(_value(each)) == form]


def neighbours(right: str, rng: Random) -> list[str]:
    """Numbers that a slip would give in place of a number: one off, or a factor of 2."""
    value = _value(right)
    if type(value) not in (int, float) or not _form(value):
        return []
    half = value // 2 if isinstance(value, int) else value / 2
    found = [f"{each:_}" if abs(each) >= 10_000 and isinstance(each, int) else f"{each:.6g}"
             for each in (value - 1, value + 1, 2 * value, half)]  # fmt: skip
    rng.shuffle(found)
    return found


def _value(text: str) -> object:
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None


def _form(value: object) -> str:
    """Numbers are alike, and lists of as many items; "" for what has no form to compare."""
    if isinstance(value, bool) or value is None or isinstance(value, str):
        return type(value).__name__ if value is not None else ""
    if isinstance(value, int | float):
        return "number" if abs(value) < MOST else ""
    if isinstance(value, list | tuple):
        inside = [_form(each) for each in value]
        return f"{type(value).__name__} {inside}" if all(inside) else ""
    return ""
