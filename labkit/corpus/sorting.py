"""Sorting words by the alphabet or by their length, and saying how it was done."""

import random
from itertools import pairwise

from labkit.corpus import demands
from labkit.corpus.document import Document
from labkit.corpus.grammar import NUMBERS, numbered, phrases, say, series

WORDS = tuple(
    "anchor apple barrel basket bell boat bread bridge broom bucket button candle cart chain "
    "cheese clay clock cloud coat cup door dough drum engine feather fence ferry fire flour "
    "forest garden gate glass goat hammer harbour hat hay hedgehog honey horse island jug kettle "
    "key kite ladder lamp lantern leaf letter lock map market meadow milk mill mirror nail needle "
    "nest net notebook oar oven paper path pear pencil pepper plum pond pump rain ribbon river "
    "roof rope sack sail salt saw seed sheep shelf shepherd shoe snow soap spoon stone storm "
    "stove string table tea tower umbrella valley wagon wall wax well wheat wheel willow window "
    "wool".split()
)
OF_LENGTH = {length: tuple(word for word in WORDS if len(word) == length) for length in range(3, 9)}
THEN_WHY = "Then say why one of them comes before the next, and which two stand at the ends."
BY_ALPHABET = phrases("""
- Sort these {n} words by the alphabet.
- Put the following {n} words into alphabetical order.
- Please bring these {n} words into the order of the alphabet.
""")
BY_LENGTH = phrases("""
- Sort these {n} words by length, and begin with the shortest.
- Put the following {n} words into order from the shortest to the longest.
""")


def draw(rng: random.Random) -> Document:
    """An instruction to sort words, and the sorted list with a sentence or two about it."""
    if rng.random() < 0.6:
        return _by_alphabet(rng)
    return _by_length(rng)


def _by_alphabet(rng: random.Random) -> Document:
    words = rng.sample(WORDS, rng.randint(7, 10))
    ordered = sorted(words)
    first, second = rng.choice(list(pairwise(ordered)))
    lead = say(rng, BY_ALPHABET, {"n": NUMBERS[len(words)]}) + " " + THEN_WHY
    reason = (
        f'The word "{first}" comes before "{second}", because {_difference(first, second)}. The '
        f'first of all is "{ordered[0]}", and at the end of the list stands "{ordered[-1]}".'
    )
    return _sorted(lead, words, ordered, reason, "alphabet")


def _difference(first: str, second: str) -> str:
    """Why one word comes before another, where neither is the beginning of the other."""
    shared = next(i for i, (x, y) in enumerate(zip(first, second, strict=False)) if x != y)
    letters = f'"{first[shared]}" comes before "{second[shared]}" in the alphabet'
    if shared == 0:
        return letters
    return f'both begin with "{first[:shared]}", and then {letters}'


def _by_length(rng: random.Random) -> Document:
    ordered = [rng.choice(OF_LENGTH[length]) for length in sorted(OF_LENGTH)]
    words = rng.sample(ordered, len(ordered))
    n = NUMBERS[len(words)]
    lead = f"{say(rng, BY_LENGTH, {'n': n})} Then say how many letters each of them has."
    counts = [f'"{word}" has {NUMBERS[len(word)]}' for word in ordered[1:]]
    reason = f'The word "{ordered[0]}" has {NUMBERS[len(ordered[0])]} letters, {series(counts)}.'
    more = NUMBERS[len(ordered[-1]) - len(ordered[0])]
    reason += f" The last has {more} letters more than the first."
    return _sorted(lead, words, ordered, reason, "length")


def _sorted(lead: str, words: list[str], ordered: list[str], reason: str, order: str) -> Document:
    n = NUMBERS[len(words)]
    questions = {
        "alphabet": "Are the words in alphabetical order?",
        "length": "Do the words go from the shortest to the longest?",
    }
    return demands.document(
        key=f"sort:{order}:{','.join(ordered)}",
        lead=f"{lead}\n{', '.join(words)}",
        answer=f"{numbered(ordered)}\n{reason}",
        questions=[
            questions[order],
            f"Is there a numbered list of exactly {n} words?",
            "Is every given word in the list?",
            "Is the order explained after the list?",
        ],
        cue="Answer:",
    )
