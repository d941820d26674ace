"""What students click: boxes for options, places for steps, fields for numbers.

Every control calls `take` with the whole answer as it is then: letters, or a dict of numbers.
"""

import re
from collections.abc import Callable
from typing import Any, Protocol

import ipywidgets

from labkit.labs.papers.items import number_in, options_for
from labkit.labs.papers.text import STYLE, inline_html

Take = Callable[[Any], None]
ROW = ipywidgets.Layout(align_items="flex-start", max_width="52em", margin="2px 0")


class Controls(Protocol):
    """The controls of a question, in `box`."""

    box: ipywidgets.Widget

    def clear(self) -> None:
        """Take all answers back, without storing that."""


def controls_for(asked: Any, clicked: Any, take: Take) -> Controls:
    """The controls that fit a question, showing what was clicked before."""
    if asked.name != asked.item.id:
        return NumberFields(asked, clicked, take)
    return (
        OrderMenus(asked, clicked, take)
        if asked.item.kind == "order"
        else Boxes(asked, clicked, take)
    )


class Boxes:
    """A box beside each option; where one option is right, the last one clicked stays."""

    def __init__(self, asked: Any, clicked: str, take: Take) -> None:
        self._take, self._is_single = take, asked.item.n_letters == 1
        self._boxes = {}
        rows = []
        for letter, option in options_for(asked.item, asked.student_id).items():
            box = ipywidgets.Checkbox(
                value=letter in clicked.split(),
                description=letter,
                indent=False,
                layout={"width": "3.5em", "flex": "0 0 auto"},
            )
            box.observe(self._changed, names="value")
            self._boxes[letter] = box
            rows.append(ipywidgets.HBox([box, _text(asked.item.options[asked.language][option])]))
            rows[-1].layout = ROW
        self.box = ipywidgets.VBox(rows)

    def clear(self) -> None:
        """Empty all boxes."""
        self._quietly({})

    def _changed(self, change: Any) -> None:
        if self._is_single and change["new"]:
            self._quietly({change["owner"].description: True})
        self._take(" ".join(letter for letter, box in self._boxes.items() if box.value))

    def _quietly(self, values: dict[str, bool]) -> None:
        for letter, box in self._boxes.items():
            box.unobserve(self._changed, names="value")
            box.value = values.get(letter, False)
            box.observe(self._changed, names="value")


class OrderMenus:
    """The steps with their letters, and a menu for each place."""

    def __init__(self, asked: Any, clicked: str, take: Take) -> None:
        self._take = take
        options = options_for(asked.item, asked.student_id)
        texts = asked.item.options[asked.language]
        chosen = [*clicked.split(), *[""] * len(options)]
        self._menus = []
        for i in range(len(options)):
            menu = ipywidgets.Dropdown(
                options=[("–", ""), *((letter, letter) for letter in options)],
                value=chosen[i],
                description=f"{i + 1}.",
                style={"description_width": "1.5em"},
                layout={"width": "6.5em"},
            )
            menu.observe(self._changed, names="value")
            self._menus.append(menu)
        rows = [_text(f"**{letter}** {texts[option]}") for letter, option in options.items()]
        self.box = ipywidgets.VBox([*rows, ipywidgets.HBox(self._menus)])

    def clear(self) -> None:
        """Empty all places."""
        for menu in self._menus:
            menu.unobserve(self._changed, names="value")
            menu.value = ""
            menu.observe(self._changed, names="value")

    def _changed(self, _: Any) -> None:
        self._take(" ".join(menu.value for menu in self._menus if menu.value))


class NumberFields:
    """A field for each number, with its unit."""

    def __init__(self, asked: Any, clicked: Any, take: Take) -> None:
        self._take = take
        values = clicked if isinstance(clicked, dict) else {}
        self._fields, rows = {}, []
        for name, unit in asked.item.numbers.fields.items():
            value = values.get(name, ...)
            field = ipywidgets.Text(
                value="" if value is ... else str(value),
                description=name,
                style={"description_width": "11em"},
                layout={"width": "24em"},
            )
            field.observe(self._changed, names="value")
            self._fields[name] = field
            rows.append(ipywidgets.HBox([field, ipywidgets.Label(unit)]))
        self.box = ipywidgets.VBox(rows)

    def clear(self) -> None:
        """Empty all fields."""
        for field in self._fields.values():
            field.unobserve(self._changed, names="value")
            field.value = ""
            field.observe(self._changed, names="value")

    def _changed(self, _: Any) -> None:
        self._take({name: number_in(field.value) for name, field in self._fields.items()})


def _text(text: str) -> ipywidgets.HTML:
    body = re.sub(r"\*\*(\w+)\*\*", r"<b>\1</b>", inline_html(text))
    return ipywidgets.HTML(f'<div style="{STYLE}">{body}</div>')
