"""Playing answers against the checks in this very process: the quick half of the matrix test.

It trusts what it runs, so it is for our own mutants and variants, never for submissions.
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping

from autograder.builder.blank import solved_cell
from autograder.builder.source import Cell, Lab, module_source
from autograder.cases import hidden_cases
from labkit.checks.core import Finding, checks_in, play_check
from labkit.student import local_student


def solved_text(cell: Cell) -> str:
    """The right answer of a marked cell, as the instructor's notebook has it."""
    if cell.kind == "answer":
        return cell.text
    return solved_cell(module_source(cell.target.module), cell.target)


def findings_for(
    lab: Lab, exercise: str, replaced: Mapping[str, str] | None = None, *, seed: int = 0
) -> list[Finding]:
    """What the checks of one exercise find when these cells are replaced and all others solved."""
    namespace: dict = {"__name__": "__main__"}
    for cell in lab.cells:
        if cell.kind in ("given", "exercise", "answer"):
            text = (replaced or {}).get(cell.name)
            text = text if text is not None else cell.text or solved_text(cell)
            exec(compile(text, f"<{cell.name}>", "exec"), namespace)
    checks = checks_in(importlib.import_module(f"labkit.checks.{lab.topic}"))
    cases = hidden_cases(lab.topic, seed)
    student = local_student(namespace)
    return [play_check(check, student, cases[exercise]) for check in checks[exercise]]
