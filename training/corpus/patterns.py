"""Repeating patterns and arithmetic: text whose next token is often certain."""

from collections.abc import Callable
from random import Random

from training.corpus.document import Document

WORDS = (
    "red", "blue", "green", "sun", "moon", "star", "oak", "ash", "elm", "salt", "bread", "milk",
    "north", "south", "east", "west", "bell", "drum", "flute", "stone", "river", "hill", "one",
    "two", "three", "fox", "hare", "owl", "cup", "plate", "spoon",
)  # fmt: skip
THINGS = ("apples", "candles", "boats", "lamps", "books", "stones", "coins", "kites")


def draw(rng: Random) -> Document:
    """One pattern or sum."""
    (kind,) = rng.choices(list(KINDS), list(KINDS.values()))
    prompt, answer = kind(rng)
    return Document(source="pattern", key=prompt, prompt=prompt, answer=answer)


def repeat_words(rng: Random) -> tuple[str, str]:
    """A cycle of words, begun and continued."""
    cycle = rng.sample(WORDS, rng.randint(2, 5))
    shown = cycle * 2 + cycle[: rng.randrange(len(cycle))]
    n_more = rng.randint(12, 40)
    more = [cycle[i % len(cycle)] for i in range(len(shown), len(shown) + n_more)]
    return f"Continue the pattern with {n_more} more words: {' '.join(shown)}", f" {' '.join(more)}"


def repeat_lines(rng: Random) -> tuple[str, str]:
    """One line, written several times with a number before it."""
    line = f"{rng.choice(WORDS)} and {rng.choice(WORDS)} and {rng.choice(WORDS)}"
    n_lines = rng.randint(4, 12)
    lines = "".join(f"\n{i}. {line}" for i in range(1, n_lines + 1))
    return f'Write "{line}" {n_lines} times, one numbered line each.', lines


def count_on(rng: Random) -> tuple[str, str]:
    """Counting up or down in equal steps."""
    step, n_numbers = rng.randint(1, 12), rng.randint(8, 24)
    start = rng.randint(0, 60)
    numbers = [start + step * i for i in range(n_numbers)]
    if rng.random() < 0.3:
        numbers.reverse()
        asked = f"Count down from {numbers[0]} to {numbers[-1]} in steps of {step}."
    else:
        asked = f"Count from {numbers[0]} to {numbers[-1]} in steps of {step}."
    return asked, f"\n{', '.join(map(str, numbers))}"


def times_table(rng: Random) -> tuple[str, str]:
    """Some lines of a multiplication table."""
    factor, first = rng.randint(2, 19), rng.randint(1, 6)
    last = first + rng.randint(4, 8)
    lines = "".join(f"\n{i} x {factor} = {i * factor}" for i in range(first, last + 1))
    return f"Write the {factor} times table from {first} to {last}.", lines


def add_by_parts(rng: Random) -> tuple[str, str]:
    """A sum of two numbers, worked out by ones, tens and hundreds."""
    first, second = rng.randint(10, 999), rng.randint(10, 999)
    lines, carry, rest = [], 0, ""
    for place in ("ones", "tens", "hundreds"):
        a, b = (number // 10 ** len(rest) % 10 for number in (first, second))
        total = a + b + carry
        carried = f" + {carry}" if carry else ""
        carry, digit = divmod(total, 10)
        rest = f"{digit}{rest}"
        lines.append(f"\n{place}: {a} + {b}{carried} = {total}, write {digit}, carry {carry}")
    thing = rng.choice(THINGS)
    asked = rng.choice(
        (
            f"Add {first} and {second}.",
            f"What is {first} + {second}?",
            f"{first} {thing} are in the shed and {second} in the hall. How many are there in all?",
        )
    )
    return asked, f"{''.join(lines)}\nThe sum is {first + second}."


def spell_out(rng: Random) -> tuple[str, str]:
    """Words spelled letter by letter, forwards or backwards."""
    words = rng.sample(WORDS, rng.randint(2, 4))
    backwards = rng.random() < 0.5
    lines = (f"{word}: {' '.join(word[::-1] if backwards else word)}" for word in words)
    how = "backwards" if backwards else "letter by letter"
    return f"Spell {how}: {', '.join(words)}.", "\n" + "\n".join(lines)


def sort_numbers(rng: Random) -> tuple[str, str]:
    """A few numbers put in order, one taken after the other."""
    numbers = rng.sample(range(1, 100), rng.randint(4, 7))
    left, lines = list(numbers), []
    for number in sorted(numbers):
        left.remove(number)
        lines.append(f"\nsmallest {number}, left {' '.join(map(str, left)) or 'nothing'}")
    listed = " ".join(map(str, sorted(numbers)))
    return (
        f"Sort these numbers: {' '.join(map(str, numbers))}",
        f"{''.join(lines)}\nSorted: {listed}",
    )


KINDS: dict[Callable[[Random], tuple[str, str]], int] = {
    repeat_words: 3,
    repeat_lines: 2,
    count_on: 2,
    times_table: 1,
    add_by_parts: 1,
    spell_out: 1,
    sort_numbers: 1,
}
