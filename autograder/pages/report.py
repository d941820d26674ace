"""Pages to read: feedback for each student, a report for the class, one of times.

Every page is one file without scripts, external assets or a clock: the same results give the same
bytes. What varies from run to run, times and memory, has a page of its own.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from operator import attrgetter
from pathlib import Path

from autograder.files import write_whole
from autograder.pages.evidence.flags import KINDS, Flag, read_flags
from autograder.pages.render import render_page
from autograder.pages.statistics import (
    Cause,
    CheckStatistics,
    Distribution,
    check_statistics,
    distribution,
    frequent_causes,
    slowest,
)
from autograder.record.marks import Mark
from autograder.record.results import CheckResult, Result

Marks = dict[tuple[str, str], Mark]


@dataclass(frozen=True)
class NextStep:
    """Where a student goes on: the first check that failed, and how many others did."""

    check: CheckResult
    is_unwritten: bool
    n_others: int


@dataclass(frozen=True)
class LabReport:
    """One lab of the class report. has_similarity: whether there is a page of similar answers."""

    name: str
    results: list[Result]
    flags: list[Flag] = field(default_factory=list)
    has_similarity: bool = False

    @property
    def distribution(self) -> Distribution:
        return distribution(self.results)

    @property
    def statuses(self) -> list[tuple[str, int]]:
        return sorted(Counter(result.status for result in self.results).items())

    @property
    def checks(self) -> dict[str, list[CheckStatistics]]:
        rows: dict[str, list[CheckStatistics]] = {}
        for row in check_statistics(self.results):
            rows.setdefault(row.exercise, []).append(row)
        return rows

    @property
    def causes(self) -> list[Cause]:
        return frequent_causes(self.results)

    @property
    def slowest(self) -> list[Result]:
        return slowest(self.results)

    @property
    def waiting(self) -> list[Result]:
        """The submissions that have no mark by checks, or one that something cut short."""
        return [result for result in self.results if result.problem]


def write_feedback(
    folder: Path, result: Result, mark: Mark | None = None, *, with_cases: bool = False
) -> Path:
    """Write one student's page, `feedback/LAB/STUDENT.html`; returns its path.

    mark: what people have given by hand, and the total; with_cases: whether it may say what hidden
    cases expect, for no attempt can follow.
    """
    path = folder / "feedback" / result.lab / f"{result.student}.html"
    by_hand = {each.exercise: each for each in mark.hand} if mark else {}
    write_whole(
        path,
        render_page(
            "feedback.html",
            result=result,
            mark=mark,
            by_hand=by_hand,
            step=next_step(result),
            told=attrgetter("told" if with_cases else "told_meanwhile"),
        ),
    )
    return path


def write_report(folder: Path, results: Sequence[Result], marks: Iterable[Mark] = ()) -> Path:
    """Write the class report, `report.html`, and `timing.html` beside it; returns its path."""
    names = sorted({result.lab for result in results})
    labs = [_lab_report(folder, name, results) for name in names]
    by_student = _by_student(marks)
    versions = dict(sorted(results[0].versions.items())) if results else {}
    path = folder / "report.html"
    shown = {"labs": labs, "marks": by_student, "versions": versions, "kinds": KINDS}
    write_whole(path, render_page("report.html", **shown))
    write_whole(folder / "timing.html", render_page("timing.html", labs=labs))
    return path


def write_pages(
    folder: Path, results: Sequence[Result], marks: Sequence[Mark], *, with_cases: bool = False
) -> Path:
    """Write every student's page and the class report; returns the report's path."""
    by_student = _by_student(marks)
    for result in results:
        mark = by_student.get((result.lab, result.student))
        write_feedback(folder, result, mark, with_cases=with_cases)
    return write_report(folder, results, marks)


def next_step(result: Result) -> NextStep | None:
    """What a student should look at first; None if no check failed."""
    failed = [check for check in result.checks if check.status in ("failed", "todo")]
    if not failed:
        return None
    return NextStep(failed[0], failed[0].status == "todo", len(failed) - 1)


def _lab_report(folder: Path, name: str, results: Sequence[Result]) -> LabReport:
    own = [result for result in results if result.lab == name]
    has_similarity = (folder / "similarity" / f"{name}.html").exists()
    return LabReport(name, own, read_flags(folder, name), has_similarity)


def _by_student(marks: Iterable[Mark]) -> Marks:
    return {(mark.lab, mark.student): mark for mark in marks}
