"""The matrix behind the wall: sample class, mutants and right variants of a lab in one grading.

All of them share one class, so a submission that harmed another would show in the other's mark. Of
the sample class, which `make demo` grades one and all, there are a few, or all with --large. Of the
mutants, which test_matrix plays one and all, there is one for each exercise; of the right variants
there are those that fit into a few submissions, or all with --large.
"""

import math
from dataclasses import replace

import pytest
from instances import lab_instances

from autograder.builder.source import solved_text
from autograder.practice import Sample, cell_called
from autograder.practice.clumsy import BORROWS
from autograder.record.results import GRADED
from labkit.checks.core import checks_of
from labkit.checks.names import used_names
from labkit.checks.why.borrowed import borrowed
from tests.known import mutants_of, variants_of
from tests.sample_class import expected_score, sample_class
from tests.sample_class.demo import RUN, grade_class, is_as_expected

N_SAMPLES = 5  # of a lab's sample class
N_VARIANTS = 3  # submissions of a lab with right variants; each exercise has at least as many
LARGE_CLASS = 60  # submissions that keep more than one slot busy
CELL_S = 8.0  # the slowest cell that ends imports transformers; endless ones take all of it
CHECK_S = 8.0  # the slowest check that ends takes a second
LIMITS = replace(RUN.limits, cell_s=CELL_S, check_s=CHECK_S)


def names_behind(name, solved, parts=frozenset()):
    """This exercise and all that its solved cell uses, directly or through others but `parts`."""
    found, due = set(), [name]
    while due:
        found.add(name := due.pop())
        due += (used_names(solved[name]) & solved.keys()) - found - parts
    return found


def parts_of(checks):
    """The other exercises that an exercise's checks have right ones of."""
    return {name for check in checks for name in check.parts}


def as_samples(lab, kind, answers):
    """Mutants or variants as submissions, with several in each: (sample, its items).

    No two of them are answers to the same exercise, and none is behind another's.
    """
    solved = {cell.name: solved_text(cell) for cell in lab.marked}
    packs = []
    for item in answers:
        behind = names_behind(item.exercise, solved | {item.exercise: item.source})
        pack = next((pack for pack in packs if pack.takes(item.exercise, behind)), None)
        if pack is None:
            packs.append(pack := Pack())
        pack.add(item, behind)
    for i, pack in enumerate(packs):
        about = "; ".join(f"{item.exercise}: {item.title}" for item in pack.items)
        yield Sample(f"{kind}-{i:03d}", lab.name, about, pack.write), pack.items


def one_for_each_exercise(mutants):
    """The first mutant of every exercise."""
    return {mutant.exercise: mutant for mutant in reversed(mutants)}.values()


class Pack:
    """Answers that can stand in one submission and not disturb each other."""

    def __init__(self):
        self.items, self.texts, self.behind = [], {}, set()

    def takes(self, exercise, behind):
        return exercise not in self.behind and not behind & self.texts.keys()

    def add(self, item, behind):
        self.items.append(item)
        self.texts[item.exercise] = item.source
        self.behind |= behind

    def write(self, notebook):
        for name, text in self.texts.items():
            cell_called(notebook, name)["source"] = text


class Graded:
    """A lab's class with what was found."""

    def __init__(self, lab, is_large, folder):
        self.lab = lab
        self.samples = [sample for sample in sample_class() if sample.lab == lab.name]
        self.mutants = list(as_samples(lab, "mutants", one_for_each_exercise(mutants_of(lab))))
        self.variants = list(as_samples(lab, "variants", variants_of(lab)))
        if not is_large:
            step = math.ceil(len(self.samples) / N_SAMPLES)
            self.samples = self.samples[step // 2 :: step]
            self.variants = self.variants[:N_VARIANTS]
        everybody = [*self.samples, *(sample for sample, _ in self.mutants + self.variants)]
        jobs = RUN.jobs if len(everybody) > LARGE_CLASS else 1
        run = replace(RUN, jobs=jobs, limits=LIMITS)
        self.results = grade_class(everybody, folder, run)

    def result(self, sample):
        return self.results.get((sample.lab, sample.student))


@pytest.fixture(scope="module", params=lab_instances())
def graded(request, tmp_path_factory):
    """Each lab's class in turn."""
    is_large = request.config.getoption("--large")
    return Graded(request.param, is_large, tmp_path_factory.mktemp(request.param.name))


def test_every_sample_gets_the_mark_and_status_it_deserves(graded):
    assert graded.samples
    wrong = {
        f"{sample.student} ({sample.about})": (
            result and (result.score, result.status, result.problem),
            (expected_score(sample), sample.status),
        )
        for sample in graded.samples
        if not is_as_expected(sample, result := graded.result(sample))
    }
    assert wrong == {}


@pytest.mark.parametrize(
    "sample", [each for each in sample_class() if each.about == BORROWS], ids=lambda each: each.lab
)
def test_an_answer_that_needs_a_loop_of_an_experiment_is_told_so(sample, tmp_path):
    results = grade_class([sample], tmp_path, replace(RUN, jobs=1, limits=LIMITS))
    (result,) = results.values()
    assert is_as_expected(sample, result)
    messages = {check.message for check in result.checks if check.exercise in sample.loses}
    assert messages
    assert all(message.endswith(borrowed("n_computed").sentences()) for message in messages)


def test_every_mutant_fails_exactly_its_checks_and_hurts_only_what_calls_it(graded):
    solved = {cell.name: solved_text(cell) for cell in graded.lab.marked}
    # Beside wrong functions, an answer may be right by these functions of the student's own.
    answers = {cell.name for cell in graded.lab.marked if cell.kind == "answer"}
    parts = {name: parts_of(checks) for name, checks in checks_of(graded.lab.topic).items()}
    wrong = {}
    for sample, mutants in graded.mutants:
        result = graded.result(sample)
        assert (result.status, result.problem) == (GRADED, ""), sample.about
        failed = {(check.exercise, check.check) for check in result.checks if not check.passed}
        due = {(mutant.exercise, name) for mutant in mutants for name in mutant.caught_by}
        mutated = {mutant.exercise for mutant in mutants}
        used = {name: names_behind(name, solved, parts[name]) - {name} for name in solved}
        hurt = {name for name, others in used.items() if mutated & others}
        more = {one for one in failed - due if one[0] not in hurt}
        less = {one for one in due - failed if one[0] not in answers or mutated <= answers}
        if more or less:
            wrong[sample.about] = (more, less)
    assert wrong == {}


def test_every_right_variant_earns_everything(graded):
    wrong = {}
    for sample, _ in graded.variants:
        result = graded.result(sample)
        if result.score != result.max_score:
            wrong[sample.about] = [c.message for c in result.checks if not c.passed]
    assert wrong == {}


def test_what_failed_says_why_in_the_students_words(graded):
    for result in graded.results.values():
        for check in result.checks:
            assert check.claim.endswith("."), check
            if not check.passed:
                assert len(check.message) > 10, check
                assert "Traceback" not in check.message
                assert "autograder" not in check.message


def test_points_add_up(graded):
    for result in graded.results.values():
        if result.score is not None:
            assert result.score == pytest.approx(sum(c.points for c in result.checks), abs=0.01)
            assert result.max_score == sum(cell.points for cell in graded.lab.marked)
