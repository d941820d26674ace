"""Summaries: a short passage, which is a story without its asides, and its gist in one sentence."""

import random

from labkit.corpus import demands
from labkit.corpus.arcs import ARCS
from labkit.corpus.document import Document
from labkit.corpus.grammar import fill, n_sentences, paragraph, phrases, say
from labkit.corpus.stories import story

LEADS = phrases("""
- Summarise the following story in one sentence.
- Read the story and say in a single sentence what happens.
- What happens in this story? Tell it in one sentence.
- Give the gist of this story in one sentence.
""")
NOTES = phrases("""
- Then list the people, the place and the weather, each on a line of its own.
- Below it, note the people, the place and the weather, one to a line.
- After that, give three short lines on people, place and weather.
""")


def draw(rng: random.Random) -> Document:
    """An instruction with a story of about seven sentences, and its gist with three notes."""
    arc = rng.choice(ARCS)
    told = story(rng, arc=arc, n=n_sentences(arc.beats)[0] + 2)
    slots, gist = told.slots, fill(arc.gist, told.slots)
    passage = paragraph(told.sentences)
    people = [f"{slots['name']}, {slots['a_trade']}"]
    if slots["f_name"] in passage:
        people.append(f"{slots['f_name']}, {slots['f_a_trade']}")
    is_told = slots["sky_came"] in passage.lower() or f"the {slots['sky']}" in passage
    weather = slots["sky"] if is_told else "not mentioned"
    notes = f"People: {'; '.join(people)}\nPlace: {slots['village']}\nWeather: {weather}"
    return demands.document(
        key=f"summary:{slots['trade']} {arc.who.format_map(slots)}",
        lead=f"{say(rng, LEADS, slots)} {rng.choice(NOTES)}\n{passage}",
        answer=f"{gist}\n\n{notes}",
        questions=[
            "Does the text begin with a summary of one sentence?",
            f"Does the summary speak of {slots['name']}?",
            "Are people, place and weather noted on three lines?",
        ],
        cue="Summary:",
    )
