"""The small machinery that joins phrases: wordings make a beat, beats make a text.

The phrases themselves stand in `data/corpus`; `texts` reads them.
"""

import random
from collections.abc import Mapping, Sequence

from training.corpus.texts import Beat

NUMBERS = tuple("zero one two three four five six seven eight nine ten eleven twelve".split())


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
