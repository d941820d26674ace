"""The samplers of lab 6 on the engine: the tokens of transformers, with and without a draft."""

from __future__ import annotations

import itertools
from functools import cache

import pytest
import torch
from instances import some_of

from labkit import zoo
from labkit.engine.cached import EngineModel
from labkit.engine.decoder import Decoder
from labkit.engine.sampling import Warp
from labkit.engine.weights import weights_of
from labkit.models.prompts import prompts
from labkit.speculative import autoregressive, speculative

GREEDY = {"temperature": 0}
N_NEW = 16


@cache
def pair():
    return zoo.load_pair("tiny")


@cache
def decoders():
    return tuple(Decoder(weights_of(one.model, 512), 512) for one in (pair().target, pair().draft))


def models():
    """The pair with empty caches."""
    return [EngineModel(decoder) for decoder in decoders()]


@cache
def texts():
    tokenizer = pair().target.tokenizer
    return [tuple(tokenizer(prompt.text)["input_ids"])[:60] for prompt in prompts()]


@cache
def alone(prompt):
    return autoregressive(models()[0], prompt, N_NEW, eos=0, **GREEDY)


def greedy_of_transformers(prompt):
    made = pair().target.model.generate(
        torch.tensor([prompt]), do_sample=False, max_new_tokens=N_NEW, pad_token_id=0
    )
    return made[0, len(prompt) :].tolist()


def test_greedy_tokens_are_those_of_transformers():
    for prompt in texts()[::4]:
        assert alone(prompt) == greedy_of_transformers(prompt)


@pytest.mark.parametrize("gamma", some_of([1, 4], 4))
def test_a_draft_does_not_change_greedy_tokens(gamma):
    n_kept = 0
    for prompt in texts()[::2]:
        blocks = []
        made = speculative(*models(), prompt, N_NEW, gamma, eos=0, blocks=blocks, **GREEDY)
        assert made == alone(prompt)
        n_kept += sum(block.n_accepted for block in blocks)
        assert len(made) <= sum(block.n_accepted + 1 for block in blocks)
        assert all(block.n_drafted <= gamma for block in blocks)
    assert n_kept > 20


@pytest.mark.parametrize("n_new", [0, 1, 2, 7])
def test_no_more_comes_than_was_asked_for(n_new):
    for seed in range(3):
        torch.manual_seed(seed)
        blocks = []
        made = speculative(*models(), texts()[0], n_new, 4, blocks=blocks)
        assert len(made) == n_new
        assert sum(block.n_accepted + 1 for block in blocks) == n_new


def test_the_draft_as_its_own_target_keeps_everything():
    draft = decoders()[1]
    twins = [EngineModel(each) for each in (draft, Decoder(draft.weights, 512))]
    torch.manual_seed(0)
    blocks = []
    made = speculative(*twins, texts()[1], 41, 4, blocks=blocks)
    assert len(made) == 41
    assert sum(block.n_accepted for block in blocks) >= 0.98 * sum(
        block.n_drafted for block in blocks
    )


def test_gamma_may_change_from_block_to_block():
    prompt, wishes, blocks = texts()[0], [3, 0, 1, 5, 0, 2], []
    asked = itertools.cycle(wishes)
    made = speculative(*models(), prompt, 24, lambda: next(asked), blocks=blocks, **GREEDY)
    assert made == autoregressive(models()[0], prompt, 24, **GREEDY)
    drafted = [block.n_drafted for block in blocks]
    assert drafted[:4] == wishes[:4] and min(drafted) == 0


def test_a_prompt_of_one_token_and_the_end_inside_a_block():
    made = autoregressive(models()[0], texts()[0][:1], 12, **GREEDY)
    end = made[5]
    wanted = made[: made.index(end) + 1]
    assert autoregressive(models()[0], texts()[0][:1], 12, eos=end, **GREEDY) == wanted
    for gamma in (1, 3, 8):
        found = speculative(*models(), texts()[0][:1], 12, gamma, eos=end, **GREEDY)
        assert found == wanted


@pytest.mark.parametrize(
    "bad", [{"temperature": -1.0}, {"top_k": 0}, {"top_p": 0.0}, {"temperature": float("nan")}]
)
def test_a_warp_that_means_nothing_is_refused(bad):
    with pytest.raises(ValueError, match="wanted a"):
        Warp(**bad)
