"""The matrix behind the wall: sample class, mutants and right variants in one grading.

All of them share one class, so a submission that harmed another would show in the other's mark.
"""

import importlib

import pytest

from autograder.builder.source import find_lab, read_labs
from autograder.cheats import Sample, cell_called, sample_class
from autograder.demo import RUN, grade_class, is_as_expected
from autograder.matrix import solved_text
from autograder.names import used_names
from autograder.results import GRADED


def with_cell(name, text):
    def edit(notebook):
        cell_called(notebook, name)["source"] = text

    return edit


def as_samples(package, attribute, prefix):
    """Mutants or variants as submissions: (sample, item)."""
    for lab in read_labs():
        module = importlib.import_module(f"autograder.{package}.{lab.topic}")
        solved = {cell.name: solved_text(cell) for cell in lab.marked}
        for i, item in enumerate(getattr(module, attribute)):
            text = item.cell(solved[item.exercise]) if prefix == "mutant" else item.source
            student = f"{prefix}-{i:03d}"
            edit = with_cell(item.exercise, text)
            yield Sample(student, lab.name, f"{item.exercise}: {item.title}", edit), item


CLASS = sample_class()
MUTANTS = list(as_samples("mutants", "MUTANTS", "mutant"))
VARIANTS = list(as_samples("variants", "VARIANTS", "variant"))


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    samples = [*CLASS, *(sample for sample, _ in MUTANTS), *(sample for sample, _ in VARIANTS)]
    return grade_class(samples, tmp_path_factory.mktemp("class"), RUN)


def test_the_sample_class_is_large_enough():
    assert len(CLASS) >= 12
    assert {sample.lab for sample in CLASS} == {lab.name for lab in read_labs()}


def test_every_sample_gets_the_mark_and_status_it_deserves(results):
    wrong = {
        f"{sample.lab} {sample.student} ({sample.about})": (
            result and (result.score, result.status, result.problem),
            (sample.expected_score(), sample.status),
        )
        for sample in CLASS
        if not is_as_expected(sample, result := results.get((sample.lab, sample.student)))
    }
    assert wrong == {}


def test_every_mutant_fails_exactly_its_checks_and_hurts_only_what_calls_it(results):
    solved = {c.name: solved_text(c) for lab in read_labs() for c in lab.marked}
    wrong = {}
    for sample, mutant in MUTANTS:
        result = results[sample.lab, sample.student]
        failed = {(check.exercise, check.check) for check in result.checks if not check.passed}
        own = {check for exercise, check in failed if exercise == mutant.exercise}
        others = {exercise for exercise, _ in failed} - {mutant.exercise}
        callers = {name for name in others if mutant.exercise in used_names(solved[name])}
        if result.status != GRADED or own != set(mutant.caught_by) or others != callers:
            wrong[sample.about] = (result.status, result.problem, failed, mutant.caught_by)
    assert wrong == {}


def test_every_right_variant_earns_everything(results):
    wrong = {}
    for sample, _ in VARIANTS:
        result = results[sample.lab, sample.student]
        if result.score != result.max_score:
            wrong[sample.about] = [c.message for c in result.checks if not c.passed]
    assert wrong == {}


def test_what_failed_says_why_in_the_students_words(results):
    for result in results.values():
        for check in result.checks:
            assert check.claim.endswith("."), check
            if not check.passed:
                assert len(check.message) > 10, check
                assert "Traceback" not in check.message
                assert "autograder" not in check.message


def test_points_add_up(results):
    for result in results.values():
        if result.score is not None:
            assert result.score == pytest.approx(sum(c.points for c in result.checks), abs=0.01)
            assert result.max_score == sum(cell.points for cell in find_lab(result.lab).marked)
