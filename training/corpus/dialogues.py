"""Short dialogues: a script is a row of exchanges, each a line and the reply to it.

In a wording, " | " parts the two lines of an exchange.
"""

import random
from typing import NamedTuple

from training.corpus import demands
from training.corpus.demands import Demand
from training.corpus.document import Document
from training.corpus.grammar import NUMBERS, say, tell
from training.corpus.lexicon import cast
from training.corpus.texts import Beat, beats, listed, phrases, read


class Script(NamedTuple):
    """`about` goes on after "a dialogue in which": the second speaker has the trade at hand."""

    about: str
    subjects: tuple[str, ...]
    exchanges: tuple[Beat, ...]


_TEXT = read("dialogues")
LEADS = phrases(_TEXT["leads"])
SCRIPTS = tuple(
    Script(
        text["about"],
        listed(text.get("subjects", "")),
        beats(text["exchanges"]),
    )
    for text in _TEXT["scripts"].values()
)


def converse(rng: random.Random) -> tuple[Script, dict[str, str], list[str]]:
    """A script, its slots, and its lines: each begins with the name of its speaker."""
    script, slots = rng.choice(SCRIPTS), cast(rng)
    if script.subjects:
        slots["subject"] = rng.choice(script.subjects)
    lines = [
        f"{speaker}: {line}"
        for exchange in tell(rng, script.exchanges, slots)
        for speaker, line in zip(
            (slots["name"], slots["f_name"]), exchange.split(" | "), strict=True
        )
    ]
    return script, slots, lines


def draw(rng: random.Random) -> Document:
    """An instruction to write a dialogue between two people, and the dialogue."""
    script, slots, lines = converse(rng)
    name, n = slots["name"], NUMBERS[len(lines)]
    about = script.about.format_map(slots)
    lead = say(rng, LEADS, {"about": about, "n": n})
    count = Demand(f"It should have exactly {n} lines.", f"Does it have exactly {n} lines?")
    first = Demand(f"Let {name} speak first.", f"Does {name} speak first?")
    questions = [
        "Is the text a dialogue?",
        f"Do {name} and {slots['f_name']} take turns?",
        f"Is it one in which {about}?",
    ]
    if f" {n} lines" in lead:
        questions.append(count.question)
        made = [first]
    else:
        made = [count, rng.choice((first, demands.without(rng, "\n".join(lines))))]
    parts = script.about.format_map({**slots, "name": "A", "f_name": "B", "him": "A"})
    return demands.document(
        key=f"dialogue:{parts}",
        lead=lead,
        answer="\n".join(lines),
        questions=questions,
        demands=made[: rng.choice((1, 2))],
        cue=rng.choice(("", "Dialogue:")),
    )
