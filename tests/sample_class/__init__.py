"""The sample class: what a grader meets, hostile submissions included, with the marks they deserve.

`make demo` grades it and compares each mark with the one that is expected.
"""

from collections.abc import Collection
from importlib import import_module

from autograder.builder.source import find_lab, read_labs
from autograder.practice import ALL, Sample
from labkit.checks.core import Finding, checks_of, share_of_points
from tests.known import HERE as KNOWN

KINDS = (
    *("autograder.practice.honest", "autograder.practice.clumsy", "autograder.practice.dialects"),
    *(f"tests.sample_class.{name}" for name in ("variants", "deliveries", "pages", "forging")),
    *(f"tests.sample_class.{name}" for name in ("guessing", "measuring", "traces")),
    *(f"tests.sample_class.{name}" for name in ("stealing", "breaking")),
)


def samples_of(lab: str, students: Collection[str]) -> list[Sample]:
    """What these students hand in for a lab."""
    return [each for each in sample_class() if each.lab == lab and each.student in students]


def sample_class() -> list[Sample]:
    """The whole class, in order of name: what labs share, and each lab's own."""
    labs = {lab.name: lab.topic for lab in read_labs()}
    own = [topic for topic in labs.values() if (KNOWN / topic / "samples.py").is_file()]
    modules = map(import_module, (*KINDS, *(f"tests.known.{topic}.samples" for topic in own)))
    samples = [one for module in modules for one in module.SAMPLES if one.lab in labs]
    return sorted(samples, key=lambda sample: (sample.lab, sample.student))


def expected_score(sample: Sample) -> float | None:
    """The mark that a submission deserves; None if it cannot be graded."""
    if sample.status == "ungradable":
        return None
    if sample.loses == ALL:
        return 0.0
    lab = find_lab(sample.lab)
    checks, earned = checks_of(lab.topic), 0.0
    for cell in lab.marked:
        is_lost = {
            check: bool({cell.name, check.name} & set(sample.loses)) for check in checks[cell.name]
        }
        found = [Finding(each, "failed" if lost else "passed") for each, lost in is_lost.items()]
        earned += sum(share_of_points(found, cell.points))
    return round(earned, 2)
