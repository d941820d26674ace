"""The given model against transformers' GPT-NeoX, attention against its definition."""

import pytest
import torch
from transformers import GPTNeoXConfig, GPTNeoXForCausalLM
from transformers.models.gpt_neox.modeling_gpt_neox import (
    GPTNeoXRotaryEmbedding,
    apply_rotary_pos_emb,
)

from labkit.models.transformer import (
    GPT2_XL,
    Transformer,
    TransformerConfig,
    causal_mask,
    generate_uncached,
    greedy,
    masked_attention,
    sampler,
    turned,
)

SMALL = TransformerConfig(
    n_layers=2, n_heads=4, n_kv_heads=2, d_model=16, vocab_size=23, n_context=12
)


def seeded(seed=0):
    return torch.Generator().manual_seed(seed)


def with_our_names(weights, n_heads):
    """GPT-NeoX's weights by our names; it keeps q, k and v of a head side by side."""
    names = {
        "embed_in": "token_embedding", "final_layer_norm": "norm", "layers.": "blocks.",
        "input_layernorm": "norm_1", "attention.query_key_value": "qkv", "attention.dense": "out",
        "post_attention_layernorm": "norm_2", "mlp.dense_h_to_4h": "up",
        "mlp.dense_4h_to_h": "down",
    }  # fmt: skip
    found = {}
    for name, weight in weights.items():
        for theirs, ours in names.items():
            name = name.replace(theirs, ours)
        if "qkv" in name:
            weight = weight.unflatten(0, (n_heads, 3, -1)).transpose(0, 1).flatten(0, 2)
        found[name] = weight
    return found


def test_logits_equal_those_of_transformers_gpt_neox():
    torch.manual_seed(0)
    sizes = GPTNeoXConfig(
        num_hidden_layers=3,
        num_attention_heads=4,
        hidden_size=32,
        intermediate_size=128,
        vocab_size=97,
        max_position_embeddings=40,
        hidden_act="gelu_new",
        rotary_pct=1.0,
        use_parallel_residual=False,
        tie_word_embeddings=True,
        bos_token_id=0,
        eos_token_id=0,
    )
    theirs = GPTNeoXForCausalLM(sizes).eval().requires_grad_(False)
    for parameter in theirs.parameters():  # its own biases start at 0 and would hide a mistake
        parameter.add_(0.05 * torch.randn_like(parameter))
    tokens = torch.randint(97, (2, 20), generator=seeded())
    ours = Transformer(TransformerConfig(3, 4, 4, 32, 97, 40))
    ours.load_state_dict(with_our_names(theirs.gpt_neox.state_dict(), n_heads=4))
    torch.testing.assert_close(ours(tokens), theirs(tokens).logits, rtol=1e-5, atol=1e-5)


def test_rotary_positions_are_those_of_transformers():
    sizes = GPTNeoXConfig(hidden_size=32, num_attention_heads=2, rotary_pct=1.0)
    x = torch.randn(3, 2, 5, 16, generator=seeded())
    positions = torch.tensor([0, 3, 4, 17, 2000])
    cos, sin = GPTNeoXRotaryEmbedding(sizes)(x, positions[None])
    expected, _ = apply_rotary_pos_emb(x, x, cos, sin)
    torch.testing.assert_close(turned(x, positions), expected, rtol=1e-4, atol=1e-3)
    assert torch.equal(turned(x, torch.zeros(5)), x)


def test_gpt2_xl_has_1555_97_million_parameters_without_positions():
    with torch.device("meta"):
        model = Transformer(GPT2_XL)
    assert model.n_params == 1_555_972_800
    assert f"{model.n_params / 1e6:,.2f}M" == "1,555.97M"


def test_query_heads_of_a_group_attend_to_their_own_kv_head():
    queries = torch.randn(2, 6, 3, 4, generator=seeded())
    keys, values = torch.randn(2, 2, 2, 5, 4, generator=seeded(1))
    mask = causal_mask(5)[2:]
    found = masked_attention(queries, keys, values, mask)
    for head in range(6):
        scores = queries[:, head] @ keys[:, head // 3].transpose(1, 2) / 2
        weights = scores.masked_fill(~mask, -torch.inf).softmax(-1)
        torch.testing.assert_close(found[:, head], weights @ values[:, head // 3])


def test_a_mask_that_does_not_fit_is_refused_with_the_shape_that_would():
    parts = (torch.zeros(1, 2, 3, 4), torch.zeros(1, 2, 5, 4), torch.zeros(1, 2, 5, 4))
    with pytest.raises(ValueError, match=r"the mask is \(3, 3\); .* need \(3, 5\)"):
        masked_attention(*parts, causal_mask(3))
    with pytest.raises(ValueError, match="do not fit"):
        masked_attention(*parts[:2], torch.zeros(1, 2, 4, 4), causal_mask(5)[2:])


def test_sizes_that_do_not_divide_are_refused():
    with pytest.raises(ValueError, match="multiple of n_heads 3"):
        TransformerConfig(1, 3, 1, 16, 10, 10)
    with pytest.raises(ValueError, match="n_kv_heads 3"):
        TransformerConfig(1, 4, 3, 16, 10, 10)


def test_the_same_rng_state_gives_the_same_model_and_leaves_the_global_one_alone():
    before = torch.random.get_rng_state()
    first, second = Transformer.random(SMALL, seeded(5)), Transformer.random(SMALL, seeded(5))
    assert torch.equal(torch.random.get_rng_state(), before)
    for a, b in zip(first.parameters(), second.parameters(), strict=True):
        assert torch.equal(a, b)
        assert not a.requires_grad


def test_a_token_sees_nothing_after_it():
    model = Transformer.random(SMALL, seeded())
    tokens = torch.randint(23, (1, 8), generator=seeded(1))
    changed = tokens.clone()
    changed[:, 5:] = (changed[:, 5:] + 1) % 23
    torch.testing.assert_close(model(tokens)[:, :5], model(changed)[:, :5])
    assert not torch.allclose(model(tokens)[:, 5:], model(changed)[:, 5:])


def test_scores_of_rotated_vectors_depend_on_their_distance_alone():
    query, key = torch.randn(2, 1, 1, 1, 8, generator=seeded())

    def score(query_at, key_at):
        at = (torch.tensor([each]) for each in (query_at, key_at))
        return sum((turned(query, next(at)) * turned(key, next(at))).flatten().tolist())

    assert score(7, 3) == pytest.approx(score(104, 100), abs=1e-4)
    assert score(7, 3) != pytest.approx(score(8, 3), abs=1e-2)


def test_with_a_window_a_token_sees_the_newest_ones_alone():
    assert causal_mask(4, window=2).tolist() == [
        [True, False, False, False],
        [True, True, False, False],
        [False, True, True, False],
        [False, False, True, True],
    ]
    model = Transformer.random(TransformerConfig(1, 2, 1, 8, 23, 12), seeded())
    tokens = torch.randint(23, (1, 8), generator=seeded(1))
    changed = tokens.clone()
    changed[:, :5] = (changed[:, :5] + 1) % 23
    alike = [model(each, window=3)[:, 7] for each in (tokens, changed)]
    torch.testing.assert_close(*alike)
    assert not torch.allclose(model(tokens)[:, 7], model(changed)[:, 7])
    torch.testing.assert_close(model(tokens, window=8), model(tokens))


def test_generation_appends_what_pick_chooses():
    model = Transformer.random(SMALL, seeded())
    prompt = torch.randint(23, (2, 3), generator=seeded(1))
    tokens = generate_uncached(model, prompt, 4)
    assert torch.equal(tokens[:, :3], prompt)
    for end in range(3, 7):
        assert torch.equal(tokens[:, end], greedy(model(tokens[:, :end])[:, -1]))
    assert torch.equal(generate_uncached(model, prompt, 0), prompt)


def test_a_sampler_draws_from_the_softmax_and_only_from_its_own_generator():
    logits = torch.tensor([[0.0, 1.0, 2.0]]).expand(30_000, 3)
    probs = (torch.tensor([0.0, 1.0, 2.0]) / 2).softmax(0)
    before = torch.random.get_rng_state()
    counts = sampler(seeded(), temperature=2.0)(logits).bincount(minlength=3) / 30_000
    assert torch.equal(torch.random.get_rng_state(), before)
    # five standard deviations of a share of 30,000 draws are below 0.015
    torch.testing.assert_close(counts, probs, rtol=0, atol=0.015)
    with pytest.raises(ValueError, match="above 0"):
        sampler(seeded(), temperature=0)
