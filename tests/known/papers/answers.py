"""Wrong and right answers to lab 8, made from its keys."""

import math
from collections.abc import Iterator
from typing import Any

from autograder.labs.papers.key import INSTRUCTOR, Key, keys
from labkit.checks.core import checks_of
from labkit.labs.papers.items import options_for

NAMES = {answer: tuple(c.name for c in checks) for answer, checks in checks_of("papers").items()}
# What fails with each check of letters: itself and the steps above it.
STEPS = {
    name: names[i:]
    for names in NAMES.values()
    for i, name in enumerate(names)
    if name.endswith("_right")
}


Wrong = tuple[str, tuple[str, ...], str]  # title, checks that fail, text
Right = tuple[str, str]  # title, text


def mutant(answer: str, title: str, caught_by: tuple[str, ...], value: Any) -> Wrong:
    """A cell that assigns this value."""
    return title, caught_by, f"{answer} = {value!r}"


def no_answers(answer: str, right: list[str], other: str) -> Iterator[Wrong]:
    """What cannot be read as the letters that are wanted."""
    everything = NAMES[answer]
    doubled = [right[0], *right[:-1]] if len(right) > 1 else right * 2
    for title, value in (
        ("no such letter", " ".join([*right[:-1], "Z"])),
        ("a letter twice", " ".join(doubled)),
        ("letters missing or too many", " ".join(right[:-1] or [right[0], other])),
        ("a number", 42),
        ("letters in a dict", {"answer": right}),
    ):
        yield mutant(answer, title, everything, value)


def wrong_choices(key: Key) -> Iterator[Wrong]:
    """Each wrong option in place of a right one, then as many as there are."""
    answer, right = key.item.id, key.letters(INSTRUCTOR)
    options = options_for(key.item, INSTRUCTOR)
    wrong = [letter for letter in options if letter not in right]
    names = NAMES[answer]
    for letter in wrong:
        chosen = " ".join([*right[:-1], letter])
        yield mutant(answer, options[letter], names[-1:], chosen)
    if len(names) > 1:
        n_wrong = min(len(wrong), len(right))
        chosen = " ".join([*right[n_wrong:], *wrong[:n_wrong]])
        caught_by = names if n_wrong > 1 else names[-1:]
        yield mutant(answer, "as many wrong ones as there are", caught_by, chosen)
    yield from no_answers(answer, right, wrong[0])


def wrong_orders(key: Key) -> Iterator[Wrong]:
    """The order cut at each place and put together the other way round, and reversed."""
    answer, right = key.item.id, key.letters(INSTRUCTOR)
    names = NAMES[answer]
    for i, name in enumerate(names, start=1):
        turned = [*right[i:], *right[:i]]
        yield mutant(answer, f"begun with step {i + 1}", (name,), " ".join(turned))
    yield mutant(answer, "last to first", names, " ".join(reversed(right)))
    yield mutant(answer, "a set", names, set(right))
    yield from no_answers(answer, right, right[0])


def wrong_numbers(key: Key) -> Iterator[Wrong]:
    """Every known slip, each number three times too large, and what is no number."""
    answer, right = f"{key.item.id}_numbers", key.numbers(INSTRUCTOR)
    names = {field: f"{answer}_{field}" for field in right}
    for slip, fields in key.wrong_numbers(INSTRUCTOR).items():
        caught_by = tuple(names[field] for field in fields if fields[field] != right[field])
        yield mutant(answer, slip, caught_by, {**right, **fields})
    for field in right:
        yield mutant(answer, f"{field} tripled", (names[field],), right | {field: 3 * right[field]})
        if isinstance(right[field], int):
            beside = right | {field: right[field] + 1}
            yield mutant(answer, f"{field} off by one", (names[field],), beside)
        yield mutant(answer, f"{field} as text", (names[field],), right | {field: "many"})
        source = f'{answer} = {right!r}\n{answer}["{field}"] = float("nan")'
        yield f"{field} not a number", (names[field],), source
    yield mutant(answer, "a list", tuple(names.values()), list(right.values()))


MUTANTS = {
    answer: list(make(key))
    for key in keys().values()
    for answer, make in (
        (key.item.id, wrong_orders if key.item.kind == "order" else wrong_choices),
        *([(f"{key.item.id}_numbers", wrong_numbers)] if key.item.numbers else []),
    )
}


def letters(key: Key) -> Iterator[Right]:
    """Letters in other dress; only where there is no order they may be a set."""
    answer, right = key.item.id, key.letters(INSTRUCTOR)
    small = [letter.lower() for letter in right]
    wide = [chr(ord(letter) + 0xFEE0) for letter in right]
    yield "small, with commas", f'{answer} = "{", ".join(small)}"'
    yield "a list", f"{answer} = {right!r}"
    yield "full-width", f'{answer} = "{"、".join(wide)}"'
    yield "in one word", f'{answer} = "{"".join(right)}"'
    if key.item.kind == "order":
        yield "arrows", f'{answer} = "{" -> ".join(right)}"'
    else:
        yield "a set", f"{answer} = {set(right)!r}"
        yield "in words", f'{answer} = "{" and ".join(reversed(right))}"'


def numbers(key: Key) -> Iterator[Right]:
    """Rounded, as floats, as texts, as arrays of one number."""
    answer, right = f"{key.item.id}_numbers", key.numbers(INSTRUCTOR)
    rounded = {
        name: value if isinstance(value, int) else float(f"{value:.3g}")
        for name, value in right.items()
    }
    floats = {name: float(value) for name, value in right.items()}
    yield "three digits", f"{answer} = {rounded!r}"
    yield "floats", f"{answer} = {floats!r}"
    computed = {name: math.nextafter(value, math.inf) for name, value in floats.items()}
    yield "floats with a rounding error", f"{answer} = {computed!r}"
    texts = {name: f"{value:,}" for name, value in right.items()}
    yield "texts", f"{answer} = {texts!r}"
    arrays = f"{{name: np.array([value]) for name, value in {right!r}.items()}}"
    yield "arrays", f"import numpy as np\n\n{answer} = {arrays}"


VARIANTS = {
    answer: dict(make(key))
    for key in keys().values()
    for answer, make in (
        (key.item.id, letters),
        *([(f"{key.item.id}_numbers", numbers)] if key.item.numbers else []),
    )
}
