"""Chapters of a book of the valleys: connected prose, made of what the instructions are made of.

A chapter has one village and one season. A scene opens it and a thought closes it; between them
stand a story and two of four other things: an explanation that somebody gives, a letter that
somebody kept, a talk that somebody overheard, a story within the story.
"""

import random

from training.corpus import dialogues, explanations, letters
from training.corpus.grammar import n_sentences, paragraph, say, tell
from training.corpus.stories import ARCS, Story, story
from training.corpus.texts import beats, phrases, read

_TEXT = read("chapters")
SCENE, CLOSING = beats(_TEXT.pop("scene")), beats(_TEXT.pop("closing"))
PHRASES = {name: phrases(text) for name, text in _TEXT.items()}


def chapter(rng: random.Random) -> str:
    """A chapter of 400 to 900 words: a title line, and paragraphs parted by empty lines."""
    arc = rng.choice(ARCS)
    told = story(rng, arc=arc, n=n_sentences(arc.beats)[-1] + rng.choice((1, 2)))
    slots = told.slots
    parts = [_explanation, _letter, _talk, _second_story]
    middle = [part(rng, told) for part in rng.sample(parts, 2)]
    middle.insert(rng.choice((0, 0, 1)), _in_paragraphs(rng, told))
    scene = paragraph(tell(rng, SCENE, slots))
    closing = paragraph(tell(rng, CLOSING, slots))
    return "\n\n".join([say(rng, PHRASES["titles"], slots), scene, *middle, closing])


def _in_paragraphs(rng: random.Random, told: Story) -> str:
    """The story, broken into paragraphs of three to five sentences."""
    sentences, paragraphs = list(told.sentences), []
    while len(sentences) > 5:
        n = rng.choice((3, 4))
        paragraphs.append(paragraph(sentences[:n]))
        del sentences[:n]
    return "\n\n".join([*paragraphs, paragraph(sentences)])


def _explanation(rng: random.Random, told: Story) -> str:
    topic = rng.choice(explanations.TOPICS)
    opener = say(rng, PHRASES["explained"], {**told.slots, "clause": topic.clause})
    steps = explanations.chain(rng, topic)
    return f"{opener} {paragraph(steps)} {rng.choice(topic.look)}"


def _letter(rng: random.Random, told: Story) -> str:
    _, slots, body = letters.compose(rng)
    return f"{say(rng, PHRASES['written'], told.slots)}\n\n{letters.sealed(rng, slots, body)}"


def _talk(rng: random.Random, told: Story) -> str:
    _, _, lines = dialogues.converse(rng)
    return f"{say(rng, PHRASES['overheard'], told.slots)}\n\n" + "\n".join(lines)


def _second_story(rng: random.Random, told: Story) -> str:
    """A story of another arc, and of people whose names the chapter does not know yet."""
    known = {told.slots["name"], told.slots["f_name"]}
    arc = rng.choice([arc for arc in ARCS if arc is not told.arc])
    second = told
    while {second.slots["name"], second.slots["f_name"]} & known:
        second = story(rng, arc=arc, asks=rng.random() < 0.3)
    return f"{say(rng, PHRASES['retold'], told.slots)} {_in_paragraphs(rng, second)}"
