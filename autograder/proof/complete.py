"""What a lab's folders must have, and which file to add where something is missing."""

import ast
from collections.abc import Iterator

from autograder.builder.source import Lab, module_source, read_labs
from autograder.labs import cases_of, part_of
from autograder.labs.known import mutants_of, steps_of, stray_files, variants_of
from labkit.checks.core import Check, checks_of, open_cases_of

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


def unproven_parts(lab: Lab) -> Iterator[str]:
    """A sentence for each known answer that the checks of the lab are not tried on, and its file.

    The kit's labs have them all. A lecturer's own lab can be graded without.
    """
    hidden = f"autograder/labs/{lab.topic}"
    checks = checks_of(lab.topic)
    for cell in lab.marked:
        if not any(variant.exercise == cell.name for variant in variants_of(lab)):
            what = f"{cell.name} of {lab.name} has no right answer besides the reference"
            yield f"{what}: add one to {hidden}/variants/{cell.name}.py"
        yield from _uncaught(lab, cell.name, checks.get(cell.name, []))
    for kind, path in stray_files(lab):
        yield f"{path.name} in {hidden}/{kind} is named after no exercise of {lab.name}: rename it"


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


def _uncaught(lab: Lab, exercise: str, checks: list[Check]) -> Iterator[str]:
    """Checks that no wrong answer fails alone, or with those that must fail with it.

    What a gate asks for, others build on; so a wrong answer that fails with others is enough there.
    """
    caught, steps = {mutant.caught_by for mutant in mutants_of(lab)}, steps_of(lab)
    every = {name for names in caught for name in names}
    for check in checks:
        alone = steps.get(check.name, (check.name,)) in caught
        if not (alone or (check.gate and check.name in every)):
            yield (
                f"the check {check.name} of {lab.name} has no wrong answer that it alone catches: "
                f"add one to autograder/labs/{lab.topic}/mutants/{exercise}.py"
            )
