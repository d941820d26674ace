"""Instructions in plain words and their answers: stories, explanations, letters, lists and more.

Each kind has a file of its own, with its draw, and its phrases in `data/corpus`; `grammar` joins
them, `lexicon` has the people and things of the valleys, and `demands` what an instruction can
insist on.
"""

import random

from training.corpus import (
    descriptions,
    dialogues,
    explanations,
    letters,
    lists,
    rewriting,
    stories,
)
from training.corpus.chapters import chapter
from training.corpus.document import Document

__all__ = ["KINDS", "chapter", "draw"]

KINDS = {
    stories.draw: 30,
    explanations.draw: 20,
    letters.draw: 10,
    dialogues.draw: 10,
    lists.draw_plan: 8,
    lists.draw_tips: 6,
    descriptions.draw: 6,
    rewriting.draw: 4,
    stories.draw_summary: 4,
    lists.draw_sorted: 2,
}
"""The kinds of instruction, and how many of a hundred documents are of each."""


def draw(rng: random.Random) -> Document:
    """One document of source "instruction": its prompt, an answer that does what it says.

    Its facts: `requirements`, three to five questions on the answer, all to be answered with yes.
    """
    (kind,) = rng.choices(tuple(KINDS), tuple(KINDS.values()))
    return kind(rng)
