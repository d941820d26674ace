"""The files that a lab's folders must have; for each missing one, which file to add."""

import ast
from collections.abc import Iterator

from autograder.builder.source import Lab, module_source, read_labs
from autograder.labs import cases_of, part_of
from labkit.checks.core import checks_of, open_cases_of

SEED = 0


def missing_parts(lab: Lab) -> Iterator[str]:
    """A sentence for each part without which the lab cannot be graded, with the file to add."""
    checks_folder = f"labkit/labs/{lab.topic}/checks"
    hidden = f"autograder/labs/{lab.topic}"
    cases_file = f"{hidden}/cases/__init__.py"
    try:
        checks, open_cases = checks_of(lab.topic), open_cases_of(lab.topic)
    except ModuleNotFoundError:
        yield f"{lab.name} has no checks: add {checks_folder}/__init__.py"
        return
    if part_of(lab.topic, "cases") is None:
        yield f"{lab.name} has no hidden cases: add {cases_file}"
        return
    hidden_cases = cases_of(lab.topic, SEED)
    for cell in lab.marked:
        if not checks.get(cell.name):
            yield f"{cell.name} of {lab.name} has no check: add one to {checks_folder}"
        if not open_cases.get(cell.name):
            what = f"{cell.name} of {lab.name} has no open case"
            yield f"{what}: add one to OPEN_CASES in {checks_folder}"
        if not hidden_cases.get(cell.name):
            yield f"{cell.name} of {lab.name} has no hidden case: add one to {cases_file}"
    yield from _helpers(lab)


def _helpers(lab: Lab) -> Iterator[str]:
    """Functions beside the answers that no exercise names: students would get them in clear."""
    targets = {cell.target for other in read_labs() for cell in other.exercises}
    named = {(target.module, target.name) for target in targets}
    for module in sorted({cell.target.module for cell in lab.exercises}):
        for node in ast.parse(module_source(module)).body:
            if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
                continue
            if (module, node.name) not in named:
                yield (
                    f"{node.name} in {module} stands beside the answers, so students would get it "
                    "as it is: write it inside of an answer, or make it an exercise"
                )
