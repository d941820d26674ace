"""What an instruction can demand of its answer, so that a reader can check it with yes or no.

A demand is read off a text that is already there: so it always holds, and how often it is stated
is a matter of the prompt alone.
"""

import random
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from training.corpus.document import Document
from training.corpus.grammar import NUMBERS, a, paragraph
from training.corpus.texts import listed, phrases, read

_TEXT = read("demands")
UNWANTED = listed(_TEXT["unwanted"])
WISHES = {kind: phrases(text["wishes"]) for kind, text in _TEXT["demands"].items()}


class Demand(NamedTuple):
    """A sentence for the prompt, and the question that a judge of the answer is asked."""

    wish: str
    question: str


def _demand(rng: random.Random, kind: str, **slots: Any) -> Demand:
    wish, question = rng.choice(WISHES[kind]), _TEXT["demands"][kind]["question"]
    return Demand(wish.format_map(slots), question.format_map(slots))


def sentence_count(rng: random.Random, sentences: Sequence[str]) -> Demand:
    return _demand(rng, "sentence count", n=NUMBERS[len(sentences)])


def short_sentences(rng: random.Random, sentences: Sequence[str]) -> Demand:
    longest = max(len(sentence.split()) for sentence in sentences)
    return _demand(rng, "short sentences", limit=longest + rng.randint(0, 3))


def word_limit(rng: random.Random, text: str) -> Demand:
    n_words = len(text.split())
    limit = n_words + rng.randint(2, 12)
    limit += -limit % 10
    return _demand(rng, "word limit", limit=limit, too_many=limit + 1)


def first_word(rng: random.Random, text: str) -> Demand:
    return _demand(rng, "first word", word=text.split(maxsplit=1)[0].strip(',"'))


def last_question(rng: random.Random) -> Demand:
    return _demand(rng, "last question")


def names(text: str, noun: str) -> bool:
    """Whether the text has this noun, in these words: wind is not named by a window."""
    return any(f" {noun}{end}" in text for end in (*" .,;:?!", "\n")) or text.endswith(f" {noun}")


def mentionable(
    text: str, lead: str, slots: Mapping[str, str], articles: Mapping[str, str]
) -> list[tuple[str, str]]:
    """What the text names and the lead does not, with articles for `mention`. articles: by slot."""
    return [
        (slots[slot], article)
        for slot, article in articles.items()
        if names(text, slots[slot]) and slots[slot] not in lead
    ]


def mention(rng: random.Random, noun: str, article: str = "") -> Demand:
    """That the text mentions a noun: with "a" as an article, or with "the", or as it stands."""
    words = {"a": a(noun), "the": f"the {noun}", "": noun}[article]
    return _demand(rng, "mention", words=words)


def without(rng: random.Random, text: str) -> Demand:
    """That a word is avoided that the text does not contain."""
    word = rng.choice([word for word in UNWANTED if word not in text.lower()])
    return _demand(rng, "without", word=word)


def item_count(rng: random.Random, n_items: int, what: str) -> Demand:
    """That there is a numbered list of n items; `what` they are, in the plural ("tips")."""
    return _demand(rng, "item count", n=NUMBERS[n_items], what=what)


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
