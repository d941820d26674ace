"""Wrong values that cannot be told from the right one at a glance: of the same form, or near it."""

import ast
from collections.abc import Sequence
from random import Random

MOST = 10**15  # a larger number is no result that a person works out


def alike(right: str, others: Sequence[str]) -> list[str]:
    """The values among others that have the form of the right one; none for a value too large."""
    form = _form(_value(right))
    return [each for each in others if form and _form(_value(each)) == form]


def crossed(right: str, wrong: Sequence[str]) -> list[str]:
    """Wrong values such that no part of the right one tells it: each stands in another one, too.

    As they are, if that holds of the first three, or if all differ from it in the same part alone.
    """
    own, others = _parts(right), [each for each in map(_parts, wrong) if each]
    if len(others) > 2 and all(part in rest for part, *rest in zip(own, *others[:3], strict=True)):
        return [*wrong]
    places = [[i for i, one in enumerate(own) if one != each[i]] for each in others]
    for each, differ in zip(others, places, strict=True):
        for other, more in zip(others, places, strict=True):
            i, rest = differ[:1], {*differ[1:], *more} - {*differ[:1]}
            if i and rest:
                both = [*each]
                for k in rest if not differ[1:] else ():
                    both[k] = other[k]
                mixed = [
                    [one if (k in i) is is_in else both[k] for k, one in enumerate(own)]
                    for is_in in (True, False)
                ]
                return [_joined(right, parts) for parts in (both, *mixed)]
    return [*wrong]


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


def _parts(text: str) -> list[str]:
    """The items of a list or tuple, as they are written; none for one item."""
    node = ast.parse(text, mode="eval").body
    items = node.elts if isinstance(node, ast.List | ast.Tuple) else []
    return [ast.get_source_segment(text, each) or "" for each in items] if len(items) > 1 else []


def _joined(like: str, parts: Sequence[str]) -> str:
    return f"{like[0]}{', '.join(parts)}{like[-1]}"
