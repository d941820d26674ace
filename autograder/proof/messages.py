"""Which share of a lab's wrong answers is told apart by what its checks say.

A wrong answer has messages of its own if no other wrong answer to the exercise gets the same ones,
numbers left out. Run `python -m autograder.proof.messages [LAB ...]`.
"""

import re
import sys
from collections import Counter

from autograder.builder.source import Lab, find_lab, read_labs
from autograder.labs.known import Mutant, mutants_of
from autograder.proof.matrix import findings_for

NUMBERS = re.compile(r"[-+.,e\d]*\d")
Said = tuple[str, frozenset[tuple[str, str]]]


def said_of(lab: Lab, mutant: Mutant) -> Said:
    """The exercise, and each check that fails with its message, without numbers and cases."""
    findings = findings_for(lab, mutant.exercise, {mutant.exercise: mutant.source})
    failed = (finding for finding in findings if not finding.passed)
    told = ((each.check.name, each.message.partition(": ")[2]) for each in failed)
    return mutant.exercise, frozenset((name, NUMBERS.sub("#", text)) for name, text in told)


def not_told_apart(lab: Lab) -> list[Mutant]:
    """The wrong answers that get the same messages as another one."""
    said = {id(mutant): said_of(lab, mutant) for mutant in mutants_of(lab)}
    counts = Counter(said.values())
    return [mutant for mutant in mutants_of(lab) if counts[said[id(mutant)]] > 1]


def main(names: list[str]) -> None:
    """Print the share of each lab, and the wrong answers that are not told apart."""
    for lab in map(find_lab, names) if names else read_labs():
        alike, n_mutants = not_told_apart(lab), len(mutants_of(lab))
        n_own = n_mutants - len(alike)
        print(f"{lab.name}: {n_own} of {n_mutants} wrong answers ({n_own / n_mutants:.0%})")
        for mutant in alike:
            print(f"    {mutant.exercise}: {mutant.title}")


if __name__ == "__main__":
    main(sys.argv[1:])
