"""Tables of the labs: HTML in a notebook, aligned text in a terminal and in saved files."""

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from functools import wraps
from html import escape
from typing import ParamSpec, TypeVar

from labkit.measuring.lines import NothingMeasured

MOST_COLUMNS = 8
LINE = "border:0;border-bottom:1px solid rgba(128,128,128,.4)"
# By the keyboard, too: a link to nowhere, because in notebooks without trust JupyterLab keeps the
# tabindex of no other element.
SCROLLS = "display:block;overflow-x:auto;color:inherit;text-decoration:none"
CELL = f"{LINE};padding:.2em .4em;text-align:"
BREAKS = re.compile(r"(?<=[_/])(?=\w{3})")  # where a narrow page may break a word
Cell = str | int | float | None
P = ParamSpec("P")
Shown = TypeVar("Shown")


@dataclass(frozen=True, slots=True)
class Table:
    """Headings and rows. The title stands above them, the note below.

    is_folded: a notebook shows the title, and the rest after a click.
    A whole number gets commas, another number three digits, None a dash; text stays as it is.
    On a narrow page the words of a cell stand below each other; only on a phone a table scrolls.
    Raises: ValueError for more than eight columns, or for a row of another length.
    """

    headings: Sequence[str]
    rows: Sequence[Sequence[Cell]]
    title: str = ""
    note: str = ""
    is_folded: bool = False

    def __post_init__(self) -> None:
        if len(self.headings) > MOST_COLUMNS:
            raise ValueError(f"{len(self.headings)} columns; more than {MOST_COLUMNS} do not fit")
        lengths = {len(row) for row in self.rows} - {len(self.headings)}
        if lengths:
            raise ValueError(f"{len(self.headings)} headings, but a row of {lengths.pop()} cells")

    @property
    def lines(self) -> list[list[str]]:
        """The cells of each row as text."""
        return [[_text(cell) for cell in row] for row in self.rows]

    def __str__(self) -> str:
        lines = [list(self.headings), *self.lines]
        widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
        pads = [str.rjust if is_number else str.ljust for is_number in self._are_numbers()]
        text = [
            "  ".join(pad(*each) for pad, *each in zip(pads, line, widths, strict=True)).rstrip()
            for line in lines
        ]
        return "\n".join(filter(None, (self.title, *text, self.note)))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        sides = ["right" if is_number else "left" for is_number in self._are_numbers()]
        parts = [
            _tag("caption", escape(self.title), "text-align:left;caption-side:top;color:inherit")
            if self.title and not self.is_folded
            else "",
            _tag("thead", _row(self.headings, sides, ["col"] * len(sides))),
            _tag("tbody", "".join(_row(line, sides, ["row"]) for line in self.lines)),
        ]
        look = "border-collapse:collapse;font-variant-numeric:tabular-nums;margin:.3em 0"
        note = _tag("div", escape(self.note), "font-size:90%") if self.note else ""
        table = _tag("table", "".join(parts), look)
        whole = f'<div><a tabindex="0" style="{SCROLLS}">{table}</a>{note}</div>'
        if self.is_folded:
            return _tag("details", _tag("summary", escape(self.title)) + whole)
        return whole

    def _are_numbers(self) -> list[bool]:
        """Of each column, whether its cells are numbers, with or without a unit."""
        columns = zip(*self.lines, strict=True) if self.rows else [[]] * len(self.headings)
        return [all(map(_is_number, column)) for column in columns]


class Tables(tuple[Table, ...]):
    """Tables below each other, each with the question that it answers as title."""

    def __new__(cls, tables: Iterable[Table]) -> "Tables":
        return super().__new__(cls, tables)

    def __str__(self) -> str:
        return "\n\n".join(map(str, self))

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return "".join(table._repr_html_() for table in self)


class Sentence(str):
    """Words in place of a table or a figure; a notebook shows them without quotes."""

    __slots__ = ()

    def __repr__(self) -> str:
        return str(self)


def or_sentence(show: Callable[P, Shown]) -> Callable[P, Shown | Sentence]:
    """The same table or figure; where a record has no time for it, the sentence that says why."""

    @wraps(show)
    def shown(*args: P.args, **settings: P.kwargs) -> Shown | Sentence:
        try:
            return show(*args, **settings)
        except NothingMeasured as nothing:
            return Sentence(f"○ Nothing to show: {nothing}")

    return shown


def _text(cell: Cell) -> str:
    if cell is None:
        return "-"
    if isinstance(cell, str):
        return cell
    return f"{cell:,}" if isinstance(cell, int) else f"{cell:,.3g}"


def _is_number(cell: str) -> bool:
    return cell in ("", "-", "none") or cell.lstrip("+-<~±[").replace(",", "")[:1].isdigit()


def _row(cells: Sequence[str], sides: Sequence[str], scopes: Sequence[str]) -> str:
    """A row; its first cells are headings, of these scopes."""
    made = []
    for i, (cell, side) in enumerate(zip(cells, sides, strict=True)):
        look, words = CELL + side, BREAKS.sub("<wbr>", escape(cell))
        if i < len(scopes):
            weight = "bold" if scopes[i] == "col" else "normal"
            look += f";font-weight:{weight}"
            made.append(f'<th scope="{scopes[i]}" style="{look}">{words}</th>')
        else:
            made.append(_tag("td", words, look))
    return _tag("tr", "".join(made), "background:none")


def _tag(name: str, inside: str, look: str = "") -> str:
    return f'<{name} style="{look}">{inside}</{name}>' if look else f"<{name}>{inside}</{name}>"
