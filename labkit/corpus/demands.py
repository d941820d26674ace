"""What an instruction can demand of its answer, so that a reader can check it with yes or no.

A demand is read off a text that is already there: so it always holds, and how often it is stated
is a matter of the prompt alone.
"""

import random
from collections.abc import Sequence
from typing import NamedTuple

from labkit.corpus.document import Document
from labkit.corpus.grammar import NUMBERS, a, paragraph

UNWANTED = ("suddenly", "magic", "very", "huge", "amazing", "extremely", "simply", "terrible")


class Demand(NamedTuple):
    """A sentence for the prompt, and the question that a judge of the answer is asked."""

    wish: str
    question: str


def sentence_count(rng: random.Random, sentences: Sequence[str]) -> Demand:
    n = NUMBERS[len(sentences)]
    wordings = (
        f"Use exactly {n} sentences.",
        f"Write exactly {n} sentences.",
        f"It should have exactly {n} sentences.",
        f"Exactly {n} sentences, please.",
    )
    return Demand(rng.choice(wordings), f"Does the text have exactly {n} sentences?")


def short_sentences(rng: random.Random, sentences: Sequence[str]) -> Demand:
    longest = max(len(sentence.split()) for sentence in sentences)
    limit = longest + rng.randint(0, 3)
    wordings = (
        f"No sentence should have more than {limit} words.",
        f"Keep every sentence at {limit} words or fewer.",
    )
    question = f"Does every sentence have {limit} words or fewer?"
    return Demand(rng.choice(wordings), question)


def word_limit(rng: random.Random, text: str) -> Demand:
    n_words = len(text.split())
    limit = n_words + rng.randint(2, 12)
    limit += -limit % 10
    wordings = (
        f"Use no more than {limit} words.",
        f"Stay under {limit + 1} words.",
        f"It should not be longer than {limit} words.",
    )
    return Demand(rng.choice(wordings), f"Does the text have {limit} words or fewer?")


def first_word(rng: random.Random, text: str) -> Demand:
    word = text.split(maxsplit=1)[0].strip(',"')
    wordings = (
        f'Begin with the word "{word}".',
        f'The first word must be "{word}".',
        f'Start with "{word}".',
    )
    return Demand(rng.choice(wordings), f'Is "{word}" the first word of the text?')


def last_question(rng: random.Random) -> Demand:
    wordings = ("End with a question.", "The last sentence should be a question.")
    return Demand(rng.choice(wordings), "Does the text end with a question?")


def names(text: str, noun: str) -> bool:
    """Whether the text has this noun, in these words: wind is not named by a window."""
    return any(f" {noun}{end}" in text for end in (*" .,;:?!", "\n")) or text.endswith(f" {noun}")


def mention(rng: random.Random, noun: str, article: str = "") -> Demand:
    """That the text mentions a noun: with "a" as an article, or with "the", or as it stands."""
    words = {"a": a(noun), "the": f"the {noun}", "": noun}[article]
    wordings = (f"Mention {words}.", f"It must mention {words}.", f"Be sure to mention {words}.")
    return Demand(rng.choice(wordings), f"Does the text mention {words}?")


def without(rng: random.Random, text: str) -> Demand:
    """That a word is avoided that the text does not contain."""
    word = rng.choice([word for word in UNWANTED if word not in text.lower()])
    wordings = (f'Do not use the word "{word}".', f'Avoid the word "{word}".')
    return Demand(rng.choice(wordings), f'Does the text do without the word "{word}"?')


def item_count(rng: random.Random, n_items: int, what: str) -> Demand:
    """That there is a numbered list of n items; `what` they are, in the plural ("tips")."""
    n = NUMBERS[n_items]
    wordings = (
        f"Give a numbered list of exactly {n} {what}.",
        f"Write exactly {n} {what}, as a numbered list.",
        f"Number them, and give exactly {n} {what}.",
    )
    return Demand(rng.choice(wordings), f"Is there a numbered list of exactly {n} {what}?")


def document(
    *,
    key: str,
    lead: str,
    answer: str,
    questions: Sequence[str],
    demands: Sequence[Demand] = (),
    cue: str = "",
) -> Document:
    """An instruction and its answer; questions first about the whole, then one for each demand.

    The prompt is the lead, then the demands, then perhaps a cue such as "Story:".
    """
    prompt = paragraph([lead, *(demand.wish for demand in demands)])
    return Document(
        source="instruction",
        key=key,
        prompt=f"{prompt}\n{cue}" if cue else prompt,
        answer="\n" + answer,
        facts={"requirements": [*questions, *(demand.question for demand in demands)]},
    )
