"""Playing answers against the checks in this very process: the quick half of the matrix test.

It trusts what it runs, so it is for our own mutants and variants, never for submissions.
"""

import linecache
from collections.abc import Mapping
from functools import cache
from types import CodeType

from autograder.builder.source import Lab, solved_text
from autograder.labs import cases_of, parts_of
from labkit.bridge.local import local_student
from labkit.checks.core import Finding, checks_of, play_check
from labkit.checks.unjudged import judged


def findings_for(
    lab: Lab, exercise: str, replaced: Mapping[str, str] | None = None, *, seed: int = 0
) -> list[Finding]:
    """What the checks of one exercise find when these cells are replaced and all others solved."""
    checks = checks_of(lab.topic)
    student = local_student(namespace_of(lab, replaced))
    cases = cases_of(lab.topic, seed)[exercise]
    right = parts_of(lab.topic)
    return judged([play_check(check, student, cases, right=right) for check in checks[exercise]])


def namespace_of(lab: Lab, replaced: Mapping[str, str] | None = None) -> dict:
    """The names of a solved notebook with these cells replaced."""
    namespace: dict = {"__name__": "__main__"}
    for cell in lab.cells:
        if cell.kind in ("given", "exercise", "answer"):
            text = (replaced or {}).get(cell.name)
            text = text if text is not None else cell.text or solved_text(cell)
            run_cell(text, cell.name, namespace)
    return namespace


def run_cell(text: str, cell: str, namespace: dict) -> None:
    """Run the text of a cell with these names."""
    name, lines = f"<{cell}>", text.splitlines(keepends=True)
    linecache.cache[name] = len(text), None, lines, name  # Triton reads a kernel's text
    exec(_compiled(text, name), namespace)


@cache
def _compiled(text: str, name: str) -> CodeType:
    return compile(text, name, "exec")


def play_all(
    lab: Lab,
    namespace: Mapping[str, object],
    cases: Mapping[str, list] | None = None,
    *,
    seed: int = 0,
) -> list[Finding]:
    """Play all checks of a lab, on the hidden cases if no others are given."""
    checks = checks_of(lab.topic)
    student = local_student(namespace)
    cases = cases_of(lab.topic, seed) if cases is None else cases
    right = parts_of(lab.topic)
    return [
        play_check(check, student, cases[name], right=right)
        for name in checks
        for check in checks[name]
    ]
