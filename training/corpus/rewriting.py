"""Rewriting a short passage about someone's day: in the past, the future, as questions, as "I"."""

import random

from training.corpus import demands
from training.corpus.document import Document
from training.corpus.grammar import fill, paragraph, say
from training.corpus.lexicon import cast
from training.corpus.texts import phrases, read, table

_TEXT = read("rewriting")
DEEDS = {when: table(rows) for when, rows in _TEXT["deeds"].items()}
MODES = tuple(_TEXT["modes"].items())
KEEP = phrases(_TEXT["keep"])


def draw(rng: random.Random) -> Document:
    """An instruction with a passage of four sentences, and the passage rewritten."""
    slots, (name, mode) = cast(rng), rng.choice(MODES)
    day = [(when, *rng.sample(deeds, 2)) for when, deeds in DEEDS.items()]
    subjects = [f"{slots['name']} the {slots['trade']}", *[slots["he"]] * (len(day) - 1)]

    def told(sentence: str) -> str:
        sentences = [
            fill(sentence, {"subject": subject, "when": when, "first": first, "second": second})
            for subject, (when, first, second) in zip(subjects, day, strict=True)
        ]
        return paragraph(sentences)

    verbs = ",".join(deed["base"] for _, *pair in day for deed in pair)
    lead, keep = say(rng, phrases(mode["leads"]), slots), rng.choice(KEEP)
    return demands.document(
        key=f"rewrite:{name}:{verbs}",
        lead=f"{lead} {keep}\n{told(_TEXT['passage'])}",
        answer=told(mode["sentence"]),
        questions=[
            mode["question"],
            "Does the text have exactly four sentences?",
            "Are all the deeds still there, in their order?",
        ],
        cue=rng.choice(("Answer:", "Rewritten:")),
    )
