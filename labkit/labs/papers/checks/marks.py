"""How the items of lab 8 are read and marked.

Without a key, in the notebook, every check of an answer says the same: what is read of it.
With the grader's key it marks: letters by the right ones less the wrong ones, an order by the steps
that follow each other, numbers field by field.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, ClassVar

from labkit.bridge.requests import value_of
from labkit.bridge.student import MissingName, Proxy, Student
from labkit.checks.answers import is_near
from labkit.checks.compare import show
from labkit.checks.core import OnlyRead, Unfinished, Wrong
from labkit.labs.papers.answers import UnreadableAnswer, is_blank, letters_of, number_of, numbers_of
from labkit.labs.papers.items import INSTEAD, Item, id_in, item_of, options_for
from labkit.labs.papers.words import PERCENT, in_general, language_of, say

RELATIVE, RELATIVE_OF_SLIPS = 5e-3, 2e-3
OF_AUDITS = 2e-2  # relative: the sentences round to two or three digits
OF_COUNTS = 1e-12  # relative: a count may have been computed in floats
OF_PERCENT = 0.5  # points: a difference of numbers that were rounded
Play = Callable[[Student, "ItemCase"], None]


@dataclass(frozen=True)
class ItemCase:
    """An answer to read. answer: its variable; key: what is right, which the grader alone has."""

    is_own: ClassVar[bool] = True  # the student wrote it

    answer: str
    key: Any = None

    def __str__(self) -> str:
        return self.answer

    @property
    def item(self) -> Item:
        return item_of(self.answer)


class LocalWrong(Wrong):
    """Wrong, in sentences of the student's language, which have their own full stops.

    cause: the same in English, without what depends on the student: letters and numbers are theirs.
    """

    def sentences(self) -> str:
        """All sentences of the message."""
        return f"{self.what} {self.why}".strip()


class Unread(LocalWrong):
    """The answer cannot be read, so none of its checks can pass."""

    share = 0.0


def has_at_least(n_right: int) -> Play:
    """Marks whether at least this many chosen options are right; explains if all should be."""

    def play(student: Student, case: ItemCase) -> None:
        if case.key is None:
            raise OnlyRead(what_is_read(student, case))
        letters = read_letters(student, case)
        student_id, language = who(student)
        right = case.key.letters(student_id)
        n_found = len(set(letters) & set(right))
        if n_found >= n_right:
            return
        read = {"read": " ".join(letters), "n": n_found, "wanted": len(right)}
        why = _reasons(case, student_id, language, letters) if n_right == len(right) else ""
        cause = in_general("right letters", n=n_found, wanted=len(right))
        raise LocalWrong(say("right letters", language, **read), why=why, cause=cause)

    return play


def has_in_a_row(place: int) -> Play:
    """Marks whether the step at this place of the right order is followed by the right one."""

    def play(student: Student, case: ItemCase) -> None:
        if case.key is None:
            raise OnlyRead(what_is_read(student, case))
        letters = read_letters(student, case)
        student_id, language = who(student)
        first, second = case.key.letters(student_id)[place : place + 2]
        if second not in letters[letters.index(first) + 1 :][:1]:
            option = options_for(case.item, student_id)[second]
            what = say("no step", language, first=first, second=second)
            raise LocalWrong(
                what, why=case.key.why[language][option], cause=case.key.why["en"][option]
            )

    return play


def has_number(field: str) -> Play:
    """Marks one number: counts but for a float's rounding, all others within half a percent.

    That of an audit may be wrong by two percent, as what it is computed from is rounded, and a
    percentage by half a point.
    """
    tolerance = OF_AUDITS if field == INSTEAD else RELATIVE

    def play(student: Student, case: ItemCase) -> None:
        if case.key is None:
            raise OnlyRead(what_is_read(student, case))
        got = read_number(student, case, field)
        student_id, language = who(student)
        right = case.key.numbers(student_id)[field]
        if is_near(got, right, OF_COUNTS if isinstance(right, int) else tolerance):
            return
        if case.item.numbers.fields[field] == PERCENT and abs(got - right) <= OF_PERCENT:
            return
        slip = _slip(case, student_id, field, got)
        way = case.key.way(field, language)
        how = " ".join(f"{case.key.slips[language].get(slip, '')} {way}".split())
        cause = case.key.slips["en"].get(slip) or in_general("wrong number", field=field)
        what = say("wrong number", language, field=field, read=show(got))
        raise LocalWrong(what, why=how, cause=cause)

    return play


def what_is_read(student: Student, case: ItemCase) -> str:
    """The text that shows how an answer was read, in the student's language.

    Raises: Unfinished if it is not complete, Unread if it is no answer.
    """
    _, language = who(student)
    try:
        if case.answer == case.item.id:
            letters = read_letters(student, case)
            what = "read letters" if len(letters) > 1 else "read"
            return say(what, language, read=" ".join(letters), n=len(letters))
        fields = case.item.numbers.fields
        values = {field: read_number(student, case, field) for field in fields}
    except LocalWrong as wrong:
        raise Unread(wrong.what, cause=wrong.cause) from None
    read = ", ".join(f"{field} = {show(value)}" for field, value in values.items())
    return say("read", language, read=read)


def who(student: Student) -> tuple[str, str]:
    """The student's id and language. Raises: Unfinished if there is no id."""
    student_id = id_in(value_of(student.student_id))
    try:
        language = language_of(value_of(student.language))
    except MissingName:
        language = language_of(None)
    if not student_id:
        raise Unfinished(say("no id", language))
    return student_id, language


def read_letters(student: Student, case: ItemCase) -> list[str]:
    """The letters of an answer. Raises: Unfinished if there is none, Wrong if it is no answer."""
    answer, language = _answer(student, case)
    try:
        return letters_of(case.item, answer, language)
    except UnreadableAnswer as error:
        raise LocalWrong(str(error), cause=error.cause) from None


def read_number(student: Student, case: ItemCase, field: str) -> float:
    """One number of an answer. Raises: Unfinished if it is blank, Wrong if it is no number."""
    answer, language = _answer(student, case)
    try:
        value = numbers_of(case.item, answer, language)[field]
    except UnreadableAnswer as error:
        raise LocalWrong(str(error), cause=error.cause) from None
    if is_blank(value):
        raise Unfinished(say("field blank", language, field=field))
    number = number_of(value, case.item.numbers.fields[field])
    if number is None or not math.isfinite(number):
        cause = in_general("not a number", field=field)
        raise LocalWrong(say("not a number", language, field=field, read=show(value)), cause=cause)
    return number


def _answer(student: Student, case: ItemCase) -> tuple[Any, str]:
    _, language = who(student)
    answer = _plain(value_of(getattr(student, case.answer)))
    if is_blank(answer):
        raise Unfinished(say("blank", language))
    return answer, language


def _plain(answer: Any) -> Any:
    """The answer with None for every `...`, which stays in the student's process."""
    if isinstance(answer, Proxy):
        return None if answer._kind == "ellipsis" else answer
    if isinstance(answer, dict):
        return {name: _plain(value) for name, value in answer.items()}
    return answer


def _reasons(case: ItemCase, student_id: str, language: str, letters: list[str]) -> str:
    """Why the options that were missed are right, and why those chosen instead are not."""
    right, why = case.key.letters(student_id), case.key.why[language]
    sentences = []
    for letter, option in options_for(case.item, student_id).items():
        if (letter in right) != (letter in letters):
            what = "missed" if letter in right else "chosen"
            sentences.append(say(what, language, letter=letter, why=why[option]))
    return " ".join(sentences)


def _slip(case: ItemCase, student_id: str, field: str, got: float) -> str:
    """The known mistake that gives this wrong number; "" if none does."""
    for name, fields in case.key.wrong_numbers(student_id).items():
        if field in fields and is_near(got, fields[field], RELATIVE_OF_SLIPS):
            return name
    return ""
