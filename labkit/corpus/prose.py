"""Instructions in plain words and their answers: stories, explanations, letters, lists and more.

Each kind has a file of its own, with its phrases and its `draw`; `grammar` joins the phrases,
`lexicon` has the people and things of the valleys, and `demands` what an instruction can insist on.
"""

import random
from itertools import accumulate

from labkit.corpus import (
    descriptions,
    dialogues,
    explanations,
    letters,
    plans,
    rewriting,
    sorting,
    stories,
    summaries,
    tips,
)
from labkit.corpus.chapters import chapter
from labkit.corpus.document import Document

__all__ = ["KINDS", "chapter", "draw"]

KINDS = {
    stories: 30,
    explanations: 20,
    letters: 10,
    dialogues: 10,
    plans: 8,
    tips: 6,
    descriptions: 6,
    rewriting: 4,
    summaries: 4,
    sorting: 2,
}
"""The kinds of instruction, and how many of a hundred documents are of each."""

_MODULES, _SHARES = tuple(KINDS), tuple(accumulate(KINDS.values()))


def draw(rng: random.Random) -> Document:
    """One document of source "instruction": its prompt, an answer that does what it says.

    Its facts: `requirements`, three to five questions on the answer, all to be answered with yes.
    """
    (kind,) = rng.choices(_MODULES, cum_weights=_SHARES)
    return kind.draw(rng)
