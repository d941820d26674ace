"""Answers that are alike: pairs of students whose texts share what few others wrote.

Texts are compared by winnowed fingerprints, the method behind MOSS, each exercise for itself. What
was handed out does not count, and a fingerprint counts the less the more students have it: what a
task makes everybody write is no evidence. Code is compared by its tokens, so names, comments and
layout do not matter; prose by its letters.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import MappingProxyType

import numpy as np

from autograder.files import write_whole
from autograder.pages.evidence.alike import PUBLISHED, Pair, SharedText, groups_of
from autograder.pages.evidence.handed_in import (
    Starter,
    lines_of,
    read_answers,
    read_beside,
    starter_of,
)
from autograder.pages.evidence.winnowing import ComparedText, code_text, hashes_of, prose_text
from autograder.pages.render import render_page
from autograder.record.results import Result

LEAST_WEIGHT, LEAST_SHARE = 50.0, 0.5
LEAST_IN_PROSE = 2.0  # of a fragment: no task makes a whole class write the same sentence
N_SHOWN = 30
MODULES = "the files beside the notebook"


@dataclass(frozen=True)
class Side:
    """An exercise of a pair, side by side: pieces of text, and whether each is shared."""

    match: SharedText
    texts: list[list[tuple[str, bool]]]


class ComparedExercise:
    """The texts of one exercise by student, and what they share."""

    def __init__(
        self,
        name: str,
        texts: Mapping[str, ComparedText],
        handed_out: set[int],
        least_weight: float,
    ) -> None:
        self.name = name
        self.texts = texts
        self._handed_out = handed_out
        counts = Counter(value for text in texts.values() for value in self._own(text))
        n = len(texts) + 1
        self._common = [value for value, count in counts.items() if count > 1]
        self.weights = {
            value: max(least_weight, float(np.log2(n / count))) for value, count in counts.items()
        }
        self._own_weights = {
            student: sum(self.weights[value] for value in self._own(text))
            for student, text in texts.items()
        }

    @property
    def is_evidence(self) -> bool:
        """Whether anybody wrote enough that others did not; a short task leaves no choice."""
        return max(self._own_weights.values(), default=0.0) >= LEAST_WEIGHT

    def matches(self) -> list[tuple[tuple[str, str], SharedText]]:
        """The pairs that share at least half of their text outside of common parts."""
        students = [name for name, weight in self._own_weights.items() if weight >= LEAST_WEIGHT]
        own = np.array([self._own_weights[student] for student in students])
        common = {value: i for i, value in enumerate(self._common)}
        has = np.zeros((len(students), len(common)), np.float32)
        for i, student in enumerate(students):
            values = self._own(self.texts[student]) & common.keys()
            has[i, [common[value] for value in values]] = 1
        weights = np.array([self.weights[value] for value in common], np.float32)
        shared = (has * weights) @ has.T
        shares = shared / np.minimum.outer(own, own)
        close = np.triu((shares >= LEAST_SHARE) & (shared >= LEAST_WEIGHT), 1)
        return [
            (
                (students[i], students[j]),
                SharedText(self.name, float(shared[i, j]), min(1.0, float(shares[i, j]))),
            )
            for i, j in np.argwhere(close)
        ]

    def shown(self, match: SharedText, students: tuple[str, str]) -> Side:
        """A match with both texts."""
        texts = [self.texts[student] for student in students]
        shared = self._own(texts[0]) & self._own(texts[1])
        return Side(match, [text.marked(shared) for text in texts])

    def _own(self, text: ComparedText) -> set[int]:
        return text.fingerprints.keys() - self._handed_out


def write_similarity(out: Path, lab: str, results: Sequence[Result]) -> Path:
    """Write the page of answers that are alike, `similarity/LAB.html`; returns its path."""
    members = {result.student: result.group for result in results if result.lab == lab}
    answers = {
        student: read_answers(out / "course" / "autograded" / student / lab / f"{lab}.ipynb")
        for student in members
    }
    published = read_answers(out / "course" / "source" / lab / f"{lab}.ipynb")
    modules = {student: read_beside(out, lab, student) for student in members}
    exercises = exercises_of(starter_of(lab), answers | {PUBLISHED: published}, modules)
    pairs = [pair for pair in similar_pairs(exercises) if not _is_group(pair, members)]
    by_name = {exercise.name: exercise for exercise in exercises}
    groups = groups_of(pairs)
    closest = [pair for group in groups for pair in group.pairs][:N_SHOWN]
    shown = {
        pair.students: [
            by_name[match.exercise].shown(match, pair.students) for match in pair.matches
        ]
        for pair in closest
    }
    page = render_page(
        "similarity.html",
        lab=lab,
        n_students=len(members),
        groups=groups,
        shown=shown,
        published=PUBLISHED,
        short=[each.name for each in exercises if each.texts and not each.is_evidence],
    )
    path = out / "similarity" / f"{lab}.html"
    write_whole(path, page)
    return path


def exercises_of(
    starter: Starter,
    answers: Mapping[str, Mapping[str, str]],
    modules: Mapping[str, str] = MappingProxyType({}),
) -> list[ComparedExercise]:
    """The exercises of a lab with the texts of all students who wrote something.

    Numbers to fill in are not among them: there is one right way. The modules of all students are
    compared like an exercise.
    """
    exercises = []
    in_prose = _values_in([prose_text(starter.questions)])
    in_code = _values_in(map(code_text, (*starter.open.values(), *starter.given.values())))
    for name in starter.open:
        if name in starter.values:
            continue
        is_prose = name in starter.prose
        read = prose_text if is_prose else code_text
        given = frozenset(lines_of(starter.open[name]))
        texts = {
            student: read(texts[name], given)
            for student, texts in answers.items()
            if starter.own_part(name, texts.get(name, ""))
        }
        handed_out = in_prose if is_prose else in_code
        exercises.append(
            ComparedExercise(name, texts, handed_out, LEAST_IN_PROSE if is_prose else 0.0)
        )
    texts = {student: code_text(text) for student, text in modules.items() if text.strip()}
    if texts:
        exercises.append(ComparedExercise(MODULES, texts, in_code, 0.0))
    return exercises


def similar_pairs(exercises: Sequence[ComparedExercise]) -> list[Pair]:
    """The pairs that share rare parts, those with the largest share first."""
    by_pair: dict[tuple[str, str], list[SharedText]] = {}
    for exercise in exercises:
        for students, match in exercise.matches():
            by_pair.setdefault(tuple(sorted(students)), []).append(match)
    pairs = [Pair(students, matches) for students, matches in by_pair.items()]
    return sorted(pairs, key=lambda pair: (-pair.weight, pair.students))


def _values_in(texts: Iterable[ComparedText]) -> set[int]:
    return {value for text in texts for value in map(int, hashes_of(text.form, text.size))}


def _is_group(pair: Pair, groups: Mapping[str, str]) -> bool:
    first, second = (groups.get(student, "") for student in pair.students)
    return bool(first) and first == second
