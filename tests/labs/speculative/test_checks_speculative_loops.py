"""Checks of the samplers of lab 06: their models, their laws, and what cannot be followed."""

from __future__ import annotations

from dataclasses import replace

import pytest
import torch

from labkit.bridge.local import local_student
from labkit.checks.core import Wrong, open_cases_of
from labkit.checks.law import exact_law
from labkit.labs.speculative.checks import runs
from labkit.labs.speculative.checks.cases import SamplingCase, under_settings
from labkit.labs.speculative.checks.law import Unfollowed
from labkit.labs.speculative.checks.models import OfferedModel, Table, Tape, circle, generic
from labkit.labs.speculative.checks.runs import (
    every_run,
    expect_law,
    expect_rng_decides,
    play_once,
    run_of,
)
from labkit.labs.speculative.checks.seen import blocks_of
from labkit.labs.speculative.models import TableModel
from labkit.models.sampling import sample
from labkit.speculative import autoregressive, distribution, speculative

TWO = generic(2, 1, 0.1)
CASE = SamplingCase("two tokens", "law", TWO, (1, 0), 3)


def student_with(sampler, name="autoregressive"):
    return local_student({name: sampler})


def test_an_offered_table_answers_as_the_reference_model_does():
    table = torch.softmax(torch.randn(4, 4, 3, generator=torch.Generator().manual_seed(0)), -1)
    ours, theirs = OfferedModel("target", Table(table), Tape(99)), TableModel(table)
    for tokens, length in (([2, 0, 1], 2), ([1], 0), ([0, 2], 1)):
        assert torch.equal(ours.feed(tokens), theirs.feed(tokens))
        ours.rewind(length)
        theirs.rewind(length)
        assert ours.n_cached() == theirs.n_cached() == length


@pytest.mark.parametrize("tokens", [[], [3], [-1]])
def test_an_offered_model_refuses_what_is_no_token(tokens):
    with pytest.raises(ValueError, match="the target is fed 1 token or more, from 0 to 2"):
        OfferedModel("target", generic(3, 1), Tape(9)).feed(tokens)


@pytest.mark.parametrize("tokens", [torch.zeros(10**8, dtype=torch.uint8), range(10**12)])
def test_a_model_makes_nothing_of_far_too_many_tokens(tokens):
    with pytest.raises(ValueError, match="far more tokens"):
        OfferedModel("target", generic(3, 1), Tape(9)).feed(tokens)


def test_a_sampler_that_never_ends_is_stopped():
    model = OfferedModel("draft", generic(3, 1), Tape(5))
    with pytest.raises(ValueError, match="again and again"):
        while True:
            model.n_cached()


@pytest.mark.parametrize(
    "told",
    [{}, {"temperature": 0}, {"temperature": 0.4, "top_k": 3}, {"top_p": 0.6}, {"top_k": 1}],
)
def test_settings_mean_here_what_they_mean_in_the_lab(told):
    probs = torch.softmax(torch.randn(5, generator=torch.Generator().manual_seed(3)).double(), -1)
    assert under_settings(probs.tolist(), **told) == pytest.approx(
        distribution(probs.log(), **told).tolist(), abs=1e-12
    )


def test_the_law_of_the_reference_is_complete_and_right():
    played = every_run(student_with(autoregressive), CASE)
    assert played.law.deviation(CASE.law()) < 1e-12
    assert len(played.runs) == 8


def unfollowed(share):
    """Draws by the digits of a random number, which nothing can follow; `share` is of token 1."""

    def sampler(target, prompt, n_new):
        text = list(prompt)
        for _ in range(n_new):
            probs = target.feed(text[target.n_cached() :])[-1].softmax(-1)
            uniform = int(torch.rand(()).double() * 2**24) / 2**24
            text.append(int(uniform < share(float(probs[1]))))
        return text[len(prompt) :]

    return student_with(sampler)


def test_what_cannot_be_followed_is_refused():
    with pytest.raises(Unfollowed, match="cannot be followed") as caught:
        expect_law(unfollowed(lambda p: p), CASE)
    assert "Draw with `torch.rand`" in caught.value.sentences()


def test_a_sampler_that_remembers_is_refused():
    calls = []

    def sampler(target, prompt, n_new):
        calls.append(1)
        extra = [torch.rand(()) < 0.5 for _ in range(len(calls) % 3)]
        return autoregressive(target, prompt, n_new) if len(extra) < 9 else []

    with pytest.raises(Unfollowed, match="remembers"):
        every_run(student_with(sampler), CASE)


def test_too_many_paths_are_refused():
    def sampler(target, prompt, n_new):
        [torch.multinomial(torch.ones(9), 1) for _ in range(4)]
        return autoregressive(target, prompt, n_new)

    student = student_with(sampler)
    with pytest.raises(Unfollowed, match="too many ways"):
        every_run(student, CASE)
    with pytest.raises(Unfollowed, match="too many ways"):  # at once
        every_run(student, replace(CASE, n_new=10**6))


def test_following_ends_after_so_many_calls_of_the_models(monkeypatch):
    monkeypatch.setattr(runs, "MAX_FEEDS", 50)
    n_fed = 0

    def sampler(target, prompt, n_new):
        nonlocal n_fed
        while torch.rand(()) < 0.5:
            target.feed([0])
            target.rewind(0)
            n_fed += 1
        return autoregressive(target, prompt, n_new)

    with pytest.raises(Unfollowed, match="too many ways"):
        every_run(student_with(sampler), CASE)
    assert n_fed < 100


def test_nothing_forks_past_the_end_of_the_text():
    """A sampler that writes on and cuts later takes no path more than one that stops."""

    def sampler(target, prompt, n_new):
        return autoregressive(target, prompt, n_new + 8)[:n_new]

    assert len(every_run(student_with(sampler), CASE).runs) == 8


@pytest.mark.parametrize(
    ("draw", "sentence"),
    [
        (lambda probs, rng: sample(probs, rng), ""),
        (lambda probs, rng: sample(probs), "though `rng` is in the same state"),
        (lambda probs, rng: sample(probs, rng.manual_seed(0)), "though `rng` is in different"),
        (lambda probs, rng: int(probs.argmax()), "though `rng` is in different"),
    ],
)
def test_rng_decides_about_the_text(draw, sentence):
    def sampler(target, prompt, n_new, rng):
        text = list(prompt)
        while len(text) < len(prompt) + n_new:
            logits = target.feed(text[target.n_cached() :])[-1]
            text.append(draw(logits.softmax(-1), rng))
        return text[len(prompt) :]

    state = torch.get_rng_state()
    case = replace(CASE, n_new=40, kind="repeated")
    if sentence:
        with pytest.raises(Wrong, match=sentence):
            expect_rng_decides(student_with(sampler), case)
    else:
        expect_rng_decides(student_with(sampler), case)
    assert torch.equal(torch.get_rng_state(), state)


def test_a_bias_says_from_which_token_on_it_goes_wrong():
    def sampler(target, prompt, n_new):
        new = autoregressive(target, prompt, n_new)
        return [*new[:-1], 0]

    with pytest.raises(Wrong) as caught:
        expect_law(student_with(sampler), CASE)
    assert "The first 2 new tokens have the right distribution" in caught.value.sentences()


def test_blocks_are_told_from_the_calls():
    ring = (3, 1, 4, 0, 2)
    case = SamplingCase("some", "sure", circle(ring), (3,), 7, circle(ring, slips=(4,)), (3,))
    run = run_of(student_with(speculative, "speculative"), case)
    seen = [(one.position, one.n_drafted, one.n_kept) for one in blocks_of(run, case)]
    assert seen == [(1, 3, 2), (4, 3, 3)]


def test_a_run_with_a_source_is_one_path():
    student = student_with(autoregressive)
    law = exact_law(lambda source: play_once(student, CASE, source).new)
    assert law.deviation(CASE.law()) < 1e-12


@pytest.mark.parametrize("exercise", ["autoregressive", "speculative"])
def test_cases_describe_themselves(exercise):
    assert all("object at" not in str(case) for case in open_cases_of("speculative")[exercise])
