"""The checks as a notebook shows them: what passed, what failed and why, a hint to unfold."""

import html
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from labkit.bridge.local import local_student
from labkit.checks.core import (
    GATE_SENTENCE,
    Finding,
    checks_of,
    open_cases_of,
    play_exercise,
    points_by_weight,
    share_of_points,
)

MARKS = {
    "passed": ("✓", "#1a7f37"),
    "failed": ("✗", "#b42318"),
    "todo": ("○", "#6e6e6e"),
    "read": ("●", "#3b6ea8"),
    "undecided": ("?", "#6e6e6e"),
}


@dataclass(frozen=True)
class Report:
    """The findings of one exercise; shown as a page in a notebook, as text elsewhere.

    As plain text it is the number of points, which is what nbgrader reads from a test cell.
    """

    exercise: str
    findings: list[Finding]
    points: float

    @property
    def earned(self) -> float:
        return round(sum(share_of_points(self.findings, self.points)), 2)

    def _earned_of(self) -> str:
        """Points earned and to be earned here; what is only read is marked elsewhere."""
        shares = points_by_weight([finding.check for finding in self.findings], self.points)
        is_read = [finding.status == "read" for finding in self.findings]
        if all(is_read):
            return f"{self.points:g} points, marked when you hand it in"
        most = sum(share for share, read in zip(shares, is_read, strict=True) if not read)
        return f"{self.earned:g} of {round(most, 2):g} points on the open cases"

    def __str__(self) -> str:
        lines = [f"{self.exercise}: {self._earned_of()}"]
        for finding in self.findings:
            mark, _ = MARKS[finding.status]
            lines.append(f"  {mark} {finding.check.claim}")
            if not finding.passed:
                lines += [f"      {said}" for said in _said(finding)]
            if finding.status not in ("passed", "read"):
                lines.append(f"      hint: {finding.check.hint}")
        return "\n".join(lines)

    def _repr_mimebundle_(self, **_: Any) -> dict[str, str]:
        return {"text/plain": f"{self.earned:g}", "text/html": self._html()}

    def _html(self) -> str:
        rows = "".join(_row(finding) for finding in self.findings)
        title = f"<b>{html.escape(self.exercise)}</b>: {self._earned_of()}"
        return f'<div style="line-height:1.5">{title}{rows}</div>'


def _said(finding: Finding) -> list[str]:
    is_gate = finding.check.gate and finding.status not in ("read", "undecided")
    return [finding.message, *([GATE_SENTENCE] if is_gate else [])]


def as_html(text: str) -> str:
    """Text of a check as HTML, with `code` set as code."""
    return re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))


def _row(finding: Finding) -> str:
    mark, colour = MARKS[finding.status]
    claim = f'<span style="color:{colour}">{mark}</span> {as_html(finding.check.claim)}'
    if finding.passed:
        return f"<div>{claim}</div>"
    return (
        f'<div>{claim}<div style="margin-left:1.4em;white-space:pre-line">'
        f"{as_html(chr(10).join(_said(finding)))}"
        f"<details><summary>hint</summary>{as_html(finding.check.hint)}</details></div></div>"
    )


class Checker:
    """Plays a lab's public cases against the names of a notebook.

    check = Checker("memory", globals())
    check("weight_bytes", points=2)
    """

    def __init__(self, topic: str, namespace: Mapping[str, Any]) -> None:
        self._cases = open_cases_of(topic)
        self._checks = checks_of(topic)
        self._namespace = namespace

    def __call__(self, exercise: str, points: float) -> Report:
        """Check one exercise. Raises ValueError for a name that is no exercise of this lab."""
        if exercise not in self._checks:
            known = ", ".join(self._checks)
            raise ValueError(f"no exercise {exercise!r} in this lab; there are: {known}")
        student = local_student(self._namespace)  # afresh: the cell may have changed
        findings = play_exercise(self._checks, exercise, student, self._cases[exercise])
        return Report(exercise, findings, points)
