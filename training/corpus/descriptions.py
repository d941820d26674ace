"""Descriptions of things: what one is made of, how it feels, what it does, whose it is."""

import random

from training.corpus import demands
from training.corpus.document import Document
from training.corpus.grammar import NUMBERS, paragraph, say, tell
from training.corpus.lexicon import cast
from training.corpus.texts import beats, phrases, read

_TEXT = read("descriptions")
LEADS, THING = phrases(_TEXT["leads"]), beats(_TEXT["beats"])


def draw(rng: random.Random) -> Document:
    """An instruction to describe a thing in n sentences, and the description."""
    slots = cast(rng)
    sentences = tell(rng, THING, slots)
    text, n = paragraph(sentences), NUMBERS[len(sentences)]
    lead = say(rng, LEADS, {**slots, "n": n})
    articles = {"material": "", "village": "", "f_trade": "a", "mark": "", "sky": "the"}
    possible = demands.mentionable(text, lead, slots, articles)
    mentioned = demands.mention(rng, *rng.choice(possible))
    form = rng.choice(
        (
            demands.word_limit(rng, text),
            demands.short_sentences(rng, sentences),
            demands.first_word(rng, text),
            demands.without(rng, text),
        )
    )
    which = next((slots[slot] for slot in ("mark", "trade") if slots[slot] in lead), "any")
    return demands.document(
        key=f"describe:{slots['thing']}:{which}:{n}:{mentioned.question}",
        lead=lead,
        answer=text,
        questions=[
            f"Does the text describe {slots['a_thing']}?",
            f"Does the text have exactly {n} sentences?",
        ],
        demands=[mentioned, form] if rng.random() < 0.6 else [mentioned],
    )
