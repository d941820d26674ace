"""Stories: an opening, the beats of an arc, an ending; instructions to tell one or to sum it up."""

import random
from itertools import product
from typing import Any, NamedTuple

from training.corpus import demands
from training.corpus.demands import Demand
from training.corpus.document import Document
from training.corpus.grammar import NUMBERS, fill, n_sentences, paragraph, say, tell
from training.corpus.lexicon import cast
from training.corpus.texts import Beat, beats, listed, phrases, read, table


class Arc(NamedTuple):
    """What a story can be about.

    `who` follows the trade in a prompt; `gist` is the whole story in one sentence. `subjects` are
    the choices that make it another story, by slot. `things` are those that fit, if not all do.
    """

    name: str
    who: str
    gist: str
    subjects: tuple[dict[str, str], ...]
    things: tuple[str, ...]
    in_winter: bool
    beats: tuple[Beat, ...]
    endings: tuple[str, ...]
    questions: tuple[str, ...]


def _arc(name: str, text: dict[str, Any]) -> Arc:
    tables = map(table, text.get("subjects", "").split("\n\n"))
    return Arc(
        name=name,
        who=text["who"],
        gist=text["gist"],
        subjects=tuple({k: v for row in rows for k, v in row.items()} for rows in product(*tables)),
        things=listed(text.get("things", "")),
        in_winter=text.get("in winter") != "no",
        beats=beats(text["beats"]),
        endings=phrases(text["endings"]),
        questions=phrases(text["questions"]),
    )


_TEXT = read("stories")
ARCS = tuple(_arc(name, text) for name, text in _TEXT["arcs"].items())
OPENINGS = phrases(_TEXT["openings"])
LEADS, COUNTED_LEADS = phrases(_TEXT["leads"]), phrases(_TEXT["counted leads"])
SUMMARY_LEADS, SUMMARY_NOTES = phrases(_TEXT["summary leads"]), phrases(_TEXT["summary notes"])
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
        slots.update(rng.choice(arc.subjects))
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
    articles = {"thing": "a", "f_trade": "a", "sky": "the", "village": "", "place": ""}
    possible = demands.mentionable(paragraph(told.sentences), lead, told.slots, articles)
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


def draw_summary(rng: random.Random) -> Document:
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
        lead=f"{say(rng, SUMMARY_LEADS, slots)} {rng.choice(SUMMARY_NOTES)}\n{passage}",
        answer=f"{gist}\n\n{notes}",
        questions=[
            "Does the text begin with a summary of one sentence?",
            f"Does the summary speak of {slots['name']}?",
            "Are people, place and weather noted on three lines?",
        ],
        cue="Summary:",
    )
