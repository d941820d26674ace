"""A question of lab 8 as Markdown and as HTML."""

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass

from labkit.checks.card import with_code
from labkit.labs.papers.items import Item, explained, numbers_text, options_for
from labkit.labs.papers.words import say, unit_in

FENCE = re.compile(r"^```\n(.*?)^```$", re.MULTILINE | re.DOTALL)
ARXIV = re.compile(r"arXiv:(\d{4}\.\d{5})")
STYLE = "max-width:52em;line-height:1.5"
QUIET = "opacity:.75;font-size:90%"


@dataclass(frozen=True)
class Question:
    """An item for one student, in a language. name: of its letters, or of its numbers."""

    item: Item
    name: str
    student_id: str
    language: str

    @property
    def is_numbers(self) -> bool:
        """Whether it asks for the item's numbers."""
        return self.name != self.item.id

    @property
    def title(self) -> str:
        """Such as "Q16 · Counting reads", and of the numbers "Q16 · Counting reads, in numbers"."""
        rest = say("in numbers", self.language) if self.is_numbers else ""
        return f"{self.item.id.upper()} · {self.item.title[self.language]}{rest}"

    @property
    def wanted(self) -> str:
        """What the student is to do, in a sentence."""
        what = "fill" if self.is_numbers else "order" if self.item.kind == "order" else "choose"
        return say(what, self.language, n=self.item.n_right)

    @property
    def text(self) -> str:
        """The text of the question, with the student's own numbers if it asks for numbers."""
        if self.is_numbers:
            return numbers_text(self.item, self.student_id, self.language)
        return self.item.question[self.language]

    @property
    def options(self) -> dict[str, str]:
        """The options' texts by letter."""
        texts = self.item.options[self.language]
        letters = options_for(self.item, self.student_id)
        return {letter: texts[option] for letter, option in letters.items()}

    @property
    def units(self) -> dict[str, str]:
        """The unit of each number, by field, in the student's language."""
        fields = self.item.numbers.fields
        return {name: unit_in(unit, self.language) for name, unit in fields.items()}

    def as_markdown(self) -> str:
        """All of it for a viewer without widgets; it reads well as plain text, too."""
        if self.is_numbers:
            rows = [f"- `{name}` ({unit})" for name, unit in self.units.items()]
        else:
            rows = [f"- **{letter}** {text}" for letter, text in self.options.items()]
        source = f"*{'; '.join(self.item.source)}*"
        return "\n\n".join([f"**{self.title}**", source, self.text, self.wanted, "\n".join(rows)])

    def head_html(self) -> str:
        """Title, what to read, the question; without its options."""
        source = ARXIV.sub(
            r'<a href="https://arxiv.org/abs/\1" target="_blank">arXiv:\1</a>',
            html.escape("; ".join(self.item.source)),
        )
        return (
            f'<div style="{STYLE}"><b>{html.escape(self.title)}</b>'
            f'<div style="{QUIET}">{source}</div>{as_html(self.text)}'
            f"<div><b>{html.escape(self.wanted)}</b></div></div>"
        )

    def explained_html(self) -> str:
        """Why each option is right or wrong, or how numbers come about; "" before the release."""
        key = explained(self.item)
        if key is None:
            return ""
        if self.is_numbers:
            return f'<div style="{STYLE}">{as_html(key["numbers"][self.language])}</div>'
        rows = []
        for letter, option in options_for(self.item, self.student_id).items():
            place = key["right"].index(option) + 1 if option in key["right"] else 0
            mark = f"{place}." if self.item.kind == "order" else "✓" if place else "✗"
            why = html.escape(key[self.language]["why"][option])
            rows.append(f"<div><b>{letter}</b> {mark} {why}</div>")
        return f'<div style="{STYLE}">{"".join(rows)}</div>'


def as_html(text: str) -> str:
    """Paragraphs, `code` and fenced tables as HTML."""
    parts = []
    for i, part in enumerate(FENCE.split(text)):
        if i % 2:
            parts.append(f'<pre style="line-height:1.3">{html.escape(part)}</pre>')
        else:
            paragraphs = [each for each in re.split(r"\n\s*\n", part.strip()) if each]
            parts += [f'<p style="margin:0.4em 0">{with_code(each)}</p>' for each in paragraphs]
    return "".join(parts)


def answers_table(rows: Mapping[str, str]) -> str:
    """One line per answer, as text."""
    width = max(map(len, rows))
    return "\n".join(f"{name:<{width}}  {said}" for name, said in rows.items())
