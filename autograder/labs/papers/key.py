"""The keys of lab 8, which only the grader has: what is right, and why, option by option.

A key stands in `autograder/labs/papers/keys` under the name of its item's file. Keys of items that
rotate stand in `rotating` there.
"""

import json
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from autograder.labs.papers.numbers import RIGHT, Fields
from autograder.labs.papers.slips import SLIPS
from labkit.labs.papers.items import (
    EXPLAINED,
    INSTEAD,
    LANGUAGES,
    Item,
    item_of,
    items,
    options_for,
    parameters_for,
)

FOLDER = Path(__file__).resolve().parent / "keys"
COPIED = "copied"  # the slip of an audit: the wrong number itself
AS_COPIED = {
    "en": "That is the number of the false sentence itself.",
    "zh": "這正是錯的那一句裡的數字。",
}
INSTRUCTOR = "instructor"  # the student id of the solved notebook


@dataclass(frozen=True)
class Key:
    """What is right. why: by language and option id; how and slips: sentences on the numbers.

    how: by language, none if an audit asks for one number; slips: by language and name of the slip;
    instead: what belongs in the false sentence of an audit, None for other items.
    """

    item: Item
    right: tuple[str, ...]
    why: Mapping[str, Mapping[str, str]]
    how: Mapping[str, str]
    slips: Mapping[str, Mapping[str, str]]
    instead: float | None = None

    def letters(self, student_id: str) -> list[str]:
        """The right letters as this student sees them, in the right order if there is one."""
        by_id = {option: letter for letter, option in options_for(self.item, student_id).items()}
        found = [by_id[option] for option in self.right]
        return found if self.item.kind == "order" else sorted(found)

    def numbers(self, student_id: str) -> Fields:
        """The right numbers of this student, by field."""
        found = {} if self.instead is None else {INSTEAD: self.instead}
        if self.item.name in RIGHT:
            found |= RIGHT[self.item.name](**parameters_for(self.item, student_id))
        return found

    def wrong_numbers(self, student_id: str) -> dict[str, Fields]:
        """What known mistakes make of this student's numbers, by slip."""
        given = parameters_for(self.item, student_id)
        slips = SLIPS.get(self.item.name, {})
        found = {name: slip(**given) for name, slip in slips.items()}
        if self.instead is not None:
            found[COPIED] = {INSTEAD: self.item.number_in_bold(self.right[0])}
        return found

    def way(self, field: str, language: str) -> str:
        """How a number comes about: that of an audit as the false sentence's reason says."""
        is_audit = field == INSTEAD
        return self.why[language][self.right[0]] if is_audit else self.how[language]


def solved_answer(answer: str, student_id: str = INSTRUCTOR) -> str:
    """The cell that answers an item rightly, by default for the id of the solved notebook."""
    item = item_of(answer)
    key = keys()[item.id]
    is_letters = answer == item.id
    value = " ".join(key.letters(student_id)) if is_letters else key.numbers(student_id)
    return f'{answer} = {json.dumps(value)}\nask("{answer}", {answer})'


@cache
def keys() -> dict[str, Key]:
    """The keys of all items, by item id."""
    return {item.id: read_key(item, FOLDER) for item in items().values()}


def explanations() -> dict[str, bytes]:
    """The files of the keys, under the names that they have in an edition with explanations."""
    paths = [path for item in items().values() for path in _paths_of(item, FOLDER)]
    return {f"labkit/data/{EXPLAINED}/{path.name}": path.read_bytes() for path in paths}


def read_key(item: Item, folder: Path) -> Key:
    """The key of an item. Raises: ValueError naming the file, if it does not fit the item."""
    found = _paths_of(item, folder)
    if len(found) != 1:
        raise ValueError(f"{item.name} has {len(found)} keys in {folder}, not one")
    try:
        key = _read(item, tomllib.loads(found[0].read_text(encoding="utf-8")))
        _compare(key)
    except KeyError as error:
        raise ValueError(f"the key {found[0].name} has no {error}") from None
    except ValueError as error:
        raise ValueError(f"the key {found[0].name}: {error}") from None
    return key


def _paths_of(item: Item, folder: Path) -> list[Path]:
    return sorted(folder.rglob(f"{item.name}*.toml"))


def _read(item: Item, content: dict) -> Key:
    has_formula = item.has_formula
    numbers = content["numbers"] if has_formula else content.get("numbers", {})
    slips = numbers.get("slips", [])
    named = {language: {slip["name"]: slip[language] for slip in slips} for language in LANGUAGES}
    is_audit = item.kind == "audit"
    for language in LANGUAGES if is_audit else ():
        named[language][COPIED] = AS_COPIED[language]
    return Key(
        item,
        tuple(content["right"]),
        {language: content[language]["why"] for language in LANGUAGES},
        {language: numbers[language] for language in LANGUAGES if has_formula},
        named,
        content["instead"] if is_audit else None,
    )


def _compare(key: Key) -> None:
    item, ids = key.item, set(key.item.options["en"])
    if set(key.right) - ids or len(set(key.right)) != len(key.right):
        raise ValueError(f"{', '.join(key.right)} are not options of the item, each once")
    if len(key.right) != item.n_letters:
        raise ValueError(f"{len(key.right)} right ones, the item has {item.n_letters}")
    for language in LANGUAGES:
        if set(key.why[language]) != ids or not all(key.why[language].values()):
            raise ValueError(f"not a reason for each option in {language}")
        if set(key.slips[language]) - {COPIED} != set(SLIPS.get(item.name, ())):
            raise ValueError(f"the slips in {language} are not those of papers_slips")
    if not item.has_formula == (item.name in RIGHT) == bool(key.how):
        raise ValueError("numbers without a formula, or a formula without numbers")
    if item.numbers and set(key.numbers("")) != set(item.numbers.fields):
        raise ValueError("the formula does not give the item's fields")
