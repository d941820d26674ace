"""Asking a judge model about the written answers of a class: the cost first, then each answer."""

from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from autograder.desk.answers import Answer, Answers, AnswerSheet
from autograder.desk.groups import BLANK
from autograder.desk.rubric import Question
from autograder.desk.states import CurrentItem
from autograder.desk.store import MarkStore
from autograder.desk.suggestions import (
    Suggested,
    Suggestions,
    messages_for,
    read_reply,
    without_names,
)
from autograder.desk.tables import DeskTables
from autograder.errors import Refusal
from autograder.judge_model.client import JudgeClient, JudgeError
from autograder.judge_model.cost import Estimate, Price, estimate
from autograder.record.database import gradebook_of

N_AT_ONCE, N_TRIES = 4, 2


@dataclass(frozen=True)
class Asked:
    """One text to ask about, and the answers that have it. text: without names."""

    question: Question
    items: list[CurrentItem]
    text: str
    answers: list[Answer]

    @property
    def messages(self) -> list[dict[str, str]]:
        return messages_for(self.question, self.items, self.text)


class Asking:
    """The texts of an output folder that a judge has yet to read."""

    def __init__(self, out: Path, lab: str, judge: JudgeClient) -> None:
        """Raises: Refusal if nothing was graded or if no text is left."""
        tables = DeskTables(gradebook_of(out))
        answers = Answers(out, tables.secret())
        self._store = MarkStore(tables, answers.questions(), answers.digest)
        self._suggestions, self._judge = Suggestions(tables), judge
        self._names = self._suggestions.names()
        sheets = [answers.sheet(each.lab, each.name) for each in answers.questions()
                  if each.lab == lab]  # fmt: skip
        self.todo = [asked for sheet in sheets if sheet for asked in self._of(sheet)]
        if not self.todo:
            raise Refusal(f"{lab} has no written answer that {judge.model} has not read.")

    def cost(self, price: Price | None) -> Estimate:
        """The cost of asking about each text once."""
        return estimate((asked.messages for asked in self.todo), price)

    def ask(self, on_done: Callable[[], object]) -> int:
        """Ask, and store each reply as it comes. Returns how many replies were no list of items.

        Raises: Refusal if the judge fails; earlier replies stay stored.
        """
        pool = ThreadPoolExecutor(N_AT_ONCE)
        n_unclear = 0
        try:
            for is_clear in pool.map(self._ask, self.todo):
                on_done()
                n_unclear += not is_clear
        except JudgeError as error:
            raise Refusal(f"{error}. The suggestions until now are kept.") from error
        finally:
            self._judge.stop()
            pool.shutdown(cancel_futures=True)
        return n_unclear

    def _ask(self, asked: Asked) -> bool:
        """Whether the judge gave a list within two tries; it is kept at once."""
        for _ in range(N_TRIES):
            quotes = read_reply(self._judge.ask(asked.messages).text, asked.items, asked.text)
            if quotes is not None:
                for answer in asked.answers:
                    suggested = Suggested(self._judge.model, quotes)
                    self._suggestions.keep(answer.key, answer.text, suggested)
                return True
        return False

    def _of(self, sheet: AnswerSheet) -> Iterator[Asked]:
        question = sheet.question
        items = self._store.items(question.lab, question.name)
        same: dict[str, list[Answer]] = {}
        for name, answer in sheet.answers.items():
            known = self._suggestions.of(answer.key, answer.text)
            if sheet.groups[name].kind != BLANK and (not known or known.judge != self._judge.model):
                text = without_names(answer.text, answer.key.student, self._names)
                same.setdefault(text, []).append(answer)
        for text, answers in same.items():
            yield Asked(question, items, text, answers)
