"""A student's page: marks, what failed and what it cost, beside the student's own work."""

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cache
from operator import attrgetter
from pathlib import Path

from autograder.builder.source import find_lab
from autograder.builder.website.documents import title_of as first_heading
from autograder.files import write_whole
from autograder.pages.cases import cell_of_finding
from autograder.pages.evidence.handed_in import read_noted, read_pictures, read_pieces
from autograder.pages.own_code import Line, shown_lines
from autograder.pages.render import render_page
from autograder.places import ORAL
from autograder.record.by_hand import HandMark
from autograder.record.folder import policy_of
from autograder.record.marks import Mark, most_by_part
from autograder.record.results import CheckResult, Result
from labkit.checks.card import MARKS, Once, groups_of, not_judged
from labkit.checks.core import UNWRITTEN
from labkit.checks.outline import outline_of
from labkit.checks.unjudged import is_stop
from labkit.checks.why.mistakes import mistakes_in
from labkit.checks.written import is_unwritten

Explain = Callable[[CheckResult], str]


@dataclass(frozen=True)
class NextStep:
    """Where a student goes on: in the first part that earns less than it could.

    check: its crash, or the check that costs most, a gate first. others: how many more checks of
    the part fail or wait, and how many other parts fail or are not written; no row for none.
    """

    check: CheckResult
    others: Sequence[str]

    @property
    def is_unwritten(self) -> bool:
        return self.check.status == "todo"

    @property
    def says_why(self) -> bool:
        """Whether the check's message says more than that the part is not written."""
        return self.check.message != UNWRITTEN


@dataclass(frozen=True)
class Points:
    """The number at the top. waits: the points that a person has yet to give."""

    earned: float | None
    of: float
    waits: float


@dataclass(frozen=True)
class MistakeGroup:
    """Checks that did not pass because of one mistake, with its explanation.

    known: what is known of the mistake, by its number.
    """

    checks: list[CheckResult]
    explanation: str
    hints: list[str]
    known: Mapping[str, Mapping[str, str]] = field(default_factory=dict)

    @property
    def status(self) -> str:
        return self.checks[0].status


@dataclass(frozen=True)
class ExerciseSection:
    """An exercise on a page. groups: of checks that did not pass; no sentence stands twice."""

    name: str
    title: str
    groups: list[MistakeGroup]
    passed: list[CheckResult]
    code: list[list[Line]]
    hand: HandMark | None

    @property
    def checks(self) -> list[CheckResult]:
        return [*self.passed, *(check for group in self.groups for check in group.checks)]

    @property
    def is_unwritten(self) -> bool:
        return {check.message for check in self.checks} == {UNWRITTEN}


@dataclass(frozen=True)
class Written:
    """A written answer.

    text: "" if nothing was written; pictures: by name; noted: where it stands, and which pictures
    cannot be shown.
    """

    name: str
    title: str
    points: float
    text: str
    pictures: Mapping[str, Mapping[str, str]]
    noted: Sequence[str]
    hand: HandMark | None


def write_feedback(
    folder: Path, result: Result, mark: Mark | None = None, *, with_cases: bool = False
) -> Path:
    """Write one student's page, `feedback/LAB/STUDENT.html`; returns its path.

    mark: what people have given by hand, and the total; with_cases: whether it may show hidden
    cases and what they expect, for no attempt can follow.
    """
    explain = attrgetter("explanation" if with_cases else "explanation_before_the_end")
    titles = titles_of(result.lab)
    is_read = result.score is not None
    hand = {each.exercise: each for each in mark.hand} if mark else {}
    graded = folder / "course" / "autograded" / result.student / result.lab / f"{result.lab}.ipynb"
    pieces, pictures, noted = read_pieces(graded), read_pictures(graded), read_noted(graded)
    exercises = {
        name: _exercise(result.lab.partition("_")[2], name, titles.get(name, ""), checks,
                        pieces.get(name, []), hand.get(name), explain)
        for name, checks in result.by_exercise.items()
    }  # fmt: skip
    written = {
        name: Written(
            name,
            titles.get(name, ""),
            points,
            _text(pieces, name),
            pictures.get(name, {}),
            noted.get(name, ()),
            hand.get(name),
        )
        for name, points in result.written.items()
        if hand.get(name) or is_read
    }
    parts = [each[name] for name in result.parts for each in (exercises, written) if name in each]
    path = folder / "feedback" / result.lab / f"{result.student}.html"
    shown = {"result": result, "mark": mark, "points": points_of(result, mark), "explain": explain,
             "cells": _cells(result) if with_cases else {}, "parts": parts,
             "title": title_of(result.lab), "step": next_step(result), "signs": MARKS,
             "titles": titles, "asking": policy_of(folder).asking(result.lab)}  # fmt: skip
    write_whole(path, render_page("feedback.html", **shown))
    return path


def titles_of(lab: str) -> dict[str, str]:
    """The heading that each part of a lab stands under, by name; none for a lab of another kit."""
    return {part.name: part.section for part in outline_of(lab.partition("_")[2])}


@cache
def title_of(lab: str) -> str:
    """The heading of a lab's notebook; its name for a lab of another kit."""
    if lab.endswith(ORAL):
        return f"Questions about {title_of(lab.removesuffix(ORAL))}"
    with suppress(ValueError):
        return first_heading(find_lab(lab).cells[0].text)
    return lab


def next_step(result: Result) -> NextStep | None:
    """The check that a student should mend first; None if no check failed."""
    by_part = result.by_exercise
    missed = [name for name in result.parts if any(map(_is_missed, by_part.get(name, ())))]
    if not missed:
        return None
    own, later = by_part[missed[0]], [by_part[name] for name in missed[1:]]
    first = max(filter(_is_missed, own), key=_weight)  # of equals, it is the first
    n_own = (sum(map(_is_missed, own)) - 1) * (first.message != UNWRITTEN)
    n_unjudged = sum(check.status == "unjudged" for check in own)
    n_blank = sum(all(check.status == "todo" for check in checks) for checks in later)
    counted = [
        _counted(n_own, "1 more check of this part fails.", "{} more checks of this part fail."),
        _counted(n_unjudged, "1 check is not judged.", "{} checks are not judged."),
        _counted(len(later) - n_blank, "1 later part fails.", "{} later parts fail."),
        _counted(n_blank, "1 later part is not written.", "{} later parts are not written."),
    ]
    return NextStep(first, [*filter(None, counted)])


def _is_missed(check: CheckResult) -> bool:
    return check.status in ("failed", "todo")


def _weight(check: CheckResult) -> tuple:
    return is_stop(check), check.status != "todo", check.gate, check.max_points - check.points


def _counted(n: int, one: str, many: str) -> str:
    return one if n == 1 else many.format(n) if n else ""


def points_of(result: Result, mark: Mark | None) -> Points:
    """The points that a student has so far, and those that wait for a person."""
    most = most_by_part(result)
    waiting = mark.waits_for if mark else {*result.written, *result.undecided}
    waits = round(sum(most.get(name.removeprefix("check_"), 0.0) for name in waiting), 2)
    of = mark.of if mark else round(result.max_score + sum(result.written.values()), 2)
    if mark is None:
        return Points(result.score, of, waits)
    if mark.total is not None or mark.by_checks is None:
        return Points(mark.total, of, waits)
    return Points(round(mark.by_checks + mark.by_hand + mark.bonus, 2), of, waits)


def _exercise(
    topic: str,
    name: str,
    title: str,
    checks: list[CheckResult],
    pieces: list[str],
    hand: HandMark | None,
    explain: Explain,
) -> ExerciseSection:
    once = Once()
    groups = [
        _group(topic, group, once, explain)
        for group in groups_of([each for each in checks if not each.passed])
    ]
    messages = [check.message for check in checks if check.status == "failed"]
    code = [shown_lines(piece, messages) for piece in pieces] if messages else []
    passed = [check for check in checks if check.passed]
    return ExerciseSection(name, title, groups, passed, code, hand)


def _group(topic: str, checks: list[CheckResult], once: Once, explain: Explain) -> MistakeGroup:
    if checks[0].status == "unjudged":
        return MistakeGroup(checks, not_judged(checks), [])
    first = max(checks, key=attrgetter("gate"))  # of equals, it is the first
    text = once(explain(first))
    hints = [hint for check in checks if (hint := once(check.hint))]
    found = mistakes_in(topic, first.exercise, first.cause)
    return MistakeGroup(checks, text, hints, {each.number: each.facts(topic) for each in found})


def _cells(result: Result) -> dict[str, str]:
    """The hidden cases of failed checks as notebook cells, by check."""
    return {check.check: cell_of_finding(result, check) for check in result.checks}


def _text(pieces: Mapping[str, list[str]], name: str) -> str:
    text = "\n".join(pieces.get(name, [])).strip()
    return "" if is_unwritten(text) else text
