"""The items of lab 8: questions on papers, in two languages, with numbers of one's own.

An item is a file in `data/papers`. Two places take a file of `data/papers/rotating` each;
`rotation.json` names them, and `autograder build` writes it from notebooks/course.toml. Which
letter an option has, and which numbers stand in a question, is drawn from the student's id. What is
right is not here: the grader keeps it.

An audit is a choice of another kind. Each of its sentences has one number in bold. One sentence is
false; its number is wrong. The answer is its letter, and the number that belongs there.
"""

import json
import re
import tomllib
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from string import ascii_uppercase
from typing import Any

from labkit.labs.papers.parameters import TABLES
from labkit.labs.papers.words import OF_THE_SENTENCE, PERCENT, say
from labkit.models.facts import data_path
from labkit.models.own_numbers import MAX_ID_CHARS, own_random, printable

LANGUAGES = ("en", "zh")
KINDS = ("choice", "order", "audit")
INSTEAD = "instead"  # the field of an audit: what belongs in place of the wrong number
BOLD = re.compile(r"\*\*([^*]*)\*\*")
EXPLAINED = "papers_explained"  # a folder that only editions after the deadline have
MAX_ANSWER_CHARS = 1000
BETWEEN = r"\s,;.:/|<>()\[\]{}'\"`_&+=、，；。・·→⇒\u2013\u2014\-"
UNSEEN = r"\u00ad\u200b-\u200f\u2060-\u2064\ufeff"  # of no width
SEPARATORS = re.compile(
    rf"[{BETWEEN}{UNSEEN}]+|(?<![a-z])and(?![a-z])|和|與|及|选项?|選項?|答案|是|第|项|項|个|個",
    re.IGNORECASE,
)
ONE_OF = {
    "tokens": "token",
    "bytes": "byte",
    "rows": "row",
    "elements": "element",
    "cycles": "cycle",
    "passes": "pass",
}
SHORT_UNITS = {
    "tokens per s": "tokens/s",
    "ratio": "x",
    "bytes": "b",
    "FLOP": "flops",
    PERCENT: "%",
}
PLACES = re.compile(r"(?<!\d)(\d{1,2})[.):、]\s*(?=[a-z])", re.IGNORECASE)


@dataclass(frozen=True)
class Numbers:
    """The half of an item that is computed. text: by language; fields: units by name."""

    parameters: tuple[str, ...]
    text: Mapping[str, str]
    fields: Mapping[str, str]


@dataclass(frozen=True)
class Item:
    """One item. title, question, options: by language; options: texts by option id.

    id: its place, such as "q10"; name: what its key and values are called, such as "eagle_3", or
    the id; n_right: how many options are right, 0 if they are to be put in order.
    """

    id: str
    name: str
    title: Mapping[str, str]
    source: tuple[str, ...]
    kind: str
    n_right: int
    question: Mapping[str, str]
    options: Mapping[str, Mapping[str, str]]
    numbers: Numbers | None

    def __post_init__(self) -> None:
        ids = {language: set(texts) for language, texts in self.options.items()}
        n_options = len(ids["en"])
        fits = self.n_right == 0 if self.kind == "order" else 0 < self.n_right < n_options
        names = set(self.numbers.parameters) if self.numbers else set()
        if self.kind not in KINDS or not fits:
            raise ValueError(f"{self.id}: {self.n_right} right ones of {n_options}, {self.kind}")
        if ids["en"] != ids["zh"]:
            raise ValueError(f"{self.id}: not the same options in both languages")
        if self.kind == "audit":
            self._compare_numbers_in_bold()
        for text in self.numbers.text.values() if self.numbers else ():
            if set(re.findall(r"\{(\w+)\}", text)) - names or names != set(_names_of(self.name)):
                raise ValueError(f"{self.id}: the parameters of its numbers do not fit")

    def _compare_numbers_in_bold(self) -> None:
        for option in self.options["en"]:
            bold = [BOLD.findall(self.options[language][option]) for language in LANGUAGES]
            if len(bold[0]) != 1 or bold[0] != bold[1] or number_in(bold[0][0]) is None:
                raise ValueError(f"{self.id}: {option} needs one number in bold, as in {LANGUAGES}")

    @property
    def n_letters(self) -> int:
        """How many letters an answer has."""
        return self.n_right or len(self.options["en"])

    @property
    def answers(self) -> tuple[str, ...]:
        """The variables that a student assigns: "q16", and "q16_numbers" if there are numbers."""
        return (self.id, f"{self.id}_numbers") if self.numbers else (self.id,)

    @property
    def has_formula(self) -> bool:
        """Whether it asks for numbers that are computed from the student's own."""
        return self.numbers is not None and set(self.numbers.fields) != {INSTEAD}

    def number_in_bold(self, option: str) -> float:
        """The number of an audit's sentence."""
        return number_in(BOLD.findall(self.options["en"][option])[0])


@cache
def items() -> dict[str, Item]:
    """All items by id, in order."""
    folder = data_path("papers")
    found = [read_item(path) for path in folder.glob("q*.toml")]
    rotation = json.loads((folder / "rotation.json").read_text(encoding="utf-8"))
    found += [rotating_item(name, place) for place, name in rotation.items()]
    return {item.id: item for item in sorted(found, key=lambda item: item.id)}


def rotating_item(name: str, place: str) -> Item:
    """The item of this name in a place that changes. Raises: ValueError if it is not complete."""
    return read_item(data_path(f"papers/rotating/{name}.toml"), place)


def read_item(path: Path, place: str = "") -> Item:
    """The item in a file, which has its own id unless it is put in a place.

    Raises: ValueError naming the file, if it is not complete.
    """
    try:
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        is_audit = content["kind"] == "audit"
        return Item(
            id=place or content["id"],
            name=path.stem if place else content["id"],
            title=_of_both(content["title"]),
            source=tuple(content["source"]),
            kind=content["kind"],
            n_right=content.get("n_right", int(is_audit)),
            question=_of_both({name: content[name]["question"] for name in LANGUAGES}),
            options={name: _of_both(content[name]["options"], ()) for name in LANGUAGES},
            numbers=_numbers_of(content.get("numbers"), is_audit),
        )
    except KeyError as error:
        raise ValueError(f"{path.name} has no {error}") from None
    except (ValueError, TypeError) as error:
        raise ValueError(f"{path.name}: {error}") from None


def item_of(answer: str) -> Item:
    """The item that a variable answers, such as "q16_numbers". Raises: ValueError if none."""
    for item in items().values():
        if answer in item.answers:
            return item
    raise ValueError(f"no question {answer!r}; there are {', '.join(items())}")


def explained(item: Item) -> dict | None:
    """The item's key, in an edition that is released after the deadline; None in any other."""
    try:
        (path,) = data_path(EXPLAINED).glob(f"{item.name}*.toml")
    except (FileNotFoundError, ValueError):
        return None
    return tomllib.loads(path.read_text(encoding="utf-8"))


def options_for(item: Item, student_id: str) -> dict[str, str]:
    """Option ids by letter, in the order in which this student sees them."""
    ids = sorted(item.options["en"])
    own_random(student_id, item.id).shuffle(ids)
    return dict(zip(ascii_uppercase, ids, strict=False))


def parameters_for(item: Item, student_id: str) -> dict[str, Any]:
    """This student's own values, by name; none if the item asks for no numbers."""
    rng = own_random(student_id, f"{item.id}:numbers")
    drawn: dict[str, Any] = {}
    for names, rows in TABLES.get(item.name, {}).items():
        row = rng.choice(rows)
        drawn.update(zip(names.split(), row, strict=True) if " " in names else {names: row})
    return drawn


def numbers_text(item: Item, student_id: str, language: str) -> str:
    """The question for numbers, with the student's values in it."""
    values = parameters_for(item, student_id)

    def shown(match: re.Match) -> str:
        value = values[match[1]]
        return f"{value:,}" if isinstance(value, int) else str(value)

    return re.sub(r"\{(\w+)\}", shown, item.numbers.text[language])


def id_in(value: Any) -> str:
    """The student id in what was assigned, a text or a plain number; "" if there is none."""
    if type(value) is int and 0 <= value < 10**MAX_ID_CHARS:
        return str(value)
    return value.strip() if isinstance(value, str) else ""


def letters_in(text: str) -> list[str]:
    """The letters of an answer, in capitals; what is between them does not matter.

    Places before them may only count: 1, 2, 3.

    >>> letters_in("Ｄ、b and A")
    ['D', 'B', 'A']
    >>> letters_in("1. D 2. B")
    ['D', 'B']
    """
    plain = unicodedata.normalize("NFKC", text[:MAX_ANSWER_CHARS])
    places = [int(place) for place in PLACES.findall(plain)]
    if places == list(range(1, len(places) + 1)):
        plain = PLACES.sub(" ", plain)
    return list(printable(SEPARATORS.sub("", plain)).upper())


def number_in(text: str, unit: str = "") -> int | float | None:
    """The number that was typed, also with the unit of its field; None if there is none ("0,5").

    >>> [number_in(text) for text in ("2,260,992", "1.5e-3", "11/20", "55 %")]
    [2260992, 0.0015, 0.55, 0.55]
    >>> number_in("80 ms", "ms")
    80
    """
    plain = unicodedata.normalize("NFKC", text[:MAX_ANSWER_CHARS]).casefold()
    plain = re.sub(rf"[\s_{UNSEEN}]", "", plain).replace("\N{MINUS SIGN}", "-")
    for ending in (unit, ONE_OF.get(unit, ""), SHORT_UNITS.get(unit, "")):
        plain = plain.removesuffix(re.sub(r"\s", "", ending.casefold()))
    if re.fullmatch(r"[^/]+/[^/]+", plain):
        above, below = (number_in(part) for part in plain.split("/"))
        return above / below if above is not None and below else None
    if re.fullmatch("[^%]+%", plain):
        hundreds = number_in(plain[:-1])
        return None if hundreds is None else hundreds / 100
    if re.fullmatch(r"[+-]?[1-9]\d{0,2}(,\d{3})+(\.\d*)?", plain):
        plain = plain.replace(",", "")
    try:
        return int(plain) if re.fullmatch(r"[+-]?\d{1,30}", plain) else float(plain)
    except ValueError:
        return None


def _names_of(item_name: str) -> list[str]:
    return [name for names in TABLES.get(item_name, {}) for name in names.split()]


def _numbers_of(content: Mapping | None, is_audit: bool) -> Numbers | None:
    """The half in numbers; that of an audit begins with the number that belongs there."""
    if content is None and not is_audit:
        return None
    parts = [{name: say(INSTEAD, name) for name in LANGUAGES}] if is_audit else []
    fields = {INSTEAD: OF_THE_SENTENCE} if is_audit else {}
    if content is None:
        return Numbers((), parts[0], fields)
    parts.append(_of_both(content))
    text = {name: "\n\n".join(part[name] for part in parts) for name in LANGUAGES}
    return Numbers(tuple(content["parameters"]), text, fields | _of_both(content["fields"], ()))


def _of_both(texts: Mapping[str, str], needed: tuple[str, ...] = LANGUAGES) -> dict[str, str]:
    """Non-empty texts, stripped; of a mapping by language the languages alone."""
    kept = {name: texts[name] for name in needed or texts}
    for name, text in kept.items():
        if not isinstance(text, str) or not text.strip():
            raise ValueError(f"{name} is empty")
    return {name: text.strip() for name, text in kept.items()}
