"""Descriptions of things: what one is made of, how it feels, what it does, whose it is."""

import random

from labkit.corpus import demands
from labkit.corpus.document import Document
from labkit.corpus.grammar import NUMBERS, beats, paragraph, phrases, say, tell
from labkit.corpus.lexicon import cast

LEADS = phrases("""
- Describe {a_thing} with {mark} in {n} sentences.
- Write {n} sentences that describe {a_thing} with {mark}.
- Describe, in exactly {n} sentences, {a_thing} that belongs to {a_trade}.
- For a small museum, describe {a_thing} with {mark} in {n} sentences.
- In {n} sentences, describe {a_thing} that {a_trade} has owned for years.
- Describe {a_thing} so well that one can see it. Use {n} sentences.
""")

THING = beats("""
- The {thing} belongs to {name}, {a_trade} in {village}.
- {name}, {a_trade} in {village}, owns {a_thing} that everybody knows.
- In {village} there is {a_thing} that has belonged to {name}, {a_trade}, for many years.

- It is made of {material}, and it has {mark}.
- One sees at once that it is made of {material}, and then one notices that it has {mark}.
- {mark} tells it apart from every other {thing} of {material}.

~ It {feel}.
~ Whoever takes hold of it notices that it {feel}.

- It {use}, and it has done so for as long as {name} can remember.
- Every day it {use}, and nobody has ever asked for more.

~ When it is not needed, it rests {at_shop}, close to the window.
~ {he} keeps it {at_shop}, where the light falls on it in the morning.

~ Once, when {sky_came}, it was left {at_place} for a whole night, and it came to no harm.
~ It has been lost and found again {at_place}, and it has travelled through {sky} and sunshine.

~ {f_name}, the {f_trade}, made it long ago, and would not take money for it.
~ It was a gift from {f_name}, {f_a_trade} with clever hands.

- It is not worth much at the market, but {he} would not give it away.
- A new one would look better, but it would not have a story.
- Most people would walk past it, but {he} calls it the best {thing} in the valley.
""")


def draw(rng: random.Random) -> Document:
    """An instruction to describe a thing in n sentences, and the description."""
    slots = cast(rng)
    sentences = tell(rng, THING, slots)
    text, n = paragraph(sentences), NUMBERS[len(sentences)]
    lead = say(rng, LEADS, {**slots, "n": n})
    mentions = {"material": "", "village": "", "f_trade": "a", "mark": "", "sky": "the"}
    possible = [
        (slots[slot], article)
        for slot, article in mentions.items()
        if demands.names(text, slots[slot]) and slots[slot] not in lead
    ]
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
