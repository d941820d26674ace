"""Explanations: the causal chain of a topic, told to a child, in n sentences or as a list."""

import random

from labkit.corpus import demands
from labkit.corpus.demands import Demand
from labkit.corpus.document import Document
from labkit.corpus.grammar import NUMBERS, a, numbered, paragraph, phrases, say, tell
from labkit.corpus.lexicon import MEN, TRADES, WOMEN
from labkit.corpus.topics import TOPICS, Topic

TO_A_CHILD = phrases("""
- Explain to a child {clause}.
- Explain {clause}, so that a child can follow.
- A child wants to know {clause}, so please explain it in plain words.
- How would you explain to a child {clause}?
- My little sister keeps asking me {clause}, and I need a good answer.
""")
TO_NAMED = phrases("""
- {name} is seven years old and wants to know {clause}. Answer the child, and use the name.
- Explain to {name}, who is {age} years old, {clause}. Speak to the child by name.
- Little {name} asks {clause}. Give an answer that begins with the child's name.
""")
COUNTED = phrases("""
- In {n} sentences, explain {clause}.
- Explain {clause} in exactly {n} sentences.
- Write {n} sentences that explain {clause}.
- I have time for just {n} sentences, so tell me {clause}.
""")
LISTED = phrases("""
- Explain {clause}, as a numbered list of {n} steps.
- List, in {n} numbered steps, {clause}.
- Give {n} numbered steps that show {clause}.
- For a sign on the wall, explain {clause} in {n} numbered steps.
""")
ASKED = phrases("""
- {question} Answer in one paragraph.
- Please answer this question for a reader of the village paper. {question}
- A visitor asks {a_trade}, "{question}" Write the answer.
- Answer the question, and give the causes in their order. {question}
""")

CHILD_OPENERS = phrases("""
- That is a good question, and the answer is not hard.
- Let us go through it slowly, one thing after another.
- It looks like a trick, but it is not.
- You can understand it if you take it step by step.
- People have wondered about this for a long time.
""")
NAMED_OPENERS = phrases("""
- {name}, that is a good question.
- {name}, come closer, and I will tell you.
- {name}, I once asked the same thing.
- {name}, you have sharp eyes, and here is the answer.
""")
LIST_OPENERS = phrases("""
- This is {clause}:
- Step by step, here is {clause}:
- Here, in {n} steps, is {clause}:
""")


def chain(rng: random.Random, topic: Topic) -> list[str]:
    """The steps of a topic, one sentence each, with or without those that may be left out."""
    return tell(rng, topic.steps, {})


def draw(rng: random.Random) -> Document:
    """An instruction to explain a topic, in one of five frames, and the explanation."""
    topic = rng.choice(TOPICS)
    frame = rng.choice((_to_a_child, _to_named, _counted, _listed, _asked))
    return frame(rng, topic)


def _to_a_child(rng: random.Random, topic: Topic) -> Document:
    sentences = [rng.choice(CHILD_OPENERS), *chain(rng, topic), rng.choice(topic.look)]
    form = _form(rng, sentences)
    return demands.document(
        key=f"explain:child:{topic.name}:{form.question}",
        lead=say(rng, TO_A_CHILD, {"clause": topic.clause}),
        answer=paragraph(sentences),
        questions=[*_content(topic), "Could a child follow the explanation?"],
        demands=[form],
    )


def _to_named(rng: random.Random, topic: Topic) -> Document:
    name = rng.choice(rng.choice((WOMEN, MEN)))
    slots = {"name": name, "age": rng.choice(NUMBERS[5:10]), "clause": topic.clause}
    opener = say(rng, NAMED_OPENERS, slots)
    sentences = [opener, *chain(rng, topic), rng.choice(topic.look)]
    made = [_form(rng, sentences)] if rng.random() < 0.6 else []
    return demands.document(
        key=f"explain:named:{topic.name}:{name}",
        lead=say(rng, TO_NAMED, slots),
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
        lead=say(rng, COUNTED, {"clause": topic.clause, "n": n}),
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
        parts.insert(0, say(rng, LIST_OPENERS, slots))
    if closer:
        parts.append(rng.choice(topic.look))
    made = [] if opener or closer else [form]
    return demands.document(
        key=f"explain:listed:{topic.name}:{slots['n']}:{''.join(d.question for d in made)}",
        lead=say(rng, LISTED, slots),
        answer="\n".join(parts),
        questions=[*_content(topic), f"Is there a numbered list of exactly {slots['n']} steps?"],
        demands=made,
    )


def _asked(rng: random.Random, topic: Topic) -> Document:
    trade = rng.choice(TRADES).name
    sentences = [*chain(rng, topic), rng.choice(topic.look)]
    lead = say(rng, ASKED, {"question": topic.question, "a_trade": a(trade)})
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
