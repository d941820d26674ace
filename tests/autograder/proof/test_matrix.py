"""Reference, blank, every mutant and every right variant, against the checks on hidden cases.

Of labs that are not shown, all mutants and variants are slow but one for each exercise.
A mistake in a part is played in each exercise that calls it, with --large all that are known.
What is right is played on the cases of another seed here than behind the wall, in test_class. That
every check has its mutant and every exercise its variant, test_labs asks of `missing_parts`.

A mark must not depend on the seed. So the mutants of each exercise are played with another one,
and `make test-long` plays all answers with twenty.
"""

from functools import cache
from zlib import crc32

import pytest
from instances import lab_instances, long_unless, shown_labs, slow_unless
from told_apart import not_told_apart, said_twice

from autograder.builder.notebooks import student_text
from autograder.builder.source import read_labs, solved_text
from autograder.proof.matrix import findings_for, namespace_of, play_all
from labkit.checks.names import used_names
from labkit.measuring import records
from tests.known import mutants_of, variants_of
from tests.sample_class.demo import RUN

OTHER_SEED = RUN.seed + 1
N_SEEDS = 20
LABS = {lab.name: lab for lab in read_labs()}
MARKED = [(lab.name, cell.name) for lab in LABS.values() for cell in lab.marked]


@pytest.fixture(scope="module", autouse=True)
def records_are_read_once():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(records, "recorded_results", cache(records.recorded_results))
        yield


def cell_of(lab, exercise):
    return next(cell for cell in lab.marked if cell.name == exercise)


def collection(known):
    """(lab, answer) for each known answer."""
    return [
        pytest.param(lab, item, id=f"{lab.name}-{item.exercise}-{item.title}", marks=marks)
        for lab in LABS.values()
        for item in known(lab)
        for marks in [slow_unless(lab in shown_labs() or is_first(item, known(lab)))]
    ]


def is_first(item, known):
    """Whether no other answer to the exercise stands before."""
    return item == next(each for each in known if each.exercise == item.exercise)


@pytest.mark.parametrize("lab", LABS.values(), ids=LABS)
def test_the_reference_earns_everything(lab):
    findings = play_all(lab, namespace_of(lab), seed=OTHER_SEED)
    assert [(f.check.name, f.message) for f in findings if not f.passed] == []


@pytest.mark.parametrize(("lab_name", "exercise"), MARKED)
def test_the_stub_earns_nothing_and_counts_as_not_done(lab_name, exercise):
    lab = LABS[lab_name]
    stub = student_text(cell_of(lab, exercise))
    findings = findings_for(lab, exercise, {exercise: stub})
    assert {finding.status for finding in findings} == {"todo"}


@pytest.fixture(scope="module")
def play():
    """What the checks find of a mutant; each is played once for all tests."""
    known = {}

    def findings_of(lab, mutant):
        key = (lab.name, mutant.exercise, mutant.title)
        if key not in known:
            replaced = {mutant.exercise: mutant.source}
            seed = crc32(mutant.exercise.encode()) % N_SEEDS
            known[key] = findings_for(lab, mutant.exercise, replaced, seed=seed)
        return known[key]

    return findings_of


@pytest.mark.parametrize(("lab", "mutant"), collection(mutants_of))
def test_each_mutant_fails_exactly_the_checks_named_for_it(lab, mutant, play):
    findings = play(lab, mutant)
    failed = {finding.check.name: finding.message for finding in findings if not finding.passed}
    assert mutant.fits(failed), failed
    assert said_twice(findings) == []


@pytest.mark.parametrize("lab", lab_instances())
def test_nine_of_ten_wrong_answers_are_told_apart(lab, play):
    answers = [(mutant, play(lab, mutant)) for mutant in mutants_of(lab)]
    alike = [f"{mutant.exercise}: {mutant.title}" for mutant in not_told_apart(answers)]
    assert len(alike) <= 0.1 * len(answers), alike


@pytest.mark.parametrize(("lab", "variant"), collection(variants_of))
def test_each_right_variant_earns_everything(lab, variant):
    replaced = {variant.exercise: variant.source}
    findings = findings_for(lab, variant.exercise, replaced, seed=OTHER_SEED)
    assert [(f.check.name, f.message) for f in findings if not f.passed] == []


def of_every_seed(known):
    """Each known answer; all but the first of a shown lab are for `make test-long`."""
    return [
        pytest.param(lab, item, id=f"{lab.name}-{item.exercise}-{item.title}", marks=marks)
        for lab in LABS.values()
        for item in known(lab)
        for marks in [long_unless(lab in shown_labs() and item == known(lab)[0])]
    ]


@pytest.mark.parametrize(("lab", "mutant"), of_every_seed(mutants_of))
def test_no_seed_misses_a_mutant(lab, mutant):
    failed = failed_with_each_seed(lab, mutant)
    assert {seed: names for seed, names in failed.items() if not mutant.fits(names)} == {}


@pytest.mark.parametrize(("lab", "variant"), of_every_seed(variants_of))
def test_no_seed_fails_a_right_variant(lab, variant):
    failed = failed_with_each_seed(lab, variant)
    assert {seed: names for seed, names in failed.items() if names} == {}


def failed_with_each_seed(lab, answer):
    """The names of the checks that fail for an answer, by seed."""
    replaced = {answer.exercise: answer.source}
    found = {
        seed: findings_for(lab, answer.exercise, replaced, seed=seed) for seed in range(N_SEEDS)
    }
    return {
        seed: {finding.check.name for finding in findings if not finding.passed}
        for seed, findings in found.items()
    }


def called_parts():
    """Exercises, and others that they call."""
    for lab in LABS.values():
        for caller in lab.exercises:
            names = used_names(solved_text(caller)) - {caller.name}
            for part in sorted(names & {mutant.exercise for mutant in mutants_of(lab)}):
                yield lab, caller.name, part


CALLED = [
    pytest.param(lab, *names, id="-".join((lab.name, *names)), marks=slow_unless(i % 3 == 0))
    for i, (lab, *names) in enumerate(called_parts())
]


@pytest.mark.parametrize(("lab", "caller", "part"), CALLED)
def test_a_mistake_costs_nothing_where_it_is_called(lab, caller, part, request):
    mutants = [mutant for mutant in mutants_of(lab) if mutant.exercise == part]
    found = {
        mutant.title: findings_for(lab, caller, {part: mutant.source})
        for mutant in (mutants if request.config.getoption("--large") else mutants[:1])
    }
    wrong = {
        title: [(f.check.name, f.message) for f in findings if not f.passed]
        for title, findings in found.items()
    }
    assert not any(wrong.values()), wrong


ODD = """\
class Odd:
    shape = (1, 2)
    def __getattr__(self, name): return Odd()
    def __call__(self, *a, **k): return Odd()
    def __len__(self): return 2
    def __getitem__(self, i): return Odd()
"""

TRIVIAL = [
    "{name} = None",
    "{name} = 100",
    "{name} = 'right'",
    "{name} = {{}}",
    "class {name}:\n    pass",
    "def {name}(*a, **k): return None",
    "def {name}(*a, **k): return 0",
    "def {name}(*a, **k): return 1",
    "def {name}(*a, **k): return True",
    "def {name}(*a, **k): return float('nan')",
    "def {name}(*a, **k): return 10 ** 4000",
    "def {name}(*a, **k): return 'right'",
    "def {name}(*a, **k): return a",
    "def {name}(*a, **k): return a[0] if a else 1",
    "def {name}(*a, **k): return []",
    "def {name}(*a, **k): return {{}}",
    "def {name}(*a, **k): return torch.zeros(()) if 'torch' in globals() else 0.0",
    "def {name}(*a, **k): return object()",
    "def {name}(*a, **k): raise ValueError('no')",
    "def {name}(*a, **k): raise MemoryError('no')",
    "def {name}(*a, **k): yield 1",
    "def {name}(*a, **k): return (lambda: 1)",
    "def {name}(*a, **k): return [type, print, ...]",
    ODD + "{name} = Odd()",
    ODD + "def {name}(*a, **k): return Odd()",
    ODD + "def {name}(*a, **k): return Odd(), Odd()",
]


@pytest.mark.parametrize("text", TRIVIAL)
@pytest.mark.parametrize("lab", lab_instances())
def test_trivial_answers_earn_nothing_and_break_no_check(lab, text):
    """Alone or all at once: no check passes without work, and none stumbles over odd values."""
    everywhere = {cell.name: text.format(name=cell.name) for cell in lab.marked}
    findings = play_all(lab, namespace_of(lab, everywhere))
    for name, alone in everywhere.items():
        findings += findings_for(lab, name, {name: alone})
    assert [f.check.name for f in findings if f.passed] == []
