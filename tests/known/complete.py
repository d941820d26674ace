"""What proves the checks of a lab: which known answer is missing, and the file to add it to."""

from collections.abc import Iterator

from autograder.builder.source import Lab
from labkit.checks.core import Check, checks_of
from tests.known import mutants_of, steps_of, stray_files, variants_of


def unproven_parts(lab: Lab) -> Iterator[str]:
    """A sentence for each known answer that the checks of the lab are not tried on, and its file.

    The kit's labs have them all. A lecturer's own lab can be graded without.
    """
    known = f"tests/known/{lab.topic}"
    checks = checks_of(lab.topic)
    for cell in lab.marked:
        if not any(variant.exercise == cell.name for variant in variants_of(lab)):
            what = f"{cell.name} of {lab.name} has no right answer besides the reference"
            yield f"{what}: add one to {known}/right/{cell.name}.py"
        yield from _uncaught(lab, cell.name, checks.get(cell.name, []))
    for kind, path in stray_files(lab):
        yield f"{path.name} in {known}/{kind} is named after no exercise of {lab.name}: rename it"


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
                f"add one to tests/known/{lab.topic}/wrong/{exercise}.py"
            )
