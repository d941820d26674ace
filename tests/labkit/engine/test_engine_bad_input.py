"""What the samplers of lab 6 do on the engine with bad and extreme input."""

from __future__ import annotations

from dataclasses import replace
from functools import cache

import pytest
import torch
from instances import some_of

from labkit import zoo
from labkit.engine.cached import EngineModel
from labkit.engine.decoder import Decoder
from labkit.engine.sampling import Warp
from labkit.engine.weights import weights_of
from labkit.speculative import autoregressive, speculative

N_POSITIONS = 40
PROMPT = list(range(5, 15))
GREEDY = {"temperature": 0}
WAYS_TO_DRAW = [GREEDY, {}, {"top_k": 5}, {"temperature": 0.5, "top_p": 0.9}]
LOOPS = ("autoregressive", "speculative")


@cache
def pair():
    loaded = zoo.load_pair("tiny")
    both = (loaded.target, loaded.draft)
    return [Decoder(weights_of(one.model, N_POSITIONS), N_POSITIONS) for one in both]


def run(loop, target, draft, prompt=PROMPT, n_new=12, gamma=4, settings=GREEDY, **options):
    options = settings | options
    if loop == "autoregressive":
        return autoregressive(EngineModel(target), prompt, n_new, **options)
    return speculative(EngineModel(target), EngineModel(draft), prompt, n_new, gamma, **options)


def with_head(decoder, value, token=None):
    """The decoder with a head that gives `value` for a token, or for all."""
    head = decoder.weights.head.clone()
    head[slice(None) if token is None else token] = value
    return Decoder(replace(decoder.weights, head=head), N_POSITIONS)


@pytest.mark.parametrize("gamma", [0, -1])
def test_a_block_without_a_drafted_token_is_refused(gamma):
    with pytest.raises(ValueError, match=f"gamma must be at least 1, not {gamma}"):
        run("speculative", *pair(), gamma=gamma)


def test_two_vocabularies_are_refused():
    target, draft = pair()
    shape = replace(draft.shape, vocab_size=4000)
    other = Decoder(replace(draft.weights, shape=shape), N_POSITIONS)
    with pytest.raises(ValueError, match=r"the target has 4096, the draft 4000"):
        run("speculative", target, other)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize(("n_prompt", "n_new"), [(N_POSITIONS + 2, 1), (N_POSITIONS, 2), (30, 12)])
def test_a_text_longer_than_the_arena_is_refused(loop, n_prompt, n_new):
    with pytest.raises(ValueError, match=rf"the arena has {N_POSITIONS} positions"):
        run(loop, *pair(), prompt=[5] * n_prompt, n_new=n_new)


def test_the_arena_of_the_draft_counts_too():
    target, draft = pair()
    with pytest.raises(ValueError, match="the arena has 16 positions"):
        run("speculative", target, Decoder(draft.weights, 16))


@pytest.mark.parametrize("loop", LOOPS)
def test_an_arena_can_be_filled_to_the_last_position(loop):
    made = run(loop, *pair(), prompt=[5] * 30, n_new=11)
    assert made == run("autoregressive", *pair(), prompt=[5] * 30, n_new=11)
    assert len(made) == 11


@pytest.mark.parametrize("gamma", [1, 3, 20])
def test_the_end_at_once_is_the_only_token(gamma):
    end = run("autoregressive", *pair(), n_new=1)[0]
    assert run("autoregressive", *pair(), eos=end) == [end]
    assert run("speculative", *pair(), gamma=gamma, eos=end) == [end]
    sure = with_head(pair()[0], 0.0)  # all tokens alike: greedy takes the first
    assert run("speculative", sure, pair()[1], gamma=gamma, eos=0) == [0]


@pytest.mark.parametrize("loop", LOOPS)
def test_an_end_in_the_prompt_ends_nothing(loop):
    end = max(run("autoregressive", *pair())) + 1
    prompt = [*PROMPT[:-1], end]
    made = run(loop, *pair(), prompt=prompt)
    assert run(loop, *pair(), prompt=prompt, eos=end)[0] == made[0]
    assert len(made) == 12


def test_temperature_0_is_greedy_and_needs_no_chance():
    made = run("autoregressive", *pair())
    before = torch.get_rng_state()
    try:
        for seed in range(3):
            torch.manual_seed(seed)
            assert run("speculative", *pair()) == made
    finally:
        torch.set_rng_state(before)


@pytest.mark.parametrize("temperature", [-1.0, -1e-9, float("nan")])
def test_a_temperature_below_0_is_refused(temperature):
    with pytest.raises(ValueError, match=f"a temperature of at least 0, got {temperature}"):
        Warp(temperature)


@pytest.mark.parametrize("loop", LOOPS)
@pytest.mark.parametrize("settings", some_of(WAYS_TO_DRAW, GREEDY, WAYS_TO_DRAW[-1]))
@pytest.mark.parametrize("token", [None, 100])
@pytest.mark.parametrize("value", [float("nan"), float("inf")])
def test_logits_that_are_no_numbers_are_an_error(loop, settings, token, value):
    target, draft = pair()
    with pytest.raises(ValueError, match="must be a finite number"):
        run(loop, with_head(target, value, token), draft, settings=settings)


@pytest.mark.parametrize("settings", [GREEDY, {}])
def test_a_broken_draft_is_an_error_too(settings):
    target, draft = pair()
    with pytest.raises(ValueError, match="must be a finite number"):
        run("speculative", target, with_head(draft, float("nan")), settings=settings)


def test_after_an_error_the_decoders_are_as_good_as_new():
    target, draft = pair()
    wanted = run("speculative", target, draft)
    with pytest.raises(ValueError, match="a finite number"):
        run("speculative", with_head(target, float("nan")), draft)
    assert run("speculative", target, draft) == wanted
