"""The lean loops of the engine: the tokens of transformers, with and without a draft."""

from __future__ import annotations

import itertools
from dataclasses import replace
from functools import cache

import pytest
import torch

from labkit import zoo
from labkit.engine.decoder import Decoder
from labkit.engine.generate import autoregressive, speculative
from labkit.engine.sampling import Warp
from labkit.engine.weights import weights_of
from labkit.models.prompts import prompts

GREEDY = Warp(0.0)
N_NEW = 16


@cache
def pair():
    return zoo.load_pair("tiny")


@cache
def decoders():
    return tuple(Decoder(weights_of(one.model, 512), 512) for one in (pair().target, pair().draft))


@cache
def texts():
    tokenizer = pair().target.tokenizer
    return [tuple(tokenizer(prompt.text)["input_ids"])[:60] for prompt in prompts()]


@cache
def alone(prompt):
    return autoregressive(decoders()[0], prompt, N_NEW, GREEDY, eos=0)


def greedy_of_transformers(prompt):
    made = pair().target.model.generate(
        torch.tensor([prompt]), do_sample=False, max_new_tokens=N_NEW, pad_token_id=0
    )
    return made[0, len(prompt) :].tolist()


def test_greedy_tokens_are_those_of_transformers():
    for prompt in texts()[::4]:
        assert alone(prompt) == greedy_of_transformers(prompt)


@pytest.mark.parametrize("gamma", [1, 4])
def test_a_draft_does_not_change_greedy_tokens(gamma):
    target, draft = decoders()
    n_kept = 0
    for prompt in texts()[::2]:
        blocks = []
        made = speculative(target, draft, prompt, N_NEW, gamma, GREEDY, eos=0, records=blocks)
        assert made == alone(prompt)
        n_kept += sum(block.n_accepted for block in blocks)
        assert len(made) <= sum(block.n_accepted + 1 for block in blocks)
        assert all(block.n_drafted <= gamma for block in blocks)
    assert n_kept > 20


@pytest.mark.parametrize("n_new", [0, 1, 2, 7])
def test_no_more_comes_than_was_asked_for(n_new):
    target, draft = decoders()
    for seed in range(3):
        torch.manual_seed(seed)
        blocks = []
        made = speculative(target, draft, texts()[0], n_new, 4, Warp(1.0), records=blocks)
        assert len(made) == n_new
        assert sum(block.n_accepted + 1 for block in blocks) == n_new


def test_the_draft_as_its_own_target_keeps_everything():
    _, draft = decoders()
    twin = Decoder(draft.weights, 512)
    torch.manual_seed(0)
    blocks = []
    made = speculative(draft, twin, texts()[1], 41, 4, Warp(1.0), records=blocks)
    assert len(made) == 41
    assert sum(block.n_accepted for block in blocks) >= 0.98 * sum(
        block.n_drafted for block in blocks
    )


def test_gamma_may_change_from_block_to_block():
    target, draft = decoders()
    prompt, wishes, blocks = texts()[0], [3, 0, 1, 5, 0, 2], []
    asked = itertools.cycle(wishes)
    made = speculative(target, draft, prompt, 24, lambda: next(asked), GREEDY, records=blocks)
    assert made == autoregressive(target, prompt, 24, GREEDY)
    drafted = [block.n_drafted for block in blocks]
    assert drafted[:4] == wishes[:4] and min(drafted) == 0


def test_a_prompt_of_one_token_and_the_end_inside_a_block():
    target, draft = decoders()
    made = autoregressive(target, texts()[0][:1], 12, GREEDY)
    end = made[5]
    wanted = made[: made.index(end) + 1]
    assert autoregressive(target, texts()[0][:1], 12, GREEDY, eos=end) == wanted
    for gamma in (1, 3, 8):
        found = speculative(target, draft, texts()[0][:1], 12, gamma, GREEDY, eos=end)
        assert found == wanted


def test_bad_input_is_refused():
    target, draft = decoders()
    with pytest.raises(ValueError, match="wanted a prompt and 0 or more"):
        autoregressive(target, [], 3, GREEDY)
    with pytest.raises(ValueError, match="got 3 tokens and -1 new"):
        autoregressive(target, [1, 2, 3], -1, GREEDY)
    with pytest.raises(
        ValueError, match="510 tokens and 3 new ones do not fit into an arena of 512"
    ):
        autoregressive(target, [1] * 510, 3, GREEDY)
    with pytest.raises(ValueError, match="got gamma = 0"):
        speculative(target, draft, [1], 3, 0, GREEDY)
    other = Decoder(replace(draft.weights, shape=replace(draft.shape, vocab_size=5000)), 8)
    with pytest.raises(ValueError, match="the target has 4,096 tokens and the draft 5,000"):
        speculative(target, other, [1], 3, 2, GREEDY)
    for bad in ({"temperature": -1.0}, {"top_k": 0}, {"top_p": 0.0}, {"temperature": float("nan")}):
        with pytest.raises(ValueError, match="wanted a"):
            Warp(**bad)


def test_logits_that_are_no_numbers_are_an_error():
    target, draft = decoders()
    broken = Decoder(replace(target.weights, head=target.weights.head * float("nan")), 64)
    with pytest.raises(ValueError, match="logits that are not numbers"):
        autoregressive(broken, [1, 2], 3, Warp(1.0))
    with pytest.raises(ValueError, match="the target gives logits that are not numbers"):
        speculative(broken, draft, [1, 2], 5, 2, Warp(1.0))
