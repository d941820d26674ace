"""Answers that are alike: left blank, the same, nearly the same, or the kit's own.

The same are equal up to case and white space, over their whole length, and have the same beside
them, such as the code that the question names: they may get one mark at once. Near are those with
the same words and numbers, or nearly, by RapidFuzz's ratio. An answer joins a group if it is near
the group's first one.
"""

import re
import unicodedata
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from rapidfuzz import fuzz, process

from labkit.checks.written import is_unwritten

BLANK, SAME, NEAR, OWN, ALONE = "blank", "same", "near", "own", "alone"
NEAR_ENOUGH, OWN_ENOUGH = 93.0, 85.0
MOST_CHARS, FEWEST_CHARS = 2_000, 80  # short answers are near each other by chance


@dataclass(frozen=True)
class Group:
    """Answers that may get one mark. kind: why they are one; members: their ids, in order."""

    kind: str
    members: tuple[str, ...]


def normalised(text: str) -> str:
    """A text in one case, with one space for all white space; every sign counts."""
    return " ".join(unicodedata.normalize("NFC", text).casefold().split())


def groups_of(
    texts: Mapping[str, str], *models: str, beside: Mapping[str, str] = MappingProxyType({})
) -> list[Group]:
    """Every answer in exactly one group.

    models: the kit's own answer, with and without rubric. beside: what else a person reads of an
    answer.
    """
    same: dict[tuple[str, str], list[str]] = {}
    blank: list[str] = []
    for name, text in texts.items():
        read = normalised(text), beside.get(name, "")
        alike = blank if is_unwritten(text) else same.setdefault(read, [])
        alike.append(name)
    own, words = [*map(_words, models)], {read: _words(read[0]) for read in same}
    is_own = {
        each: any(fuzz.ratio(each, model) >= OWN_ENOUGH for model in own) for each in words.values()
    }
    groups = [Group(BLANK, tuple(blank))] if blank else []
    if copied := [name for read, names in same.items() if is_own[words[read]] for name in names]:
        groups.append(Group(OWN, tuple(copied)))
    return groups + _near([(w, same[read]) for read, w in words.items() if not is_own[w]])


def _words(text: str) -> str:
    """The words and numbers at the beginning of a text, which tell what it is near."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.sub(r"[^\w.%×/=+-]+|[.-](?!\d)", " ", folded).split())[:MOST_CHARS]


def _near(same: Sequence[tuple[str, list[str]]]) -> list[Group]:
    """Groups of (words, ids) that are near each other."""
    groups: list[tuple[list[str], bool]] = []
    firsts: dict[str, int] = {}  # the words of a group's first answer, and its place
    for words, names in same:
        place, found = firsts.get(words), None
        if place is None and len(words) >= FEWEST_CHARS:
            found = process.extractOne(
                words, [*firsts], scorer=fuzz.ratio, score_cutoff=NEAR_ENOUGH
            )
        if found:
            place = found[2]
        if place is None:
            firsts[words] = len(groups)
            groups.append((list(names), False))
        else:
            groups[place] = (groups[place][0] + names, True)
    return [
        Group(NEAR if is_near else SAME if len(members) > 1 else ALONE, tuple(members))
        for members, is_near in groups
    ]
