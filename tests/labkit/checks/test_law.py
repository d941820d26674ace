"""The exact law of samplers: right ones, every fault of the catalogue, and what goes wrong."""

from __future__ import annotations

import math
import random
from functools import cache

import pytest
from right_samplers import RIGHT
from sampler_faults import (
    EOS_FAULTS,
    LAW_FAULTS,
    Parts,
    TableModel,
    assembled,
    random_table,
)

from labkit.bridge.local import local_student
from labkit.bridge.requests import scripted as ask_scripted
from labkit.chance.paths import NotRepeatable
from labkit.chance.source import scripted
from labkit.checks.law import exact_law, offered, text_law

PROMPT = [1, 0]
REFERENCE = assembled(Parts())


def law_of(sampler, vocab_size=2, n_new=4, gamma=2, eos=None, **limits):
    """The exact law of a sampler on two random tables."""
    tables = random_table(vocab_size, 0), random_table(vocab_size, 1)

    def play(source):
        target, draft = map(TableModel, tables)
        with scripted(source):
            return sampler(target, draft, PROMPT, n_new, gamma, eos)

    return exact_law(play, **limits)


@cache
def wanted(vocab_size=2, n_new=4, eos=None):
    table = random_table(vocab_size, 0)
    return text_law(lambda new: table[tuple([*PROMPT, *new][-2:])].tolist(), n_new, eos)


# ------------------------------------------------------------------ samplers


@pytest.mark.parametrize("name", RIGHT)
def test_right_samplers_have_the_law_of_the_target(name):
    law = law_of(RIGHT[name])
    assert law.is_complete and law.n_paths > 50
    assert law.deviation(wanted()) < 1e-12
    assert math.fsum(law.probabilities.values()) == pytest.approx(1, abs=1e-12)


@pytest.mark.parametrize("name", ["vectorised", "numpy", "no cache kept"])
def test_right_samplers_end_with_the_text(name):
    law = law_of(RIGHT[name], vocab_size=3, n_new=3, eos=1)
    assert law.deviation(wanted(3, 3, 1)) < 1e-12
    assert set(law.probabilities) == set(wanted(3, 3, 1))


SIZES = {  # where two tokens and four new ones hide the fault, or take too many paths
    "argmax of the residual": {"vocab_size": 3, "n_new": 2, "gamma": 1},
    "rejected position dropped": {"n_new": 2, "gamma": 1},
}


@pytest.mark.parametrize("name", LAW_FAULTS)
def test_a_fault_of_the_law_is_seen(name):
    size = SIZES.get(name, {})
    law = law_of(assembled(LAW_FAULTS[name]), **size, least_probability=1e-5)
    expected = wanted(size.get("vocab_size", 2), size.get("n_new", 4))
    assert law.deviation(expected) > 1e-3


@pytest.mark.parametrize("name", EOS_FAULTS)
def test_a_text_that_goes_on_after_its_end_is_seen_as_illegal(name):
    law = law_of(assembled(EOS_FAULTS[name]), eos=1)
    assert law.deviation(wanted(eos=1)) > 1e-3
    assert set(law.probabilities) - set(wanted(eos=1))


def n_paths_by_hand(n_new, gamma):
    """With three tokens: two ways to be rejected and replaced at a context, whatever the tables."""
    if n_new == 0:
        return 1
    k = min(gamma, n_new - 1)
    rejected = (2 * 3 ** (k - 1) * n_paths_by_hand(n_new - i - 1, gamma) for i in range(k))
    return sum(rejected) + 3 ** (k + 1) * n_paths_by_hand(n_new - k - 1, gamma)


def test_every_path_is_walked_once():
    assert n_paths_by_hand(4, 3) == 2835
    law = law_of(REFERENCE, vocab_size=3, n_new=3, gamma=3)
    assert law.n_paths == n_paths_by_hand(3, 3)
    assert law.deviation(wanted(3, 3)) < 1e-12


# ------------------------------------------------------------------ the enumeration itself


def test_one_uniform_asked_twice_keeps_its_answers():
    def play(source):
        uniform = source.uniform()
        return [source.is_below(uniform, threshold) for threshold in (0.3, 0.6, 0.3)]

    law = exact_law(play)
    assert law.probabilities == pytest.approx({(1, 1, 1): 0.3, (0, 1, 0): 0.3, (0, 0, 0): 0.4})
    assert law.n_paths == 3


def test_weights_need_not_sum_to_one_and_zeros_are_never_taken():
    law = exact_law(lambda source: [source.choose([0.0, 1.0, 0.0, 3.0])])
    assert law.probabilities == {(1,): 0.25, (3,): 0.75}


@pytest.mark.parametrize("weights", [[0.0, 0.0], [-1.0, 2.0], [math.nan, 1.0], [math.inf], []])
def test_weights_that_are_none_are_refused(weights):
    with pytest.raises(ValueError, match="weights of a choice"):
        exact_law(lambda source: [source.choose(weights)])


def test_a_sampler_that_remembers_earlier_runs_is_found():
    calls = []

    def play(source):
        calls.append(1)
        return [source.choose([1.0, 1.0 + len(calls)]), source.choose([1.0, 1.0])]

    with pytest.raises(NotRepeatable, match="random choice 1 was among 2 outcomes"):
        exact_law(play)


def test_a_sampler_that_asks_less_the_second_time_is_found():
    calls = []

    def play(source):
        calls.append(1)
        return [source.choose([1.0, 1.0]) for _ in range(3 - len(calls))]

    with pytest.raises(NotRepeatable, match="made 1 random choices"):
        exact_law(play)


def test_random_numbers_that_nobody_scripted_are_found():
    rng = random.Random(0)

    def play(source):
        return [source.choose([rng.random(), 1.0]), source.choose([1.0, 1.0])]

    with pytest.raises(NotRepeatable):
        exact_law(play)


def test_an_endless_sampler_is_given_up_with_a_bound():
    def play(source):
        n_failures = 0
        while source.choose([0.5, 0.5]):
            n_failures += 1
        return [n_failures]

    law = exact_law(play, least_probability=1e-3)
    assert 0 < law.missing < 2e-3 and not law.is_complete
    assert law.probabilities[(0,)] == 0.5
    assert law.deviation({(n,): 0.5 ** (n + 1) for n in range(60)}) < 1e-12
    assert exact_law(play, max_forks=5).missing == pytest.approx(1 / 32)


def test_too_many_paths_stop_and_say_so():
    law = exact_law(lambda source: [source.choose([1.0] * 10) for _ in range(3)], max_paths=20)
    assert law.n_paths == 20 and not law.is_complete
    assert law.missing == pytest.approx(0.98)
    assert law.deviation({(0, 0, 0): 1.0}) == pytest.approx(0.019, abs=1e-6)


def test_too_many_choices_stop_long_paths_and_say_so():
    def draws_until_it_is_accepted(source):
        while source.choose([1.0, 1.0, 2.0]) < 2:
            pass
        return [0]

    law = exact_law(draws_until_it_is_accepted, max_choices=500)
    assert law.n_paths < 500 and 0.4 < law.missing < 1


def test_a_path_that_was_given_up_stays_so_whatever_the_sampler_catches():
    def play(source):
        try:
            while source.choose([0.5, 0.5]):
                pass
        except ValueError:
            return [99]
        return [0]

    law = exact_law(play, max_forks=4)
    assert law.probabilities == {(0,): 1 - 1 / 16}


def test_a_samplers_own_error_comes_through():
    with pytest.raises(ZeroDivisionError):
        exact_law(lambda source: [1 // source.choose([1.0, 1.0])])


def test_the_law_of_texts_ends_them_at_the_end():
    law = text_law(lambda new: [0.25, 0.75], 2, eos=0)
    assert law == {(0,): 0.25, (1, 0): 0.1875, (1, 1): 0.5625}
    assert text_law(lambda new: [1.0], 0) == {(): 1.0}


STUDENT = """
from random import random
import torch

def sample(threshold):
    accepted = random() < threshold and bool(torch.rand(1) < 0.5)
    return [int(accepted), int(torch.multinomial(torch.tensor([0.2, 0.8]).double(), 1))]
"""


def test_the_source_may_sit_behind_a_students_wall():
    """The three questions travel as callbacks with plain numbers, as they do in the grader."""
    namespace = {}
    exec(STUDENT, namespace)
    student = local_student(namespace)
    law = exact_law(lambda source: ask_scripted(student.sample, offered(source), 0.5))
    expected = {(1, 0): 0.05, (1, 1): 0.2, (0, 0): 0.15, (0, 1): 0.6}
    assert law.probabilities == pytest.approx(expected)
