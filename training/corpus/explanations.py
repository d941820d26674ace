"""Explanations: the causal chain of a topic, told to a child, in n sentences or as a list."""

import random
from typing import NamedTuple

from training.corpus import demands
from training.corpus.demands import Demand
from training.corpus.document import Document
from training.corpus.grammar import NUMBERS, a, numbered, paragraph, say, tell
from training.corpus.lexicon import MEN, TRADES, WOMEN
from training.corpus.texts import Beat, beats, phrases, read


class Topic(NamedTuple):
    """`clause` goes on after "explain"; `look` is a closing sentence that says where to see it."""

    name: str
    question: str
    clause: str
    steps: tuple[Beat, ...]
    look: tuple[str, ...]


_TEXT = read("explanations")
TOPICS = tuple(
    Topic(name, text["question"], text["clause"], beats(text["steps"]), phrases(text["look"]))
    for name, text in _TEXT["topics"].items()
)
FRAMES = {name: phrases(text) for name, text in _TEXT.items() if name != "topics"}


def chain(rng: random.Random, topic: Topic) -> list[str]:
    """The steps of a topic, one sentence each, with or without those that may be left out."""
    return tell(rng, topic.steps, {})


def draw(rng: random.Random) -> Document:
    """An instruction to explain a topic, in one of five frames, and the explanation."""
    topic = rng.choice(TOPICS)
    frame = rng.choice((_to_a_child, _to_named, _counted, _listed, _asked))
    return frame(rng, topic)


def _to_a_child(rng: random.Random, topic: Topic) -> Document:
    opener = rng.choice(FRAMES["openers to a child"])
    sentences = [opener, *chain(rng, topic), rng.choice(topic.look)]
    form = _form(rng, sentences)
    return demands.document(
        key=f"explain:child:{topic.name}:{form.question}",
        lead=say(rng, FRAMES["to a child"], {"clause": topic.clause}),
        answer=paragraph(sentences),
        questions=[*_content(topic), "Could a child follow the explanation?"],
        demands=[form],
    )


def _to_named(rng: random.Random, topic: Topic) -> Document:
    name = rng.choice(rng.choice((WOMEN, MEN)))
    slots = {"name": name, "age": rng.choice(NUMBERS[5:10]), "clause": topic.clause}
    opener = say(rng, FRAMES["openers to a named child"], slots)
    sentences = [opener, *chain(rng, topic), rng.choice(topic.look)]
    made = [_form(rng, sentences)] if rng.random() < 0.6 else []
    return demands.document(
        key=f"explain:named:{topic.name}:{name}",
        lead=say(rng, FRAMES["to a named child"], slots),
        answer=paragraph(sentences),
        questions=[*_content(topic), f"Is {name} addressed by name?"],
        demands=made,
    )


def _counted(rng: random.Random, topic: Topic) -> Document:
    sentences = chain(rng, topic)
    if rng.random() < 0.5:
        sentences.append(rng.choice(topic.look))
    n = NUMBERS[len(sentences)]
    text = paragraph(sentences)
    form = rng.choice(
        (
            demands.short_sentences(rng, sentences),
            demands.first_word(rng, text),
            demands.word_limit(rng, text),
        )
    )
    return demands.document(
        key=f"explain:counted:{topic.name}:{n}:{form.question}",
        lead=say(rng, FRAMES["counted"], {"clause": topic.clause, "n": n}),
        answer=text,
        questions=[*_content(topic), f"Does the text have exactly {n} sentences?"],
        demands=[form],
        cue=rng.choice(("", "Explanation:")),
    )


def _listed(rng: random.Random, topic: Topic) -> Document:
    steps = chain(rng, topic)
    slots = {"clause": topic.clause, "n": NUMBERS[len(steps)]}
    form = demands.short_sentences(rng, steps)
    opener, closer = rng.random() < 0.5, rng.random() < 0.3
    parts = [numbered(steps)]
    if opener:
        parts.insert(0, say(rng, FRAMES["openers of a list"], slots))
    if closer:
        parts.append(rng.choice(topic.look))
    made = [] if opener or closer else [form]
    return demands.document(
        key=f"explain:listed:{topic.name}:{slots['n']}:{''.join(d.question for d in made)}",
        lead=say(rng, FRAMES["listed"], slots),
        answer="\n".join(parts),
        questions=[*_content(topic), f"Is there a numbered list of exactly {slots['n']} steps?"],
        demands=made,
    )


def _asked(rng: random.Random, topic: Topic) -> Document:
    trade = rng.choice(TRADES)["trade"]
    sentences = [*chain(rng, topic), rng.choice(topic.look)]
    lead = say(rng, FRAMES["asked"], {"question": topic.question, "a_trade": a(trade)})
    form = _form(rng, sentences)
    return demands.document(
        key=f"explain:asked:{topic.name}:{form.question}",
        lead=lead,
        answer=paragraph(sentences),
        questions=[*_content(topic), "Is it written as one paragraph?"],
        demands=[form],
        cue="Answer:",
    )


def _content(topic: Topic) -> list[str]:
    return [
        f"Does the text explain {topic.clause}?",
        "Do causes come before their effects?",
    ]


def _form(rng: random.Random, sentences: list[str]) -> Demand:
    text = paragraph(sentences)
    return rng.choice(
        (
            demands.sentence_count(rng, sentences),
            demands.sentence_count(rng, sentences),
            demands.short_sentences(rng, sentences),
            demands.word_limit(rng, text),
            demands.without(rng, text),
        )
    )
