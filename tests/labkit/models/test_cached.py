"""The transformers library's caches, by whichever names its version has for them."""

import pytest
import torch
from transformers import Qwen3Config, Qwen3ForCausalLM

from labkit.models.cached import cache_that_calls, cut, forward, layers_of, new_cache

TOKENS = torch.arange(9)[None]


@pytest.fixture(scope="module")
def model():
    sizes = {"hidden_size": 16, "intermediate_size": 32, "num_attention_heads": 2, "head_dim": 8}
    config = Qwen3Config(vocab_size=11, num_hidden_layers=2, num_key_value_heads=1, **sizes)
    torch.manual_seed(0)
    return Qwen3ForCausalLM(config).eval().requires_grad_(False)


@pytest.fixture(scope="module")
def logits(model):
    return model(TOKENS).logits


def after(model, past, n_cached):
    return forward(model, TOKENS[:, n_cached:], past).logits


def test_a_pass_with_a_cache_is_a_pass_over_the_whole_text(model, logits):
    past = new_cache(config=model.config)
    forward(model, TOKENS[:, :5], past)
    torch.testing.assert_close(after(model, past, 5), logits[:, 5:])
    assert layers_of(past)[1][0].shape == (1, 1, 9, 8)


def test_without_a_cache_nothing_is_kept(model, logits):
    torch.testing.assert_close(forward(model, TOKENS, None).logits, logits)


def test_a_cache_begins_with_the_layers_that_it_is_given(model, logits):
    past = new_cache()
    forward(model, TOKENS[:, :5], past)
    torch.testing.assert_close(after(model, new_cache(layers_of(past)), 5), logits[:, 5:])


@pytest.mark.parametrize("kept", [slice(4), slice(-5), torch.arange(4)], ids=str)
def test_a_cache_that_was_cut_holds_these_tokens_alone(model, logits, kept):
    past = new_cache()
    forward(model, TOKENS, past)
    cut(past, kept)
    torch.testing.assert_close(after(model, past, 4), logits[:, 4:])


def test_attention_reads_what_the_caller_returns(model, logits):
    """Here: what an ordinary cache holds. A positional or a named argument more is no error."""
    kept, layers = new_cache(), []

    def update(keys, values, layer):
        layers.append(layer)
        return kept.update(keys, values, layer)

    past = cache_that_calls(update)
    torch.testing.assert_close(forward(model, TOKENS, past).logits, logits)
    assert layers == [0, 1]
    past.update(*layers_of(kept)[0], 0, {"sin": None}, kwargs={})


def test_no_other_module_knows_what_the_library_calls_a_cache():
    """Its names change from version to version; "past_key_values" goes in transformers 5.40."""
    from autograder.places import REPOSITORY

    words = ("past_key_values", "DynamicCache", "modeling_", "no_init_weights")
    files = [path for root in ("labkit", "training") for path in (REPOSITORY / root).rglob("*.py")]
    found = {path.name for path in files if any(word in path.read_text() for word in words)}
    assert found == {"cached.py"}
