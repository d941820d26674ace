"""The matrix behind the wall: sample class, mutants and right variants in one grading.

All of them share one class, so a submission that harmed another would show in the other's mark. Of
the mutants, which test_matrix plays one and all, there is one for each exercise.
"""

import importlib

import pytest

from autograder.builder.source import find_lab, read_labs
from autograder.cheats import Sample, cell_called, sample_class
from autograder.demo import RUN, grade_class, is_as_expected
from autograder.matrix import solved_text
from autograder.names import used_names
from autograder.results import GRADED


def names_behind(name, solved):
    """This exercise and all that its solved cell uses, directly or through others."""
    found, due = set(), [name]
    while due:
        found.add(name := due.pop())
        due += (used_names(solved[name]) & solved.keys()) - found
    return found


def as_samples(package, attribute):
    """Mutants or variants as submissions, with several in each: (sample, its items).

    No two of them are answers to the same exercise, and none is behind another's.
    """
    for lab in read_labs():
        module = importlib.import_module(f"autograder.{package}.{lab.topic}")
        solved = {cell.name: solved_text(cell) for cell in lab.marked}
        packs = []
        items = getattr(module, attribute)
        for item in one_for_each_exercise(items) if package == "mutants" else items:
            text = item.cell(solved[item.exercise]) if package == "mutants" else item.source
            behind = names_behind(item.exercise, solved | {item.exercise: text})
            pack = next((pack for pack in packs if pack.takes(item.exercise, behind)), None)
            if pack is None:
                packs.append(pack := Pack())
            pack.add(item, text, behind)
        for i, pack in enumerate(packs):
            about = "; ".join(f"{item.exercise}: {item.title}" for item in pack.items)
            yield Sample(f"{package}-{i:03d}", lab.name, about, pack.write), pack.items


def one_for_each_exercise(mutants):
    """The first mutant of every exercise."""
    return {mutant.exercise: mutant for mutant in reversed(mutants)}.values()


class Pack:
    """Answers that can stand in one submission and not disturb each other."""

    def __init__(self):
        self.items, self.texts, self.behind = [], {}, set()

    def takes(self, exercise, behind):
        return exercise not in self.behind and not behind & self.texts.keys()

    def add(self, item, text, behind):
        self.items.append(item)
        self.texts[item.exercise] = text
        self.behind |= behind

    def write(self, notebook):
        for name, text in self.texts.items():
            cell_called(notebook, name)["source"] = text


CLASS = sample_class()
MUTANTS = list(as_samples("mutants", "MUTANTS"))
VARIANTS = list(as_samples("variants", "VARIANTS"))


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
    for sample, mutants in MUTANTS:
        result = results[sample.lab, sample.student]
        assert (result.status, result.problem) == (GRADED, ""), sample.about
        failed = {(check.exercise, check.check) for check in result.checks if not check.passed}
        due = {(mutant.exercise, name) for mutant in mutants for name in mutant.caught_by}
        mutated = {mutant.exercise for mutant in mutants}
        hurt = {name for name in solved if mutated & (names_behind(name, solved) - {name})}
        more = {one for one in failed - due if one[0] not in hurt}
        if more or due - failed:
            wrong[sample.lab, sample.about] = (more, due - failed)
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
