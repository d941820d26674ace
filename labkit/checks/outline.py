"""The parts of a lab with their points, and how far a student is.

The builder writes `outline.json` beside a lab's checks, from the lab's source.
"""

import html
import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from importlib.resources.abc import Traversable

from labkit.checks.card import CARD

SIGNS = {0.0: "○", 1.0: "●"}  # any share between them is half a disc


@dataclass(frozen=True, slots=True)
class Part:
    """An exercise, an answer or a written question. section: the heading that it stands under."""

    name: str
    kind: str  # "exercise", "answer" or "written"
    points: float
    section: str

    @property
    def link(self) -> str:
        """To its heading, the way JupyterLab names headings."""
        return "#" + html.escape(self.section.replace(" ", "-"), quote=True)


@cache
def outline_of(topic: str) -> tuple[Part, ...]:
    """The parts of a lab, in order; none if the lab was not built yet."""
    return tuple(Part(**part) for part in _read(topic).get("parts", ()))


@cache
def experiments_of(topic: str) -> tuple[frozenset[str], ...]:
    """The names that each experiment binds, and no other cell of the lab."""
    return tuple(frozenset(names.split()) for names in _read(topic).get("experiments", ()))


@cache
def prose_of(topic: str) -> frozenset[str]:
    """Digests of the lines of all texts that the lab's notebook is handed out with."""
    return frozenset(_read(topic).get("prose", "").split())


def lab_name(topic: str) -> str:
    """The lab's name with its number, such as "04_kv_cache"; "" if the lab was not built yet."""
    return _read(topic).get("lab", "")


def file_of(topic: str, name: str) -> Traversable | None:
    """A file beside a lab's checks; None if it is not there, or the lab is of another kit."""
    with suppress(ImportError):
        file = files(f"labkit.labs.{topic}") / name
        return file if file.is_file() else None
    return None


def _read(topic: str) -> dict:
    file = file_of(topic, "outline.json")
    return json.loads(file.read_text(encoding="utf-8")) if file else {}


def progress_line(parts: Sequence[Part], earned: Mapping[str, float]) -> str:
    """One line of HTML: a disc for each part, and the points that checks have given so far.

    earned: by name, for the exercises that were checked in this session.
    """
    checked = [part for part in parts if part.kind != "written"]
    discs = "".join(
        f'<a href="{part.link}" title="{html.escape(part.name)}" style="text-decoration:none">'
        f"{_sign(part, earned)}</a>"
        for part in checked
    )
    return f'<div style="{CARD}">{discs} {progress_text(parts, earned)}</div>'


def progress_text(parts: Sequence[Part], earned: Mapping[str, float]) -> str:
    """How many points checks have given so far, of how many, and what people will mark."""
    most = sum(part.points for part in parts if part.kind != "written")
    by_hand = sum(part.points for part in parts if part.kind == "written")
    have = sum(earned.get(part.name, 0.0) for part in parts)
    text = f"{have:.4g} of {most:g} points of this lab by checks so far"
    return f"{text}; {by_hand:g} more for written answers" if by_hand else text


def table(parts: Sequence[Part], rows: Mapping[str, str]) -> str:
    """All parts with their points and what `rows` says of each, as an HTML table with links."""
    lines = "".join(
        f'<tr><td style="text-align:left"><a href="{part.link}">{html.escape(part.name)}</a></td>'
        f'<td>{part.points:g}</td><td style="text-align:left">{rows[part.name]}</td></tr>'
        for part in parts
    )
    head = '<tr><th style="text-align:left">part</th><th>points</th><th></th></tr>'
    table = f'<table style="color:inherit"><thead>{head}</thead><tbody>{lines}</tbody></table>'
    return f'<div style="overflow-x:auto">{table}</div>'


def _sign(part: Part, earned: Mapping[str, float]) -> str:
    share = round(earned.get(part.name, 0.0) / part.points, 2) if part.points else 1.0
    return SIGNS.get(share, "◐")
