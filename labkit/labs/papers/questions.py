"""The questions of lab 8 as a notebook shows them: Markdown that reads well as plain text, too."""

import re
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from labkit.bridge.local import local_student
from labkit.checks.core import Unfinished
from labkit.labs.papers.answers import UnreadableAnswer, is_blank, letters_of, numbers_of
from labkit.labs.papers.checks.marks import ItemCase, LocalWrong, what_is_read
from labkit.labs.papers.items import (
    LANGUAGES,
    Item,
    explained,
    id_in,
    item_of,
    items,
    numbers_text,
    options_for,
)
from labkit.labs.papers.printed import printed_page
from labkit.labs.papers.words import language_of, say, unit_in
from labkit.models.own_numbers import printable

ARXIV = re.compile(r"arXiv:(\d{4}\.\d{5})")


@dataclass(frozen=True)
class Page:
    """Markdown that a cell shows, and below it the figure of the item of this name, if it has one.

    The figure is drawn when a notebook shows the page: a grader that runs the cell needs none.
    """

    text: str
    item: str = ""
    language: str = "en"

    def __str__(self) -> str:
        return self.text

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/markdown": self.text, "text/plain": self.text}

    def _ipython_display_(self) -> None:
        from IPython.display import display

        from labkit.labs.papers.figures import figure_of

        display(self._repr_mimebundle_(), raw=True)
        if figure := figure_of(self.item, self.language):
            display(figure)


class Asker:
    """Shows the questions of the student whose id and language a notebook names.

    ask = Asker(globals())
    ask("q02", q02)
    ask.summary()
    """

    def __init__(self, namespace: Mapping[str, Any]) -> None:
        self._names = namespace

    def __call__(self, name: str, answer: Any = ...) -> Page:
        """The question that the variable `name` answers.

        In an edition of after the deadline, the reasons follow if `answer` is complete. Raises:
        ValueError if there is no such question.
        """
        item, (student_id, language) = item_of(name), self._who()
        if not student_id:
            return Page(say("no id", language))
        question = AskedItem(item, name, student_id, language)
        text = "\n\n".join([*question.paragraphs(), *question.reasons(answer)])
        return Page(text, "" if question.is_numbers else item.name, language)

    def summary(self) -> Page:
        """How each answer was read, or why it cannot be read."""
        names = [name for item in items().values() for name in item.answers]
        return Page("\n".join(f"* `{name}`: {self._read(name)}" for name in names))

    def printed(self, path: str = "questions.html") -> Page:
        """Write all questions in both languages into a file to print, and say where it is."""
        from labkit.labs.papers.figures import figure_of
        from labkit.measuring.plots import png_bytes

        student_id, language = self._who()
        if not student_id:
            return Page(say("no id", language))
        asked = (
            AskedItem(item, name, student_id, each)
            for item in items().values()
            for name in item.answers
            for each in LANGUAGES
        )
        shown: list[tuple[str, list[str], str]] = []
        for each in asked:  # the figure stands once, below both languages
            is_last = each.language == LANGUAGES[-1] and not each.is_numbers
            figure = figure_of(each.item.name, each.language) if is_last else None
            picture = figure.html(png_bytes(figure)) if figure else ""
            shown.append((each.language, each.paragraphs(), picture))
        text = printed_page(printable(student_id), shown)
        Path(path).write_text(text, encoding="utf-8")
        return Page(say("printed", language, path=path))

    def _read(self, name: str) -> str:
        if name not in self._names:
            return say("blank", self._who()[1])
        try:
            return what_is_read(local_student(self._names), ItemCase(name))
        except Unfinished as unfinished:
            return str(unfinished)
        except LocalWrong as wrong:
            return wrong.sentences()

    def _who(self) -> tuple[str, str]:
        names = self._names
        return id_in(names.get("student_id")), language_of(names.get("language"))


@dataclass(frozen=True)
class AskedItem:
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
        """The instruction of the item."""
        n = self.item.n_right
        what = {0: "order", 1: "choose one"}.get(n, "choose")
        if self.is_numbers or self.item.kind == "audit":
            what = "fill" if self.is_numbers else "audit"
        return say(what, self.language, n=n)

    @property
    def text(self) -> str:
        """The text of the question, with the student's own numbers if it asks for numbers."""
        if self.is_numbers:
            return numbers_text(self.item, self.student_id, self.language)
        return self.item.question[self.language]

    def paragraphs(self) -> list[str]:
        """Title, what to read, the question, what to do, and the options or fields."""
        source = ARXIV.sub(r"[arXiv:\1](https://arxiv.org/abs/\1)", "; ".join(self.item.source))
        if self.is_numbers:
            fields = self.item.numbers.fields.items()
            rows = [f"* `{name}` ({unit_in(unit, self.language)})" for name, unit in fields]
        else:
            texts = self.item.options[self.language]
            letters = options_for(self.item, self.student_id)
            rows = [f"* **{letter}**: {texts[option]}" for letter, option in letters.items()]
        return [f"**{self.title}**", source, self.text, f"**{self.wanted}**", "\n".join(rows)]

    def reasons(self, answer: Any) -> list[str]:
        """Why each option is right or wrong, or how numbers come about; none before the release.

        None either if the answer is not complete.
        """
        key = explained(self.item)
        if key is None or not self._is_complete(answer):
            return []
        if self.is_numbers:
            ways = [key["numbers"][self.language].strip()] if "numbers" in key else []
            if self.item.kind == "audit":
                ways.insert(0, key[self.language]["why"][key["right"][0]])
            return ways
        rows = []
        for letter, option in options_for(self.item, self.student_id).items():
            place = key["right"].index(option) + 1 if option in key["right"] else 0
            is_true = (place > 0) is (self.item.kind != "audit")
            mark = f"{place}." if self.item.kind == "order" else "✓" if is_true else "✗"
            rows.append(f"* **{letter}** {mark} {key[self.language]['why'][option]}")
        return ["\n".join(rows)]

    def _is_complete(self, answer: Any) -> bool:
        try:
            if self.is_numbers:
                values = numbers_of(self.item, answer, self.language).values()
                return not any(map(is_blank, values))
            letters_of(self.item, answer, self.language)
            return True
        except UnreadableAnswer:
            return False
