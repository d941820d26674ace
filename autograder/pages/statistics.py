"""Statistics of a lab's results, on the class and on the checks.

Everything here is counted from the record alone, on the points that checks gave, before what
lateness takes off.
"""

import math
import re
import statistics
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

from autograder.record.results import CheckResult, Result
from labkit.checks.why.mistakes import mistakes_in, numbered

N_BINS = 10
FEWEST_FOR_DISCRIMINATION = 20
WEAK, HARSH = 0.1, 0.3
N_CAUSES = 15
MAX_CAUSE_CHARS = 240
_NUMBER = re.compile(r"\d[\d.,_]*")
HOTTEST = 4


@dataclass(frozen=True)
class Distribution:
    """The marks of a lab. bins: how many fall between two neighbouring edges, the last included."""

    marks: list[float]
    max_score: float
    edges: list[float]
    bins: list[int]

    @property
    def mean(self) -> float | None:
        return statistics.fmean(self.marks) if self.marks else None

    @property
    def quartiles(self) -> list[float]:
        """The marks that a quarter, a half and three quarters of the class do not exceed."""
        if len(self.marks) < 2:
            return self.marks * 3
        return statistics.quantiles(self.marks, n=4, method="inclusive")

    @property
    def spread(self) -> float | None:
        """The standard deviation."""
        return statistics.stdev(self.marks) if len(self.marks) > 1 else None


@dataclass(frozen=True)
class Discrimination:
    """How a check goes with the rest of the lab: the correlation of passing it with the points of
    all other checks, and its 95 % interval; no number where there cannot be one. meaning: what to
    make of it, in words.
    """

    meaning: str
    correlation: float | None = None
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class CheckStatistics:
    """How the class did on one check. lost: the points that it cost a student on average.

    n_unjudged: of how many another mistake hid whether they would pass it.
    """

    exercise: str
    claim: str
    n: int
    n_passed: int
    n_unwritten: int
    n_unjudged: int
    lost: float
    discrimination: Discrimination


@dataclass(frozen=True)
class Heat:
    """One student's exercise. level: 0 for no points to HOTTEST for all; is_blank: not written."""

    exercise: str
    points: float
    of: float
    level: int
    is_blank: bool


@dataclass(frozen=True)
class Standing:
    """How far the class is with one exercise. n_unwritten: of n students, who has not begun it.

    missed: what the check says that most of the others fail; "" if there is none.
    """

    exercise: str
    n: int
    n_passed: int
    n_unwritten: int
    missed: str


@dataclass(frozen=True)
class Cause:
    """What several students got wrong in an exercise, with the numbers of known mistakes.

    claims: of the checks that failed for it; example: the message that one of n students got;
    known: the numbers.
    """

    exercise: str
    text: str
    n: int
    claims: tuple[str, ...]
    example: str
    known: tuple[str, ...] = ()


def distribution(results: Sequence[Result]) -> Distribution:
    """The marks of those who have one, and how they spread."""
    max_score = max((result.max_score for result in results), default=0.0)
    marks = sorted(result.score for result in results if result.score is not None)
    edges = [max_score * i / N_BINS for i in range(N_BINS + 1)]
    bins = [0] * N_BINS
    for mark in marks:
        bins[min(int(mark / max_score * N_BINS), N_BINS - 1) if max_score else 0] += 1
    return Distribution(marks, max_score, edges, bins)


def check_statistics(results: Sequence[Result]) -> list[CheckStatistics]:
    """Each check of the lab in its order, over all who have a mark."""
    rows = []
    for pairs in _by_check(results):
        checks = [check for _, check in pairs]
        failed = [check for check in checks if not check.passed]
        rows.append(
            CheckStatistics(
                exercise=checks[0].exercise,
                claim=checks[0].claim or checks[0].check,
                n=len(checks),
                n_passed=len(checks) - len(failed),
                n_unwritten=sum(check.status == "todo" for check in failed),
                n_unjudged=sum(check.status == "unjudged" for check in failed),
                lost=statistics.fmean(check.max_points - check.points for check in checks),
                discrimination=_discrimination(pairs),
            )
        )
    return rows


def standings(results: Sequence[Result]) -> list[Standing]:
    """Each exercise of the lab in its order, over all who have a mark."""
    groups: dict[str, list[list[CheckResult]]] = {}
    for result in results:
        for exercise, checks in result.by_exercise.items() if result.score is not None else ():
            groups.setdefault(exercise, []).append(checks)
    return [_standing(exercise, group) for exercise, group in groups.items()]


def _standing(exercise: str, group: Sequence[Sequence[CheckResult]]) -> Standing:
    missed = Counter(
        each.claim or each.check for checks in group for each in checks if each.status == "failed"
    )
    return Standing(
        exercise=exercise,
        n=len(group),
        n_passed=sum(all(each.passed for each in checks) for checks in group),
        n_unwritten=sum(all(each.status == "todo" for each in checks) for checks in group),
        missed=missed.most_common(1)[0][0] if missed else "",
    )


def heat_rows(results: Sequence[Result]) -> list[tuple[Result, list[Heat]]]:
    """The exercises of all students with a mark, most points first."""
    marked = [result for result in results if result.score is not None and result.checks]
    by_points = sorted(marked, key=lambda result: (-result.score, result.student))
    return [
        (result, [_heat(name, checks) for name, checks in result.by_exercise.items()])
        for result in by_points
    ]


def _heat(exercise: str, checks: Sequence[CheckResult]) -> Heat:
    points, of = sum(each.points for each in checks), sum(each.max_points for each in checks)
    share = points / of if of else 1.0
    level = 0 if points == 0 else HOTTEST if share > 0.995 else 1 + int(share * (HOTTEST - 1))
    is_blank = all(each.status == "todo" for each in checks)
    return Heat(exercise, round(points, 2), round(of, 2), level, is_blank)


def frequent_causes(results: Sequence[Result]) -> list[Cause]:
    """What most students got wrong, most frequent first; what only one has is no misconception.

    Nor is an exercise that was left blank. Each submission has cases of its own: what was compared
    is the same at other numbers. A sentence is a misconception, and its numbers belong to it.
    """
    groups: dict[tuple[str, str, str], list[tuple[str, CheckResult]]] = {}
    for result, check in _graded_checks(results):
        if check.status == "failed" and check.cause:
            text = check.cause
            same = text if text.endswith(".") else _NUMBER.sub("0", text)
            key = result.lab.partition("_")[2], check.exercise, same
            groups.setdefault(key, []).append((result.student, check))
    causes = [_cause(topic, name, group) for (topic, name, _), group in groups.items()]
    frequent = [cause for cause in causes if cause.n > 1]
    return sorted(frequent, key=lambda cause: (-cause.n, cause.exercise, cause.text))[:N_CAUSES]


def slowest(results: Iterable[Result], n: int = 10) -> list[Result]:
    """Those that took longest, slowest first."""
    return sorted(results, key=lambda result: (-result.seconds, result.student))[:n]


def _graded_checks(results: Iterable[Result]) -> Iterator[tuple[Result, CheckResult]]:
    for result in results:
        for check in result.checks if result.score is not None else ():
            if check.status != "undecided":
                yield result, check


def _by_check(results: Iterable[Result]) -> list[list[tuple[Result, CheckResult]]]:
    groups: dict[tuple[str, str], list[tuple[Result, CheckResult]]] = {}
    for result, check in _graded_checks(results):
        groups.setdefault((check.exercise, check.check), []).append((result, check))
    return list(groups.values())


def _cause(topic: str, exercise: str, group: list[tuple[str, CheckResult]]) -> Cause:
    text = group[0][1].cause
    return Cause(
        exercise=exercise,
        text=numbered(topic, exercise, text[:MAX_CAUSE_CHARS]),
        n=len({student for student, _ in group}),
        claims=tuple(dict.fromkeys(check.claim or check.check for _, check in group)),
        example=group[0][1].message,
        known=tuple(each.number for each in mistakes_in(topic, exercise, text)),
    )


def _discrimination(pairs: list[tuple[Result, CheckResult]]) -> Discrimination:
    n = len(pairs)
    n_passed = sum(check.passed for _, check in pairs)
    if n_passed == n:
        return Discrimination("everybody passed: it separates nobody")
    if n_passed == 0:
        return Discrimination("nobody passed: is it too strict, unclear, or not taught?")
    if n < FEWEST_FOR_DISCRIMINATION:
        return Discrimination(f"too few marks to judge it: {n} of {FEWEST_FOR_DISCRIMINATION}")
    passed = [float(check.passed) for _, check in pairs]
    rest = [round(result.score - check.points, 4) for result, check in pairs]
    if min(rest) == max(rest):
        return Discrimination(
            "all have the same points in other checks: there is nothing to compare"
        )
    r = max(-1.0, min(1.0, statistics.correlation(passed, rest)))
    low, high = _interval(r, n)
    return Discrimination(_meaning(r, high, n_passed / n), r, low, high)


def _interval(r: float, n: int) -> tuple[float, float]:
    """The 95 % interval of a correlation, by Fisher's transformation."""
    if abs(r) == 1:
        return r, r
    width = 1.96 / math.sqrt(n - 3)
    return math.tanh(math.atanh(r) - width), math.tanh(math.atanh(r) + width)


def _meaning(r: float, high: float, share: float) -> str:
    if high < 0:
        return "students with many points elsewhere fail it: look at this check first"
    if r < WEAK:
        return "hardly related to other checks: it tests something else, or it is too strict"
    if share < HARSH:
        return "separates, and few pass: should it be so hard?"
    return "separates" if r >= HARSH else "separates a little"
