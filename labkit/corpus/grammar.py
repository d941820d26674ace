"""The small machinery that joins phrases: wordings make a beat, beats make a text.

The phrases themselves stand in the files beside this one as plain blocks of text. A blank line
parts two beats. Each wording of a beat starts with "- ", or with "~ " if the beat may be left out;
lines indented by two go on with the wording above. `{slots}` are filled when the text is told:

    - {name} lost {a_thing}.
    - One day {a_thing} was gone, and {name} could not find it.

    ~ {he} looked for it everywhere.

A wording is exactly one sentence, so that whoever asks for six sentences can be given six.
"""

import random
from collections.abc import Mapping, Sequence
from typing import NamedTuple

NUMBERS = tuple("zero one two three four five six seven eight nine ten eleven twelve".split())


class Beat(NamedTuple):
    """One step of a text, in several wordings."""

    wordings: tuple[str, ...]
    optional: bool


def beats(block: str) -> tuple[Beat, ...]:
    """Read the beats of a block of text.

    Raises: ValueError for a beat whose wordings do not all start with "- ", or all with "~ ".
    """
    return tuple(_beat(part) for part in block.strip().split("\n\n"))


def phrases(block: str) -> tuple[str, ...]:
    """Read a block of text that is one beat, for its wordings."""
    return _beat(block.strip()).wordings


def _beat(part: str) -> Beat:
    lines = part.replace("\n  ", " ").split("\n")
    marks = {line[:2] for line in lines}
    if marks not in ({"- "}, {"~ "}):
        raise ValueError(f'each wording of a beat starts with "- " (or each with "~ "): {part!r}')
    return Beat(tuple(line[2:].strip() for line in lines), optional=marks == {"~ "})


def n_sentences(told: Sequence[Beat]) -> range:
    """The numbers of sentences that these beats can be told in."""
    return range(sum(not beat.optional for beat in told), len(told) + 1)


def tell(
    rng: random.Random, told: Sequence[Beat], slots: Mapping[str, str], n: int | None = None
) -> list[str]:
    """One sentence per beat, `n` in all; which of the optional beats are left out is chance.

    Raises: ValueError if the beats cannot be told in n sentences; KeyError for an unknown slot.
    """
    possible = n_sentences(told)
    n = rng.choice(possible) if n is None else n
    if n not in possible:
        raise ValueError(f"these beats make {possible[0]} to {possible[-1]} sentences, not {n}")
    optional = [i for i, beat in enumerate(told) if beat.optional]
    dropped = rng.sample(optional, len(told) - n)
    kept = (beat for i, beat in enumerate(told) if i not in dropped)
    return [fill(rng.choice(beat.wordings), slots) for beat in kept]


def fill(wording: str, slots: Mapping[str, str]) -> str:
    """A wording with its slots filled, and a capital at its start."""
    return capital(wording.format_map(slots))


def say(rng: random.Random, wordings: Sequence[str], slots: Mapping[str, str]) -> str:
    """One of the wordings, filled."""
    return fill(rng.choice(wordings), slots)


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def a(noun: str) -> str:
    """The noun with its indefinite article, which follows the sound: an oar, an honest potter."""
    is_vowel = noun[0] in "aeiou" or noun.startswith(("hour", "honest"))
    return f"an {noun}" if is_vowel and not noun.startswith(("use", "uni", "one ")) else f"a {noun}"


def the(phrase: str) -> str:
    """The phrase again, once it is known: "a blue ring" becomes "the blue ring"."""
    return "the " + phrase.split(" ", 1)[1]


def series(words: Sequence[str]) -> str:
    """ "bread, salt and honey" """
    return " and ".join((", ".join(words[:-1]), words[-1])) if len(words) > 1 else words[0]


def numbered(items: Sequence[str]) -> str:
    return "\n".join(f"{i}. {item}" for i, item in enumerate(items, start=1))


def paragraph(sentences: Sequence[str]) -> str:
    return " ".join(sentences)
