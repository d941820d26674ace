"""Stories: an opening, the beats of an arc, an ending; and the instruction that asked for them."""

import random
from typing import NamedTuple

from labkit.corpus import demands
from labkit.corpus.arcs import ARCS, OPENINGS, Arc
from labkit.corpus.demands import Demand
from labkit.corpus.document import Document
from labkit.corpus.grammar import NUMBERS, n_sentences, paragraph, phrases, say, tell
from labkit.corpus.lexicon import cast

LEADS = phrases("""
- Write a story about {a_trade} {who}.
- Write a short story about {a_trait} {trade} {who}.
- Tell a story about {a_trade} named {name} {who}.
- Tell me a short story about {a_trade} {who}.
- Please write a story about {a_trait} {trade} named {name} {who}.
- I would like to read a story about {name}, {a_trade} {who}.
- Make up a calm story for the evening about {a_trade} {who}.
- Our village paper needs a story about {a_trade} {who}.
- My child asks for a story about {a_trade} {who}, so please tell one.
""")
COUNTED_LEADS = phrases("""
- Write a story of {n} sentences about {a_trade} {who}.
- Write a story of exactly {n} sentences about {a_trade} named {name} {who}.
- Tell a story in {n} sentences about {a_trait} {trade} {who}.
- In {n} sentences, tell the story of {a_trade} {who}.
- I need a story of {n} sentences about {name}, {a_trade} {who}.
""")


LONGEST = 10  # sentences, where a prompt asks for the story


class Story(NamedTuple):
    """A story told: its arc, its slots, its sentences."""

    arc: Arc
    slots: dict[str, str]
    sentences: list[str]


def story(
    rng: random.Random, *, asks: bool = False, n: int | None = None, arc: Arc | None = None
) -> Story:
    """Tell a story in n sentences, or in some number that its arc allows; `asks` at its end or not.

    Raises: ValueError for an n that the arc does not allow.
    """
    arc = arc or rng.choice(ARCS)
    slots = cast(rng, arc.things, arc.in_winter)
    if arc.subjects:
        slots.update(zip(arc.needs, rng.choice(arc.subjects), strict=True))
    opening = say(rng, OPENINGS, slots)
    middle = tell(rng, arc.beats, slots, n - 2 if n else None)
    ending = say(rng, arc.questions if asks else arc.endings, slots)
    return Story(arc, slots, [opening, *middle, ending])


def draw(rng: random.Random) -> Document:
    """An instruction to write a story, with a demand or two, and the story."""
    asks, is_counted = rng.random() < 0.25, rng.random() < 0.4
    arc = rng.choice(ARCS)
    n = rng.choice([n + 2 for n in n_sentences(arc.beats) if n + 2 <= LONGEST])
    told = story(rng, asks=asks, arc=arc, n=n)
    who = arc.who.format_map(told.slots)
    slots = {**told.slots, "who": who, "n": NUMBERS[n]}
    lead = say(rng, COUNTED_LEADS if is_counted else LEADS, slots)
    a_trade = slots["a_trade"]
    questions = [f"Is the text a story about {a_trade}?", f"Is it about {a_trade} {who}?"]
    if is_counted:
        questions.append(demands.sentence_count(rng, told.sentences).question)
    if slots["name"] in lead:
        questions.append(f"Is the {slots['trade']} called {slots['name']}?")
    mentioned = _mention(rng, told, lead) if rng.random() < 0.6 else None
    wishes = _demands(rng, told, asks, is_counted)[: 5 - len(questions) - bool(mentioned)]
    return demands.document(
        key=f"story:{slots['trade']} {who}" + (f":{mentioned.question}" if mentioned else ""),
        lead=lead,
        answer=paragraph(told.sentences),
        questions=questions,
        demands=[mentioned, *wishes] if mentioned else wishes,
        cue=rng.choice(("", "", "Story:")),
    )


def _mention(rng: random.Random, told: Story, lead: str) -> Demand | None:
    """That something is mentioned which the story has and the prompt does not name yet."""
    slots, text = told.slots, paragraph(told.sentences)
    articles = {"thing": "a", "f_trade": "a", "sky": "the", "village": "", "place": ""}
    possible = [
        (slots[slot], article)
        for slot, article in articles.items()
        if demands.names(text, slots[slot]) and slots[slot] not in lead
    ]
    return demands.mention(rng, *rng.choice(possible)) if possible else None


def _demands(rng: random.Random, told: Story, asks: bool, is_counted: bool) -> list[Demand]:
    """One or two demands on the form; that the story ends with a question comes first."""
    text = paragraph(told.sentences)
    forms = [
        demands.first_word(rng, text),
        demands.short_sentences(rng, told.sentences),
        demands.word_limit(rng, text),
        demands.without(rng, text),
    ]
    if not is_counted:
        forms += [demands.sentence_count(rng, told.sentences)] * 3
    chosen = [rng.choice(forms)]
    return [demands.last_question(rng), *chosen] if asks else chosen
