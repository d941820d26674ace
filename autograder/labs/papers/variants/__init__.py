"""Right answers to lab 8, written as students write them."""

from collections.abc import Iterator

from autograder.labs.papers.key import INSTRUCTOR, Key, keys
from autograder.labs.variants import Variant


def letters(key: Key) -> Iterator[Variant]:
    """Letters in other dress; only where there is no order they may be a set."""
    answer, right = key.item.id, key.letters(INSTRUCTOR)
    small = [letter.lower() for letter in right]
    wide = [chr(ord(letter) + 0xFEE0) for letter in right]
    yield Variant(answer, "small, with commas", f'{answer} = "{", ".join(small)}"')
    yield Variant(answer, "a list", f"{answer} = {right!r}")
    yield Variant(answer, "full-width", f'{answer} = "{"、".join(wide)}"')
    yield Variant(answer, "in one word", f'{answer} = "{"".join(right)}"')
    if key.item.kind == "order":
        yield Variant(answer, "arrows", f'{answer} = "{" -> ".join(right)}"')
    else:
        yield Variant(answer, "a set", f"{answer} = {set(right)!r}")
        yield Variant(answer, "in words", f'{answer} = "{" and ".join(reversed(right))}"')
    twice = {"written": " ".join(right), "clicked": " ".join(right)}
    yield Variant(answer, "asked for again", f"{answer} = {twice['clicked']!r}")


def numbers(key: Key) -> Iterator[Variant]:
    """Rounded, as floats, as texts, as arrays of one number."""
    answer, right = f"{key.item.id}_numbers", key.numbers(INSTRUCTOR)
    rounded = {
        name: value if isinstance(value, int) else float(f"{value:.3g}")
        for name, value in right.items()
    }
    floats = {name: float(value) for name, value in right.items()}
    yield Variant(answer, "three digits", f"{answer} = {rounded!r}")
    yield Variant(answer, "floats", f"{answer} = {floats!r}")
    texts = {name: f"{value:,}" for name, value in right.items()}
    yield Variant(answer, "texts", f"{answer} = {texts!r}")
    arrays = f"{{name: np.array([value]) for name, value in {right!r}.items()}}"
    yield Variant(answer, "arrays", f"import numpy as np\n\n{answer} = {arrays}")


VARIANTS = [
    variant
    for key in keys().values()
    for make in ([letters, numbers] if key.item.numbers else [letters])
    for variant in make(key)
]
