"""Short letters between neighbours: a greeting, a reason, a request, a close."""

import random
from typing import NamedTuple

from training.corpus import demands
from training.corpus.demands import Demand
from training.corpus.document import Document
from training.corpus.grammar import NUMBERS, n_sentences, paragraph, say, tell
from training.corpus.lexicon import cast
from training.corpus.texts import Beat, beats, listed, phrases, read


class Letter(NamedTuple):
    """`aim` goes on after the name of the reader; `question` is a requirement.

    `subjects` are choices for the slot {subject}, if the letter has one.
    """

    name: str
    aim: str
    question: str
    subjects: tuple[str, ...]
    beats: tuple[Beat, ...]


_TEXT = read("letters")
LETTERS = tuple(
    Letter(
        name,
        text["aim"],
        text["question"],
        listed(text.get("subjects", "")),
        beats(text["beats"]),
    )
    for name, text in _TEXT["letters"].items()
)
LEADS, CLOSES = phrases(_TEXT["leads"]), phrases(_TEXT["closes"])
DAYS = listed(_TEXT["days"])
SHORTEST = 5  # sentences between greeting and close


def compose(rng: random.Random) -> tuple[Letter, dict[str, str], list[str]]:
    """A letter, its slots, and the sentences between its greeting and its close."""
    letter, slots = rng.choice(LETTERS), cast(rng)
    slots["day"], slots["n"] = rng.choice(DAYS), rng.choice(NUMBERS[3:9])
    if letter.subjects:
        slots["subject"] = rng.choice(letter.subjects)
    n = rng.choice([n for n in n_sentences(letter.beats) if n >= SHORTEST])
    return letter, slots, tell(rng, letter.beats, slots, n)


def sealed(rng: random.Random, slots: dict[str, str], body: list[str]) -> str:
    """The letter as it is sent, with greeting and close."""
    close = f"{rng.choice(CLOSES)}\n{slots['name']}"
    return f"Dear {slots['f_name']},\n\n{paragraph(body)}\n\n{close}"


def draw(rng: random.Random) -> Document:
    """An instruction to write a letter, and the letter."""
    letter, slots, body = compose(rng)
    lead = say(rng, LEADS, {**slots, "aim": letter.aim.format_map(slots)})
    made = _demands(rng, body, slots, lead)
    subject = slots.get("subject", slots["thing"] if letter.name == "borrow" else "")
    return demands.document(
        key=f"letter:{letter.name}:{subject}:{slots['f_trade']}:{made[0].question}",
        lead=lead,
        answer=sealed(rng, slots, body),
        questions=[
            f"Is the text a letter to {slots['f_name']}?",
            letter.question.format_map(slots),
            f"Is it signed by {slots['name']}?",
        ],
        demands=made,
        cue=rng.choice(("", "", "Letter:")),
    )


def _demands(rng: random.Random, body: list[str], slots: dict[str, str], lead: str) -> list[Demand]:
    """One or two demands: on the number of sentences, on a mention, on a question in the letter."""
    text = paragraph(body)
    n = NUMBERS[len(body)]
    possible = [
        Demand(
            f"Between greeting and close there should be exactly {n} sentences.",
            f"Are there exactly {n} sentences between greeting and close?",
        ),
        demands.without(rng, text),
    ]
    if "?" in text:
        possible.append(Demand("It should ask a question.", "Does the letter ask a question?"))
    articles = {"day": "", "place": "", "sky": "the"}
    for noun, article in demands.mentionable(text, lead, slots, articles):
        possible.append(demands.mention(rng, noun, article))
    return rng.sample(possible, rng.choice((1, 2)))
