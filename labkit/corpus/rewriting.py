"""Rewriting a short passage about someone's day: in the past, the future, as questions, as "I"."""

import random
from collections.abc import Callable
from typing import NamedTuple

from labkit.corpus import demands
from labkit.corpus.document import Document
from labkit.corpus.grammar import capital, paragraph, phrases, say
from labkit.corpus.lexicon import cast


class Deed(NamedTuple):
    """Something that a person does, in three forms of its verb and with what follows it."""

    now: str
    past: str
    base: str
    rest: str


def _deeds(table: str) -> tuple[Deed, ...]:
    return tuple(
        Deed(*(part.strip() for part in line.split("|"))) for line in table.strip().split("\n")
    )


DEEDS = {
    "in the morning": _deeds("""
opens | opened | open | the shutters
sweeps | swept | sweep | the yard
feeds | fed | feed | the hens
lights | lit | light | the stove
fetches | fetched | fetch | water from the well
makes | made | make | a pot of tea
takes | took | take | bread from the shelf
"""),
    "before noon": _deeds("""
works | worked | work | without a break
carries | carried | carry | baskets to the market
sharpens | sharpened | sharpen | the tools
writes | wrote | write | two letters
mends | mended | mend | a broken gate
sells | sold | sell | a few things at the door
helps | helped | help | the neighbours
"""),
    "after lunch": _deeds("""
sleeps | slept | sleep | for half an hour
drives | drove | drive | the cart to the ferry
speaks | spoke | speak | with the customers
picks | picked | pick | pears behind the house
brings | brought | bring | a cake to the school
draws | drew | draw | a plan on old paper
paints | painted | paint | the fence
"""),
    "in the evening": _deeds("""
eats | ate | eat | soup at the long table
reads | read | read | an old book
sings | sang | sing | with the children
goes | went | go | down to the river
sits | sat | sit | on the bench by the door
counts | counted | count | the coins in the drawer
tells | told | tell | a story to the children
"""),
}


class Mode(NamedTuple):
    """A way of rewriting: what is asked for, and how a sentence of two deeds comes out.

    `sentence(subject, first, second, when)` takes the subject as the passage has it.
    """

    name: str
    leads: tuple[str, ...]
    question: str
    sentence: Callable[[str, Deed, Deed, str], str]


def _now(subject: str, first: Deed, second: Deed, when: str) -> str:
    return f"{when}, {subject} {first.now} {first.rest} and {second.now} {second.rest}."


def _past(subject: str, first: Deed, second: Deed, when: str) -> str:
    return f"{when}, {subject} {first.past} {first.rest} and {second.past} {second.rest}."


def _future(subject: str, first: Deed, second: Deed, when: str) -> str:
    return f"{when}, {subject} will {first.base} {first.rest} and {second.base} {second.rest}."


def _asked(subject: str, first: Deed, second: Deed, when: str) -> str:
    return f"Does {subject} {first.base} {first.rest} and {second.base} {second.rest} {when}?"


def _as_me(subject: str, first: Deed, second: Deed, when: str) -> str:
    return f"{when}, I {first.base} {first.rest} and {second.base} {second.rest}."


MODES = (
    Mode(
        "past",
        phrases("""
- Rewrite the passage in the past tense.
- Put every sentence of this passage into the past tense.
- Tell the same thing as if it had happened long ago, in the past tense.
"""),
        "Is every verb in the past tense?",
        _past,
    ),
    Mode(
        "future",
        phrases("""
- Rewrite the passage in the future, with the word "will".
- Say the same about the days to come, and use "will" in each sentence.
"""),
        'Does every sentence use the word "will"?',
        _future,
    ),
    Mode(
        "question",
        phrases("""
- Turn every sentence of this passage into a question.
- Rewrite each sentence as a question that one can answer with yes or no.
"""),
        "Is every sentence a question?",
        _asked,
    ),
    Mode(
        "first person",
        phrases("""
- Rewrite the passage in the first person, as {name} would tell it.
- Let {name} tell the same, with "I" in each sentence.
"""),
        'Does every sentence speak of "I"?',
        _as_me,
    ),
)

KEEP = phrases("""
- Keep the four sentences and their order.
- Write four sentences again, in the same order.
- Leave nothing out, and keep to four sentences.
""")


def draw(rng: random.Random) -> Document:
    """An instruction with a passage of four sentences, and the passage rewritten."""
    slots, mode = cast(rng), rng.choice(MODES)
    day = [(when, *rng.sample(deeds, 2)) for when, deeds in DEEDS.items()]
    subjects = [f"{slots['name']} the {slots['trade']}", *[slots["he"]] * (len(day) - 1)]

    def told(sentence: Callable[[str, Deed, Deed, str], str]) -> str:
        sentences = [
            capital(sentence(subject, first, second, when))
            for subject, (when, first, second) in zip(subjects, day, strict=True)
        ]
        return paragraph(sentences)

    verbs = ",".join(deed.base for _, *pair in day for deed in pair)
    lead, keep = say(rng, mode.leads, slots), rng.choice(KEEP)
    return demands.document(
        key=f"rewrite:{mode.name}:{verbs}",
        lead=f"{lead} {keep}\n{told(_now)}",
        answer=told(mode.sentence),
        questions=[
            mode.question,
            "Does the text have exactly four sentences?",
            "Are all the deeds still there, in their order?",
        ],
        cue=rng.choice(("Answer:", "Rewritten:")),
    )
