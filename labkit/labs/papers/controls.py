"""What students click: boxes for options, places for steps, fields for numbers.

Every control calls `take` with the whole answer as it is then: letters, or a dict of numbers.
"""

import re
from collections.abc import Callable
from typing import Any

import ipywidgets

from labkit.checks.card import with_code
from labkit.labs.papers.items import number_in
from labkit.labs.papers.text import STYLE

Take = Callable[[Any], None]
ROW = ipywidgets.Layout(align_items="flex-start", max_width="52em", margin="2px 0")


class Controls:
    """The controls of a question, in `box`; empty: the value of one that is not filled in."""

    empty: Any = ""

    def __init__(self, asked: Any, clicked: Any, take: Take) -> None:
        self._asked, self._take = asked, take
        self._named: dict[str, ipywidgets.Widget] = {}
        self.box = ipywidgets.VBox(self._rows(clicked))
        for control in self._named.values():
            control.observe(self._changed, names="value")

    def clear(self) -> None:
        """Take all answers back, without storing that."""
        self._quietly({})

    def _rows(self, clicked: Any) -> list[ipywidgets.Widget]:
        """The rows of the box; puts its controls into `_named`."""
        raise NotImplementedError

    def _answer(self) -> Any:
        """The whole answer as it is now."""
        return " ".join(control.value for control in self._named.values() if control.value)

    def _changed(self, change: Any) -> None:
        self._take(self._answer())

    def _quietly(self, values: dict[str, Any]) -> None:
        for name, control in self._named.items():
            control.unobserve(self._changed, names="value")
            control.value = values.get(name, self.empty)
            control.observe(self._changed, names="value")


def controls_for(asked: Any, clicked: Any, take: Take) -> Controls:
    """The controls that fit a question, showing what was clicked before."""
    if asked.is_numbers:
        return NumberFields(asked, clicked, take)
    return (OrderMenus if asked.item.kind == "order" else Boxes)(asked, clicked, take)


class Boxes(Controls):
    """A box beside each option; where one option is right, the last one clicked stays."""

    empty = False

    def _rows(self, clicked: str) -> list[ipywidgets.Widget]:
        rows = []
        for letter, text in self._asked.options.items():
            self._named[letter] = ipywidgets.Checkbox(
                value=letter in clicked.split(),
                description=letter,
                indent=False,
                layout={"width": "3.5em", "flex": "0 0 auto"},
            )
            rows.append(ipywidgets.HBox([self._named[letter], _text(text)], layout=ROW))
        return rows

    def _answer(self) -> str:
        return " ".join(letter for letter, box in self._named.items() if box.value)

    def _changed(self, change: Any) -> None:
        if self._asked.item.n_letters == 1 and change["new"]:
            self._quietly({change["owner"].description: True})
        super()._changed(change)


class OrderMenus(Controls):
    """The steps with their letters, and a menu for each place."""

    def _rows(self, clicked: str) -> list[ipywidgets.Widget]:
        options = self._asked.options
        chosen = [*clicked.split(), *[""] * len(options)]
        for i in range(len(options)):
            self._named[f"{i + 1}."] = ipywidgets.Dropdown(
                options=[("–", ""), *((letter, letter) for letter in options)],
                value=chosen[i],
                description=f"{i + 1}.",
                style={"description_width": "1.5em"},
                layout={"width": "6.5em"},
            )
        rows = [_text(f"**{letter}** {text}") for letter, text in options.items()]
        return [*rows, ipywidgets.HBox(list(self._named.values()))]


class NumberFields(Controls):
    """A field for each number, with its unit."""

    def _rows(self, clicked: Any) -> list[ipywidgets.Widget]:
        values, rows = clicked if isinstance(clicked, dict) else {}, []
        for name, unit in self._asked.units.items():
            value = values.get(name, ...)
            self._named[name] = ipywidgets.Text(
                value="" if value is ... else str(value),
                description=name,
                style={"description_width": "11em"},
                layout={"width": "24em"},
            )
            rows.append(ipywidgets.HBox([self._named[name], ipywidgets.Label(unit)]))
        return rows

    def _answer(self) -> dict[str, Any]:
        return {name: number_in(field.value) for name, field in self._named.items()}


def _text(text: str) -> ipywidgets.HTML:
    body = re.sub(r"\*\*(\w+)\*\*", r"<b>\1</b>", with_code(text))
    return ipywidgets.HTML(f'<div style="{STYLE}">{body}</div>')
