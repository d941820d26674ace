"""Reading what students answer to the items of lab 8, typed or clicked.

An answer is letters ("A C E", a list, a set) or a dict of numbers. One that was typed and clicked
differently is `{"written": ..., "clicked": ...}`, until the student settles it. Of numbers some may
be typed and others clicked.
"""

import math
from numbers import Real
from string import ascii_uppercase as LETTERS
from typing import Any

from labkit.checks.compare import number_in as plain_number_in
from labkit.checks.core import Unfinished, Wrong
from labkit.labs.papers.items import Item, item_of, letters_in, number_in
from labkit.labs.papers.words import in_general, say
from labkit.models.own_numbers import printable

BOTH = {"written", "clicked"}
MAX_SHOWN_CHARS = 60
LARGEST = 1e30
ROUNDING = 1e-3  # between what a cell computes and what was clicked for it, relative


class Unreadable(ValueError):
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


def both(item: Item, written: Any, clicked: Any) -> Any:
    """One answer of what was typed and what was clicked; both of them if they differ.

    Numbers are taken field by field.
    """
    if is_blank(clicked) or is_blank(written):
        return written if is_blank(clicked) else clicked
    if isinstance(written, dict) and isinstance(clicked, dict):
        filled = {name: value for name, value in clicked.items() if not is_blank(value)}
        more = {name: value for name, value in filled.items() if is_blank(written.get(name))}
        is_one = all(_agree(written[name], filled[name]) for name in filled.keys() - more.keys())
        answer = written | more
    else:
        is_one, answer = _same_letters(item, written, clicked), written
    return answer if is_one else {"written": written, "clicked": clicked}


def is_twofold(answer: Any) -> bool:
    """Whether an answer was given twice, and differently."""
    return isinstance(answer, dict) and set(answer) == BOTH


def letters_of(item: Item, answer: Any, language: str) -> list[str]:
    """The letters of an answer that is not blank, as many as are wanted and each once.

    Raises: Unreadable saying what was read.
    """
    answer = _settled(item, answer, language)
    letters = _letters(answer)
    known = LETTERS[: len(item.options["en"])]
    read = shown(" ".join(letters or ()) or answer)
    if letters is None or (item.kind == "order" and isinstance(answer, set | frozenset)):
        raise Unreadable("not letters", language, read=read)
    if strange := [letter for letter in letters if letter not in known]:
        raise Unreadable("no such letter", language, letter=strange[0], last=known[-1])
    if len(letters) > len(known):
        letters = letters[: len(known) + 1]
    if doubled := [letter for letter in letters if letters.count(letter) > 1]:
        raise Unreadable("doubled", language, letter=doubled[0], read=read)
    if len(letters) != item.n_letters:
        counts = {"n": len(letters), "wanted": item.n_letters}
        raise Unreadable("wrong count", language, read=read, **counts)
    return letters


def numbers_of(item: Item, answer: Any, language: str) -> dict[str, Any]:
    """The values of an answer in numbers by field, whatever they are.

    Raises: Unreadable if it is no dict with the item's fields, or answered twice.
    """
    answer = _settled(item, answer, language)
    fields = item.numbers.fields
    if not isinstance(answer, dict) or not set(fields) <= set(answer):
        raise Unreadable("not fields", language, fields=", ".join(fields), read=shown(answer))
    return {name: answer[name] for name in fields}


def number_of(value: Any) -> int | float | None:
    """The plain number in a value, or in a text as it is typed; None if there is none."""
    if isinstance(value, str):
        return number_in(value)
    is_exact = isinstance(value, int) or not isinstance(value, Real)
    try:
        return plain_number_in(value if is_exact else float(value), "")
    except (Wrong, Unfinished, ArithmeticError):
        return None


def clean(name: str, answer: Any) -> str | dict[str, Any]:
    """A stored answer that nobody vouches for, as known letters or finite numbers; else "".

    Numbers that are missing are `...`, as in a cell that is not filled in.
    """
    try:
        item = item_of(name)
    except ValueError:
        return ""
    if name == item.id:
        letters = letters_in(answer) if isinstance(answer, str) else []
        known = LETTERS[: len(item.options["en"])]
        is_sound = len(set(letters)) == len(letters) and set(letters) <= set(known)
        return " ".join(letters) if is_sound else ""
    values = answer if isinstance(answer, dict) else {}
    found = {field: _number(values.get(field)) for field in item.numbers.fields}
    return "" if is_blank(found) else found


def code_line(name: str, answer: Any) -> str:
    """The line of code that says the same as the clicks."""
    if isinstance(answer, str):
        return f'{name} = "{answer}"'
    values = {field: "..." if value is ... else repr(value) for field, value in answer.items()}
    fields = ", ".join(f'"{field}": {value}' for field, value in values.items())
    return f"{name} = {{{fields}}}"


def shown(answer: Any) -> str:
    """An answer in a few characters."""
    try:
        text = answer if isinstance(answer, str) else repr(answer)
    except Exception:
        text = f"<{type(answer).__name__}>"
    text = printable(text[: MAX_SHOWN_CHARS + 1])
    return text if len(text) <= MAX_SHOWN_CHARS else text[: MAX_SHOWN_CHARS - 3] + "..."


def _settled(item: Item, answer: Any, language: str) -> Any:
    """The one answer, where it was given twice alike."""
    if is_twofold(answer):
        answer = both(item, **answer)
    if is_twofold(answer):
        raise Unreadable("twice", language, **{name: shown(answer[name]) for name in BOTH})
    return answer


def _number(value: Any) -> Any:
    """A finite number of ordinary size, or `...`."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    return value if is_number and abs(value) <= LARGEST else ...


def _letters(answer: Any) -> list[str] | None:
    if isinstance(answer, str):
        return letters_in(answer)
    if isinstance(answer, list | tuple | set | frozenset):
        parts = list(answer) if isinstance(answer, list | tuple) else sorted(answer, key=str)
        if all(isinstance(part, str) for part in parts):
            return letters_in(" ".join(parts))
    return None


def _same_letters(item: Item, written: Any, clicked: Any) -> bool:
    """Whether the same is chosen, or put in the same order."""
    both_read = [_letters(written), _letters(clicked)]
    if None in both_read:
        return False
    one, other = both_read if item.kind == "order" else map(sorted, both_read)
    return one == other


def _agree(written: Any, clicked: Any) -> bool:
    """Whether two numbers are one, but for rounding."""
    numbers = number_of(written), number_of(clicked)
    return None not in numbers and math.isclose(*numbers, rel_tol=ROUNDING)
