"""Answers that are alike: left blank, the same, nearly the same, or the kit's own.

Texts are compared without case, punctuation and white space, first letter for letter and then by
RapidFuzz's ratio. An answer joins a group if it is near the group's first one.
"""

import re
import unicodedata
from collections.abc import Mapping
from dataclasses import dataclass

from rapidfuzz import fuzz, process

from labkit.checks.written import is_unwritten

BLANK, SAME, NEAR, OWN, ALONE = "blank", "same", "near", "own", "alone"
NEAR_ENOUGH, OWN_ENOUGH = 93.0, 85.0
MOST_CHARS, FEWEST_CHARS = 6_000, 80  # short answers are near each other by chance


@dataclass(frozen=True)
class Group:
    """Answers that may get one mark. kind: why they are one; members: their ids, in order."""

    kind: str
    members: tuple[str, ...]


def normalised(text: str) -> str:
    """The words of a text, in one case, and its numbers."""
    folded = unicodedata.normalize("NFKC", text).casefold()
    return " ".join(re.sub(r"[^\w.%×/=+-]+|[.-](?!\d)", " ", folded).split())


def groups_of(texts: Mapping[str, str], *models: str) -> list[Group]:
    """Every answer in exactly one group. models: the kit's own answer, with and without rubric."""
    same: dict[str, list[str]] = {}
    blank: list[str] = []
    for name, text in texts.items():
        alike = blank if is_unwritten(text) else same.setdefault(_compared(text), [])
        alike.append(name)
    own = [_compared(model) for model in models]
    copied = {text for text in same if any(fuzz.ratio(text, each) >= OWN_ENOUGH for each in own)}
    groups = [Group(BLANK, tuple(blank))] if blank else []
    if copied:
        groups.append(Group(OWN, tuple(name for text in copied for name in same[text])))
    return groups + _near({text: names for text, names in same.items() if text not in copied})


def _compared(text: str) -> str:
    return normalised(text)[:MOST_CHARS]


def _near(same: Mapping[str, list[str]]) -> list[Group]:
    groups: list[tuple[str, list[str], bool]] = []
    firsts: list[str] = []
    for text, names in same.items():
        found = None
        if len(text) >= FEWEST_CHARS:
            found = process.extractOne(text, firsts, scorer=fuzz.ratio, score_cutoff=NEAR_ENOUGH)
        if found:
            first, members, _ = groups[found[2]]
            groups[found[2]] = (first, members + names, True)
        else:
            firsts.append(text)
            groups.append((text, list(names), False))
    return [
        Group(NEAR if is_near else SAME if len(members) > 1 else ALONE, tuple(members))
        for _, members, is_near in groups
    ]
