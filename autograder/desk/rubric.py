"""The written questions of a lab with model answer and rubric, as the notebook's source has them.

A rubric is the list below a line that begins with "Marking". An item begins with its points or has
them in parentheses; "for each of the two ..." stands for two items.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from autograder.builder.source import Lab

_HEADING = re.compile(r"^#{1,6} ", re.MULTILINE)
_MARKING = re.compile(r"^\*?Marking\b(.*?):\*?$", re.MULTILINE)
_ITEM = re.compile(r"^\* (.*(?:\n  .*)*)", re.MULTILINE)
_ALTERNATIVE = re.compile(r"^  \* (.*(?:\n    .*)*)", re.MULTILINE)
_LESS = re.compile(r"\((\d+(?:\.\d+)?) instead of (\d+(?:\.\d+)?)\)")
_IN_PARENTHESES = re.compile(r"\((\d+(?:\.\d+)?)(?:, or [^()]*)?\)\.?$")
_OWN_POINTS = re.compile(r" \(\d+(?:\.\d+)?\)(?=\.?$)")
_FIRST = re.compile(r"^(-?\d+(?:\.\d+)?) ")
_EACH = re.compile(r"for each of the (?:other )?(two|three|four)\b")
_EACH_NAMED = re.compile(r"^\S+ for each \w+: (.*)")
_COUNTS = {"two": 2, "three": 3, "four": 4}


@dataclass(frozen=True)
class RubricItem:
    """One line of a rubric: what earns, or costs, how many points. one_of: items of one such name
    exclude each other."""

    text: str
    points: float
    one_of: str = ""


@dataclass(frozen=True)
class Question:
    """A written question. text: what students read above it; rules: how its rubric counts; cell:
    model answer and rubric as the instructor's notebook has them."""

    lab: str
    name: str
    points: float
    text: str
    model: str
    rules: str
    items: tuple[RubricItem, ...]
    cell: str

    @property
    def asked(self) -> str:
        """The text from its last heading on: a cell may end the section before."""
        *_, last = [0, *(match.start() for match in _HEADING.finditer(self.text))]
        return self.text[last:]


def questions_of(lab: Lab) -> list[Question]:
    """The written questions of a lab, in order."""
    found, above = [], ""
    for cell in lab.cells:
        if cell.kind == "prose":
            above = cell.text
        elif cell.kind == "written":
            model, rules, items = _parts(cell.text)
            found.append(
                Question(lab.name, cell.name, cell.points, above, model, rules, items, cell.text)
            )
    return found


def _parts(text: str) -> tuple[str, str, tuple[RubricItem, ...]]:
    """The model answer, the rubric's text outside of its items, and the items."""
    match = _MARKING.search(text)
    if match is None:
        return text.strip(), "", ()
    marking = text[match.end() :]
    n_times = _n_times(match[1])
    items = [item for each in _ITEM.findall(marking) for item in _items(each)]
    repeated = [
        replace(
            item,
            text=_numbered(item.text, i, n_times),
            one_of=item.one_of and _numbered(item.one_of, i, n_times),
        )
        for i in range(n_times)
        for item in items
    ]
    beside = " ".join(_ITEM.sub("", marking).split()).strip("*")
    return text[: match.start()].strip(), beside, tuple(repeated)


def _items(entry: str) -> list[RubricItem]:
    """The items of one entry of the list, which may be alternatives."""
    if alternatives := _ALTERNATIVE.findall(entry):
        one_of = _line(entry.partition("\n  * ")[0]).rstrip(":")
        return [replace(i, one_of=one_of) for each in alternatives for i in _items(each)]
    text = _line(entry)
    named = _EACH_NAMED.match(text)
    n_times = len(named[1].split(";")) if named else _n_times(text)
    words = _OWN_POINTS.sub("", _FIRST.sub("", text))  # the desk shows the points beside them
    words = words[:1].upper() + words[1:]
    return [RubricItem(_numbered(words, i, n_times), _points(text)) for i in range(n_times)]


def _line(text: str) -> str:
    return " ".join(text.split()).strip("*")


def _n_times(text: str) -> int:
    match = _EACH.search(text)
    return _COUNTS[match[1]] if match else 1


def _numbered(text: str, i: int, n_times: int) -> str:
    return text if n_times == 1 else f"{text} ({i + 1} of {n_times})"


def _points(text: str) -> float:
    if less := _LESS.search(text):
        return round(float(less[1]) - float(less[2]), 4)
    match = _FIRST.match(text) or _IN_PARENTHESES.search(text)
    return float(match[1]) if match else 0.0
