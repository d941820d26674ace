"""Polls for a lecture: the class guesses a number, and the page draws guesses and measurement.

A lab has them as POLLS in its `polls`. The lecturer types what the class calls out, or pastes it
from a chat. The page holds the measured number, so it needs no network; one button shows it.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

from labkit.labs import of_each_lab
from labkit.measuring.records import Record

Records = Mapping[str, Record]
SCRIPT = Path(__file__).with_name("polls.js")
FORM = """\
<main>
<h1>{question}</h1>
<form><label>Guesses ({unit}) <input autocomplete="off" autofocus></label>
<button>Add</button> <button type="button" id="show">Show what was measured</button></form>
<p id="said" aria-live="polite"></p>
<svg viewBox="0 0 1000 300" role="img" aria-labelledby="said"></svg>
</main>
<script>
const poll = {poll};
{script}
</script>
"""


@dataclass(frozen=True, slots=True)
class Poll:
    """A question with a number as answer, and how the records answer it."""

    name: str
    question: str
    unit: str
    measured: Callable[[Records], float]


def polls() -> Iterator[Poll]:
    """The polls of all labs."""
    for some in of_each_lab("polls", "POLLS"):
        yield from some


def form(poll: Poll, records: Records) -> str:
    """The poll as HTML."""
    found = json.dumps({"unit": poll.unit, "measured": poll.measured(records)})
    script = SCRIPT.read_text(encoding="utf-8")
    return FORM.format(
        question=escape(poll.question), unit=escape(poll.unit), poll=found, script=script
    )


def time_s(record: Record, experiment: str, **fields: Any) -> float:
    """The seconds of the only row of an experiment whose fields are these.

    Raises: ValueError if there is none, or more than one.
    """
    (row,) = [
        row
        for row in record.of(experiment)
        if all(getattr(row, name) == value for name, value in fields.items())
    ]
    return row.time_s
