"""Comparisons that say what differs, and where; each raises `Wrong` or returns nothing.

A right answer may be an int, a float, a `Fraction`, a `Decimal`, a NumPy scalar or a tensor with
one element; what counts is the number. A bool is not a number here, and NaN equals nothing.
"""

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from labkit.bridge.student import Proxy
from labkit.bridge.wire import is_array
from labkit.checks.core import Unfinished, Wrong

LARGEST_NUMBER = 10**100
NAN = "NaN comes from 0 / 0, or from infinity minus infinity."
MOST_NAMED = 8  # values that are still open
LONGEST = 120  # characters of a value that is shown


def number_in(got: Any, what: str) -> float | int:
    """The plain number in an answer. Raises Wrong if there is none, Unfinished for `...`."""
    refuse_blank(got)
    if is_array(got) and math.prod(got.shape) == 1:
        got = got.item()
    if isinstance(got, bool) or not isinstance(got, int | float):
        raise Wrong(what, expected="one number", got=show(got), why=why_none(got))
    if isinstance(got, int) and abs(got) > LARGEST_NUMBER:  # no float could be compared with it
        raise Wrong(f"{what} has too many digits", got=show(got), expected="fewer digits")
    return got


def finite_number_in(got: Any, what: str) -> float:
    """The number in an answer, neither infinite nor NaN."""
    number = number_in(got, what)
    if not math.isfinite(number):
        raise Wrong(what, expected="a finite number", got=show(number))
    return number


def truth_in(got: Any, what: str) -> bool:
    """The truth value in an answer. Raises Wrong if there is none."""
    if is_array(got) and math.prod(got.shape) == 1:
        got = got.item()
    if not isinstance(got, bool):
        raise Wrong(what, expected="True or False", got=show(got))
    return got


def expect_number(
    got: Any,
    expected: float,
    what: str,
    *,
    relative: float = 1e-9,
    absolute: float = 0.0,
    factors: Mapping[float, str] | None = None,
    slips: Mapping[float, str] | None = None,
    why: str = "",
) -> None:
    """The answer is `expected` within the tolerance.

    factors: sentences for answers that are off by exactly that factor, the misconception's mark.
    slips: sentences for the numbers that known mistakes give.
    """
    number = number_in(got, what)
    if math.isclose(number, expected, rel_tol=relative, abs_tol=absolute):
        return
    off = {expected * factor: sentence for factor, sentence in (factors or {}).items()}
    causes = (slips_named(number, off, max(relative, 1e-6)), slips_named(number, slips or {}))
    why = joined(filter(None, causes)) or why
    if math.isnan(number):
        why = why or NAN
    raise Wrong(what, **difference_of(expected, number), why=why)


def slips_named(
    got: float, slips: Mapping[float, str], relative: float = 1e-6, why: str = ""
) -> str:
    """The sentences of the slips whose number is near; `why` if there is none."""
    near = (text for slip, text in slips.items() if math.isclose(got, slip, rel_tol=relative))
    return joined(near) or why


def joined(sentences: Iterable[str]) -> str:
    """The sentences as one text, with "Or:" between them."""
    return " Or: ".join(dict.fromkeys(sentences))


def expect_equal(got: Any, expected: Any, what: str, *, why: str = "") -> None:
    """The answer equals `expected`: counts, names, and lists or tuples of them."""
    refuse_blank(got)
    if _plain(got) != _plain(expected):
        raise Wrong(what, **_first_difference(expected, got), why=why)


def list_in(got: Any, what: str, expected: str, n: int | None = None) -> list:
    """The parts of a list, tuple or array; `n` of them if it is given. expected: in words."""
    refuse_blank(got)
    parts = got.tolist() if hasattr(got, "tolist") else got
    if not isinstance(parts, list | tuple) or n not in (None, len(parts)):
        raise Wrong(what, expected=expected, got=show(got), why=why_none(got))
    return list(parts)


def expect_mapping(got: Any, keys: tuple[object, ...], what: str) -> dict:
    """The answer is a dict with these keys, every one filled in; returns it."""
    refuse_blank(got)
    names = ", ".join(map(str, keys))
    claim, expected = f"{what} should be a dict with the keys {names}", "those keys"
    if not isinstance(got, dict):
        raise Wrong(claim, expected=expected, got=show(got))
    if missing := [key for key in keys if key not in got]:
        raise Wrong(claim, expected=expected, got=f"none called {missing[0]!r}")
    return got


def why_none(got: Any) -> str:
    """The message about None: most likely, the result was printed and not returned."""
    return "A function without `return` gives None, also if it prints its result." * (got is None)


def refuse_blank(answer: Any, whole: Any = None) -> None:
    """Raise Unfinished if the answer still has a `...` in it, Wrong if it is no plain value.

    whole: the value that the answer is part of; all its open places are named.
    """
    values = [value for _, value in _leaves(answer)]
    if any(map(_is_blank, values)):
        leaves = [*_leaves(answer if whole is None else whole)]
        blank = [place for place, value in leaves if _is_blank(value)]
        raise Unfinished(_what_is_open(blank, len(leaves)))
    if objects := [one for one in values if isinstance(one, Proxy)]:
        got = f"an object of type {objects[0]._kind}"
        raise Wrong("the answer should be a plain value", expected="a value", got=got)


def _is_blank(value: Any) -> bool:
    return isinstance(value, Proxy) and value._kind == "ellipsis"


def _leaves(answer: Any, place: str = "") -> Iterator[tuple[str, Any]]:
    """The values in an answer that are no containers, and where: "training: weights"."""
    if isinstance(answer, dict):
        parts = answer.items()
    elif isinstance(answer, list | tuple):
        parts = ((f"item {i + 1}", value) for i, value in enumerate(answer))
    else:
        yield place, answer
        return
    for name, value in parts:
        yield from _leaves(value, f"{place}: {name}" if place else f"{name}")


def _what_is_open(blank: Sequence[str], n_values: int) -> str:
    if n_values == 1 and not blank[0]:
        return "The answer is still `...`. Write your value in its place."
    shown = [f"`{place}`" for place in blank[:MOST_NAMED]]
    more = [f"{len(blank) - MOST_NAMED} more"] * (len(blank) > MOST_NAMED)
    filled = n_values - len(blank)
    return f"{filled} of {n_values} values are filled in. Still open: {', '.join(shown + more)}."


def difference_of(expected: Any, got: Any) -> dict[str, str]:
    """Both values as `show` writes them, with more digits or their types if they look the same."""
    texts = show(expected), show(got)
    if texts[0] == texts[1]:
        plain = _listed(expected), _listed(got)
        texts = tuple(f"{value!r}"[:LONGEST] for value in plain)
        if texts[0] == texts[1]:
            texts = tuple(
                f"{text} ({type(value).__name__})" for text, value in zip(texts, plain, strict=True)
            )
        if texts[0] == texts[1]:
            texts = "a number", texts[1]
    return {"expected": texts[0], "got": texts[1]}


def _first_difference(expected: Any, got: Any) -> dict[str, str]:
    """What differs: short lists as a whole, of long ones the first item that differs."""
    wanted, found, index = _listed(expected), _listed(got), []
    while (
        isinstance(wanted, list | tuple)
        and isinstance(found, list | tuple)
        and len(wanted) == len(found)
        and (show(wanted) + show(found)).count("...")
    ):
        pairs = zip(wanted, found, strict=True)
        place = next((i for i, (a, b) in enumerate(pairs) if _plain(a) != _plain(b)), None)
        if place is None:
            break
        index.append(place)
        wanted, found = wanted[place], found[place]
    where = {"where": f"index {index}"} if index else {}
    return {**difference_of(wanted, found), **where}


def _listed(value: Any) -> Any:
    """A tensor or array as a number or as lists."""
    return value.tolist() if is_array(value) else value


def show(value: Any) -> str:
    """A value in at most LONGEST characters, as a student would write it."""
    if isinstance(value, Proxy):
        return repr(value)
    if is_array(value) and math.prod(value.shape) == 1:
        value = value.item()
    if is_array(value):
        return f"a tensor of shape {tuple(value.shape)}"
    if isinstance(value, bool):
        return str(value)
    if isinstance(value, int) and abs(value) < 10**30:
        return f"{value:,}"
    if isinstance(value, float):
        is_whole = math.isfinite(value) and value == int(value) and 1e4 <= abs(value) < 1e18
        return f"{int(value):,}" if is_whole else f"{value:.6g}"
    try:
        text = repr(value)
    except ValueError:  # Python refuses to write out an integer of more than 4,300 digits
        text = "a number of thousands of digits"
    return text if len(text) <= LONGEST else text[: LONGEST - 3] + "..."


def _plain(value: Any) -> Any:
    """The same content, with arrays, tensors and tuples as plain lists."""
    if is_array(value):
        return value.tolist()
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, bool):
        return ("bool", value)  # True is not 1 here
    return value
