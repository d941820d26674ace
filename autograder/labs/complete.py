"""What a lab's folders must have, and which file to add where something is missing."""

from collections.abc import Iterator

from autograder.builder.source import Lab
from autograder.labs import cases_of, part_of
from labkit.checks.core import checks_of, open_cases_of

SEED = 0


def missing_parts(lab: Lab) -> Iterator[str]:
    """A sentence for each part that the lab does not have, with the file to add."""
    checks_folder = f"labkit/labs/{lab.topic}/checks"
    cases_file = f"autograder/labs/{lab.topic}/cases.py"
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
            yield f"{what}: add one to PUBLIC_CASES in {checks_folder}"
        if not hidden_cases.get(cell.name):
            yield f"{cell.name} of {lab.name} has no hidden case: add one to {cases_file}"
    # Checks that no mutant fails are to be named here.
