"""Choosing gamma as one goes: the law stays, and the choice comes to be the right one."""

import random
from itertools import pairwise

import pytest
import torch
from every_outcome import deviation, exact_law

from labkit.labs.speculative.speculation.adaptive import (
    AdaptiveGamma,
    ConfidentDraft,
    StepwiseGamma,
)
from labkit.labs.speculative.speculation.models import TableModel
from labkit.models.sampling import Block
from labkit.speculative import autoregressive, best_gamma, speculative


def table(seed, vocab_size=2):
    return TableModel.random(vocab_size, torch.Generator().manual_seed(seed))


def adaptive(draft_s=0.1, **settings):
    return AdaptiveGamma(draft_s, 1, lambda gamma: 1 + 0.02 * gamma, **settings)


def speculate(policy, alpha, n_blocks, rng):
    """Let the policy go through blocks whose tokens are accepted with probability alpha."""
    chosen = []
    for _ in range(n_blocks):
        gamma = policy()
        n = next((i for i in range(gamma) if rng.random() >= alpha), gamma)
        policy.blocks.append(Block(gamma, n))
        chosen.append(gamma)
    return chosen


@pytest.mark.parametrize(
    "make", [lambda: adaptive(0.4, prior_n=0.5, probe_every=1), lambda: StepwiseGamma(1)],
    ids=["adaptive", "stepwise"],
)  # fmt: skip
def test_a_policy_that_learns_from_the_text_keeps_the_law(monkeypatch, make):
    target, draft, chosen = table(1), table(2), set()

    def play():
        target.rewind(0)
        draft.rewind(0)
        policy = make()
        text = speculative(target, draft, [1, 0], 6, policy, blocks=policy.blocks)
        chosen.add(tuple(block.n_drafted for block in policy.blocks))
        return tuple(text)

    def play_alone():
        target.rewind(0)
        return tuple(autoregressive(target, [1, 0], 6))

    law = exact_law(play, monkeypatch)
    assert deviation(law, exact_law(play_alone, monkeypatch)) < 1e-12
    assert len(chosen) > 4


def test_a_draft_that_stops_where_it_is_unsure_keeps_the_law(monkeypatch):
    target, draft, found = table(1, 3), ConfidentDraft(table(2, 3), 0.55), []

    def play():
        target.rewind(0)
        draft.rewind(0)
        return tuple(speculative(target, draft, [1, 0], 3, 2, blocks=found))

    def play_alone():
        target.rewind(0)
        return tuple(autoregressive(target, [1, 0], 3))

    law = exact_law(play, monkeypatch)
    assert deviation(law, exact_law(play_alone, monkeypatch)) < 1e-12
    assert {block.n_drafted for block in found} == {0, 1, 2}


def test_only_the_rows_that_are_unsure_propose_nothing():
    draft = table(2, 3)
    logits = draft.feed([0, 1, 2, 0])
    best = logits.softmax(-1).amax(-1)
    sure = ConfidentDraft(table(2, 3), float(best.median()))
    found = sure.feed([0, 1, 2, 0])
    unsure = torch.isneginf(found).all(-1)
    assert unsure.equal(best < best.median())
    assert found[~unsure].equal(logits[~unsure])
    sure.rewind(1)
    assert sure.n_cached() == 1
    with pytest.raises(ValueError, match=r"not at 1\.5"):
        ConfidentDraft(draft, 1.5)


@pytest.mark.parametrize("alpha", [0.45, 0.7, 0.9])
def test_the_choice_comes_near_the_best(alpha):
    """Over 400 blocks; an estimate from 200 blocks is good for one or two tokens more or less."""
    chosen = speculate(adaptive(window=200), alpha, 400, random.Random(0))
    best = best_gamma(alpha, 0.1, 1, lambda gamma: 1 + 0.02 * gamma)
    assert abs(sum(chosen[200:]) / 200 - best) < 1.5


def test_drafting_stops_where_it_does_not_pay_and_begins_again_where_it_does():
    policy, rng = adaptive(0.5), random.Random(0)
    speculate(policy, 0.9, 60, rng)
    stopped = speculate(policy, 0.1, 400, rng)[-100:]
    probes = [i for i, gamma in enumerate(stopped) if gamma]
    assert set(stopped) == {0, 1} and {b - a for a, b in pairwise(probes)} == {8}
    again = speculate(policy, 0.95, 800, rng)[-100:]
    assert min(again) >= 2


def test_the_first_choice_rests_on_the_prior_alone():
    assert adaptive(prior=0.9).alpha == 0.9
    assert adaptive(prior=0.9)() > adaptive(prior=0.5)() > 0
    assert adaptive(prior=0.0)() == 0


def test_only_the_last_blocks_that_drafted_count():
    policy = adaptive(window=2, prior=0.5, prior_n=2)
    policy.blocks += [Block(9, 9), Block(3, 1), Block(0, 0), Block(2, 2)]
    assert policy.alpha == (3 + 1) / (4 + 2)


def test_steps_of_two_up_and_one_down():
    policy = StepwiseGamma(first=3, max_gamma=6)
    seen = []
    for n_accepted in (3, 5, 0, 0, 4, 1, 0, 0, 0, 0):
        gamma = policy()
        policy.blocks.append(Block(gamma, min(gamma, n_accepted)))
        seen.append(gamma)
    assert seen == [3, 5, 6, 5, 4, 6, 5, 4, 3, 2]


def test_blocks_without_a_draft_are_no_success():
    policy = StepwiseGamma(first=3)
    policy.blocks += [Block(0, 0)] * 5
    assert policy() == 3
    policy.blocks += [Block(0, 0), Block(3, 2)]
    assert policy() == 2


def test_a_model_gone_wrong_is_not_taken_for_an_unsure_one():
    draft = table(2, 3)
    draft._logits[:] = torch.nan
    with pytest.raises(ValueError, match="finite"):
        speculative(table(1, 3), ConfidentDraft(draft, 0.5), [1], 3, 2)


@pytest.mark.parametrize(
    "settings", [{"window": 0}, {"probe_every": 0}, {"max_gamma": 0}, {"prior": 1.1},
                 {"prior_n": 0}, {"prior": float("nan")}],
    ids=str,
)  # fmt: skip
def test_settings_that_mean_nothing_are_refused(settings):
    with pytest.raises(ValueError, match=r"must be at least 1|prior is a probability"):
        adaptive(**settings)
    with pytest.raises(ValueError, match="1 <= first <= max_gamma"):
        StepwiseGamma(first=0)
