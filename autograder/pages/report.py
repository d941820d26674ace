"""Pages for the class: the report, a page of times, and the feedback of all students.

Every page is one file without external assets or a clock: the same results give the same bytes.
What varies from run to run, times and memory, has a page of its own.
"""

from collections import Counter
from collections.abc import Iterable, Sequence
from operator import attrgetter
from pathlib import Path

from autograder.files import write_whole
from autograder.pages.evidence.flags import KINDS, read_flags
from autograder.pages.evidence.hints import read_hints
from autograder.pages.feedback import next_step, titles_of, write_feedback
from autograder.pages.render import render_page
from autograder.pages.statistics import (
    check_statistics,
    distribution,
    frequent_causes,
    heat_rows,
    slowest,
)
from autograder.record.marks import Mark
from autograder.record.results import Result

__all__ = ["next_step", "write_feedback", "write_pages", "write_report"]

N_COSTLY = 12
Marks = dict[tuple[str, str], Mark]


def write_report(folder: Path, results: Sequence[Result], marks: Iterable[Mark] = ()) -> Path:
    """Write the class report, `report.html`, and `timing.html` beside it; returns its path."""
    names = sorted({result.lab for result in results})
    labs = [_lab_report(folder, name, results) for name in names]
    by_student = _by_student(marks)
    versions = dict(sorted(results[0].versions.items())) if results else {}
    path = folder / "report.html"
    shown = {"labs": labs, "marks": by_student, "versions": versions, "kinds": KINDS,
             "n_costly": N_COSTLY}  # fmt: skip
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


def _lab_report(folder: Path, name: str, results: Sequence[Result]) -> dict:
    """The values of one lab for the templates. waiting: no mark by checks, or an incomplete one."""
    own = [result for result in results if result.lab == name]
    return {
        "name": name,
        "results": own,
        "flags": read_flags(folder, name),
        "distribution": distribution(own),
        "statuses": sorted(Counter(result.status for result in own).items()),
        "checks": sorted(check_statistics(own), key=attrgetter("lost"), reverse=True),
        "heat": heat_rows(own),
        "titles": titles_of(name),
        "hints": read_hints(folder, name),
        "causes": frequent_causes(own),
        "slowest": slowest(own),
        "waiting": [result for result in own if result.problem],
        "has_similarity": (folder / "similarity" / f"{name}.html").exists(),
    }


def _by_student(marks: Iterable[Mark]) -> Marks:
    return {(mark.lab, mark.student): mark for mark in marks}
