"""Pages to read: feedback for each student, a report for the class, a table of marks.

Every page is one file without external assets and without a clock: the same results give the same
bytes.
"""

from __future__ import annotations

import csv
import io
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from statistics import fmean

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from autograder.results import CheckResult, Result, write_whole
from labkit.checks.notebook import as_html

N_MISCONCEPTIONS = 8


@dataclass(frozen=True)
class CheckRow:
    """How a check was passed by the class."""

    exercise: str
    claim: str
    n: int
    n_passed: int


@dataclass(frozen=True)
class LabReport:
    """One lab of the class report."""

    name: str
    results: list[Result]

    @property
    def max_score(self) -> float:
        return max(result.max_score for result in self.results)

    @property
    def mean(self) -> float:
        scores = [result.score for result in self.results if result.score is not None]
        return fmean(scores) if scores else 0.0

    @property
    def checks(self) -> list[CheckRow]:
        groups: dict[tuple[str, str], list[CheckResult]] = {}
        for check in self._all_checks():
            groups.setdefault((check.exercise, check.check), []).append(check)
        return [
            CheckRow(exercise, rows[0].claim or name, len(rows), sum(row.passed for row in rows))
            for (exercise, name), rows in groups.items()
        ]

    @property
    def misconceptions(self) -> list[tuple[str, int]]:
        """The messages that most students got, most frequent first."""
        counts = Counter(check.message for check in self._all_checks() if not check.passed)
        frequent = [(message, n) for message, n in counts.items() if message and n > 1]
        return sorted(frequent, key=lambda pair: (-pair[1], pair[0]))[:N_MISCONCEPTIONS]

    def _all_checks(self) -> list[CheckResult]:
        return [check for result in self.results for check in result.checks]


def write_feedback(folder: Path, result: Result) -> Path:
    """Write one student's page, `feedback/LAB/STUDENT.html`; returns its path."""
    path = folder / "feedback" / result.lab / f"{result.student}.html"
    write_whole(path, _render("feedback.html", result=result))
    return path


def write_report(folder: Path, results: Sequence[Result]) -> Path:
    """Write the class report, `report.html`; returns its path."""
    names = sorted({result.lab for result in results})
    labs = [LabReport(name, [r for r in results if r.lab == name]) for name in names]
    versions = dict(sorted(results[0].versions.items())) if results else {}
    path = folder / "report.html"
    write_whole(path, _render("report.html", labs=labs, versions=versions))
    return path


def write_marks(folder: Path, results: Sequence[Result]) -> Path:
    """Write `marks.csv`: a row per lab and student; an empty mark means that a person must look."""
    buffer = io.StringIO()
    writer = csv.writer(buffer, lineterminator="\n")
    writer.writerow(["lab", "student", "mark", "of", "status", "remark"])
    for result in results:
        mark = "" if result.score is None else f"{result.score:g}"
        row = [result.lab, result.student, mark, f"{result.max_score:g}", result.status]
        writer.writerow([*map(_no_formula, row), _no_formula(result.problem)])
    path = folder / "marks.csv"
    write_whole(path, buffer.getvalue().encode())
    return path


def _no_formula(text: str) -> str:
    """Text that a spreadsheet will not take for a formula; a student chooses file names."""
    return f"'{text}" if text[:1] in ("=", "+", "-", "@", "\t", "\r") else text


def _render(template: str, **values: object) -> bytes:
    return _environment().get_template(template).render(**values).encode()


@cache
def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("autograder"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["prose"] = lambda text: Markup(as_html(text))
    return environment
