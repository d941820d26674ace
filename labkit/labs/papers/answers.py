"""Reading what students answer to the items of lab 8.

An answer is letters ("A C E", a list, a set) or a dict of numbers.
"""

from numbers import Real
from string import ascii_uppercase as LETTERS
from typing import Any

from labkit.checks.compare import number_in as plain_number_in
from labkit.checks.core import Unfinished, Wrong
from labkit.labs.papers.items import Item, letters_in, number_in
from labkit.labs.papers.words import in_general, say
from labkit.models.own_numbers import printable

MAX_SHOWN_CHARS = 60


class UnreadableAnswer(ValueError):
    """An answer that cannot be taken as letters or numbers, in the student's language.

    cause: the same for all students.
    """

    def __init__(self, what: str, language: str, **values: Any) -> None:
        super().__init__(say(what, language, **values))
        self.cause = in_general(what)


def is_blank(answer: Any) -> bool:
    """Whether nothing is answered: `...`, "", None, an empty list, or a dict of such."""
    if isinstance(answer, dict):
        return all(map(is_blank, answer.values()))
    if isinstance(answer, list | tuple | set | frozenset):
        return not answer
    return answer is None or answer is ... or (isinstance(answer, str) and not answer.strip())


def letters_of(item: Item, answer: Any, language: str) -> list[str]:
    """The letters of an answer that is not blank, as many as are wanted and each once.

    Raises: UnreadableAnswer saying what was read.
    """
    letters = _letters(answer)
    known = LETTERS[: len(item.options["en"])]
    read = shown(" ".join(letters or ()) or answer)
    if letters is None or (item.kind == "order" and isinstance(answer, set | frozenset)):
        raise UnreadableAnswer("not letters", language, read=read)
    if strange := [letter for letter in letters if letter not in known]:
        raise UnreadableAnswer("no such letter", language, letter=strange[0], last=known[-1])
    if len(letters) > len(known):
        letters = letters[: len(known) + 1]
    if doubled := [letter for letter in letters if letters.count(letter) > 1]:
        raise UnreadableAnswer("doubled", language, letter=doubled[0], read=read)
    if len(letters) != item.n_letters:
        counts = {"n": len(letters), "wanted": item.n_letters}
        raise UnreadableAnswer("wrong count", language, read=read, **counts)
    return letters


def numbers_of(item: Item, answer: Any, language: str) -> dict[str, Any]:
    """The values of an answer in numbers, by field, unchecked.

    Raises: UnreadableAnswer if it is no dict with the item's fields.
    """
    fields = item.numbers.fields
    if not isinstance(answer, dict) or not set(fields) <= set(answer):
        raise UnreadableAnswer("not fields", language, fields=", ".join(fields), read=shown(answer))
    return {name: answer[name] for name in fields}


def number_of(value: Any, unit: str) -> int | float | None:
    """The plain number in a value, or in a text as it is typed; None if there is none."""
    if isinstance(value, str):
        return number_in(value, unit)
    is_exact = isinstance(value, int) or not isinstance(value, Real)
    try:
        return plain_number_in(value if is_exact else float(value), "")
    except (Wrong, Unfinished, ArithmeticError):
        return None


def shown(answer: Any) -> str:
    """An answer in a few characters."""
    try:
        text = answer if isinstance(answer, str) else repr(answer)
    except Exception:
        text = f"<{type(answer).__name__}>"
    text = printable(text[: MAX_SHOWN_CHARS + 1])
    return text if len(text) <= MAX_SHOWN_CHARS else text[: MAX_SHOWN_CHARS - 3] + "..."


def _letters(answer: Any) -> list[str] | None:
    if isinstance(answer, str):
        return letters_in(answer)
    if isinstance(answer, list | tuple | set | frozenset):
        parts = list(answer) if isinstance(answer, list | tuple) else sorted(answer, key=str)
        if all(isinstance(part, str) for part in parts):
            return letters_in(" ".join(parts))
    return None
