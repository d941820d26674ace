"""The engine against transformers: same logits, whatever the tokens are fed in, and its arena."""

from __future__ import annotations

import ast
from dataclasses import replace
from functools import cache
from pathlib import Path

import pytest
import torch

from labkit import zoo
from labkit.engine import flash, onednn_linear, operations, registry
from labkit.engine.arena import Arena
from labkit.engine.decoder import Decoder
from labkit.engine.weights import DecoderShape, weights_of
from labkit.zoo.shape import config_of

N_POSITIONS = 96
CUTS = [(1,) * 12, (40, 1, 1, 8, 3), (60,), (2, 17, 20)]


@cache
def model(name):
    """The tiny target, or a small model of a family with scales of norms that are not one."""
    if name == "tiny-target":
        return zoo.load(name).model
    from transformers import AutoModelForCausalLM

    config = config_of(name)
    config.num_hidden_layers, config.vocab_size = 2, 300
    config.hidden_size, config.intermediate_size = 64, 96
    config.num_attention_heads, config.num_key_value_heads, config.head_dim = 6, 2, 16
    config.layer_types = ["full_attention"] * 2
    generator = torch.Generator().manual_seed(0)
    made = AutoModelForCausalLM.from_config(config, dtype=torch.float32).eval()
    for name_of, parameter in made.named_parameters():
        low, high = (0.5, 1.5) if "norm" in name_of else (-0.3, 0.3)
        parameter.data.uniform_(low, high, generator=generator)
    return made


NAMES = ("tiny-target", "Qwen/Qwen3-0.6B", "meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.2-1B")


def logits_of(name, tokens):
    with torch.inference_mode():
        return model(name)(tokens).logits


def some_tokens(n, seed=0, n_sequences=1):
    generator = torch.Generator().manual_seed(seed)
    return torch.randint(1, 300, (n_sequences, n), generator=generator)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("cuts", CUTS)
def test_logits_are_those_of_transformers(name, cuts):
    decoder = Decoder(weights_of(model(name), N_POSITIONS), N_POSITIONS)
    tokens = some_tokens(sum(cuts))
    made = [decoder.feed(part) for part in tokens.split(list(cuts), dim=1)]
    wanted = logits_of(name, tokens)
    assert torch.cat(made, dim=1).dtype == torch.float32
    torch.testing.assert_close(torch.cat(made, dim=1), wanted, rtol=1e-4, atol=2e-4)
    assert torch.equal(torch.cat(made, dim=1).argmax(-1), wanted.argmax(-1))


def test_what_is_taken_back_leaves_no_trace():
    decoder = Decoder(weights_of(model("tiny-target"), N_POSITIONS), N_POSITIONS)
    tokens, others = some_tokens(30), some_tokens(30, seed=1)
    decoder.feed(tokens[:, :20])
    keys = decoder.arena.keys
    for n_wrong in (1, 5, 10):
        decoder.feed(others[:, :n_wrong])
        decoder.arena.rewind(20)
    made = decoder.feed(tokens[:, 20:])
    torch.testing.assert_close(made, logits_of("tiny-target", tokens)[:, 20:], rtol=1e-4, atol=2e-4)
    assert decoder.arena.keys is keys


@pytest.mark.parametrize("n_sequences", [1, 3])
def test_attention_that_never_waits_gives_the_same_logits(n_sequences, monkeypatch):
    weights = weights_of(model("tiny-target"), N_POSITIONS)
    tokens = some_tokens(20, n_sequences=n_sequences)
    plain = Decoder(weights, 40, n_sequences).feed(tokens)
    monkeypatch.setattr(registry, "_why_no_gpu", lambda weights: "")
    reasons = {"graph": "", "triton": "left out"}
    graphs = [
        replace(kernel, why_not=lambda weights, why=reasons[kernel.backend]: why)
        if kernel.backend in reasons
        else kernel
        for kernel in registry.KERNELS
    ]
    monkeypatch.setattr(registry, "KERNELS", graphs)
    monkeypatch.setattr(torch.Tensor, "__int__", None)  # what would wait
    whole = Decoder(weights, 40, n_sequences)
    assert whole.can_capture
    made = []
    for part in tokens.split([5, 1, 4, 5, 5], dim=1):
        made.append(whole.forward(part))
        whole.arena.lengths.add_(part.shape[1])
    torch.testing.assert_close(torch.cat(made, dim=1), plain, rtol=1e-4, atol=2e-4)


def test_each_sequence_has_its_own_length():
    decoder = Decoder(weights_of(model("tiny-target"), N_POSITIONS), N_POSITIONS, n_sequences=3)
    tokens, lengths = some_tokens(30, n_sequences=3), [3, 17, 24]
    decoder.feed(tokens[:, :24])
    decoder.arena.rewind(torch.tensor(lengths))
    made = decoder.forward(
        torch.stack([row[n : n + 4] for row, n in zip(tokens, lengths, strict=True)])
    )
    wanted = logits_of("tiny-target", tokens)
    for row, (n, one) in enumerate(zip(lengths, made, strict=True)):
        torch.testing.assert_close(one, wanted[row, n : n + 4], rtol=1e-4, atol=2e-4)
    assert decoder.arena.lengths.tolist() == lengths


def test_the_arena_is_as_large_as_it_says_and_refuses_what_does_not_fit():
    weights = weights_of(model("tiny-target"), N_POSITIONS)
    decoder = Decoder(weights, 32)
    shape = weights.shape
    assert decoder.arena.nbytes == 2 * shape.n_layers * shape.n_kv_heads * 32 * shape.head_dim * 4
    decoder.feed(some_tokens(30))
    with pytest.raises(ValueError, match="wanted room for 33 tokens, the arena has 32"):
        decoder.feed(some_tokens(3))
    assert decoder.arena.lengths.tolist() == [30]
    with pytest.raises(ValueError, match="angles for 96 positions, wanted 97"):
        Decoder(weights, 97)
    with pytest.raises(ValueError, match="at least 1 position"):
        Arena.empty(shape, 0, dtype=torch.float32, device="cpu")


def test_weights_have_the_shape_and_nothing_else_of_a_model():
    weights = weights_of(model("Qwen/Qwen3-0.6B"), 16)
    assert weights.shape == DecoderShape(2, 6, 2, 16, 64, 96, 300, 1e-6, True, True)
    per_layer = (2 * 6 + 2 * 2) * 16 * 64 + 3 * 64 * 96
    assert weights.step_bytes == 4 * (2 * per_layer + 300 * 64)
    logits = Decoder(weights, 16).feed(torch.tensor([[1, 2, 3]]))
    assert logits.shape == (1, 3, 300)
    assert logits.isfinite().all()


def test_a_model_that_is_not_built_here_is_refused():
    with pytest.raises(ValueError, match="runs qwen3 and llama models, this one is 'gpt2'"):
        DecoderShape.of(config_of("gpt2"))
    config = config_of("Qwen/Qwen3-0.6B")
    config.attention_bias = True
    with pytest.raises(ValueError, match="has no attention_bias"):
        DecoderShape.of(config)


def test_what_cannot_run_here_gives_way_and_says_why():
    weights = weights_of(model("tiny-target"), N_POSITIONS)
    decoder = Decoder(weights, 8)
    assert {name: kernel.backend for name, kernel in decoder.kernels.items()} == {
        "linear": "torch" if onednn_linear.why_not() else "onednn",
        "attention": "torch",
    }
    assert not decoder.can_capture
    with pytest.raises(ValueError, match=r"triton: the weights .* GPU; .*torch: left out"):
        registry.choose("attention", weights, without=("torch",))
    with pytest.raises(ValueError, match="no implementation is known"):
        registry.choose("convolution", weights)


def test_a_kernel_that_a_students_labkit_lacks_gives_way():
    weights = weights_of(model("tiny-target"), 8)
    *_, torchs = [kernel for kernel in registry.KERNELS if kernel.operation == "attention"]
    lacked = replace(torchs, backend="newest", module="not_in_this_wheel")
    assert registry.choose("attention", weights, kernels=(lacked, torchs)) == torchs
    with pytest.raises(ValueError, match="newest: it is not in the labkit of this lab"):
        registry.choose("attention", weights, kernels=(lacked,))


def test_each_kernel_stands_where_the_table_says():
    for kernel in (*registry.KERNELS, *flash.KERNELS):  # read, not imported: Triton may be absent
        code = (Path(registry.__file__).parent / f"{kernel.module}.py").read_text("utf-8")
        assert kernel.name in {getattr(node, "name", None) for node in ast.parse(code).body}


@pytest.mark.parametrize("n_vectors", [1, 2, 3, 8, 40])
@pytest.mark.parametrize("sizes", [(512, 384), (16, 24)], ids=["large", "small"])
def test_what_multiplies_on_a_cpu_gives_the_same_as_pytorch(n_vectors, sizes):
    torch.manual_seed(0)
    weight, x = torch.randn(*sizes), torch.randn(n_vectors, sizes[1])
    linear = registry.made("linear", weights_of(model("tiny-target"), 8))
    for around in (
        {},
        {"normed": True, "eps": 1e-6, "gated": True},
        {"residual": torch.randn(n_vectors, sizes[0])},
    ):
        wanted = operations.linear(x, weight, **around)
        torch.testing.assert_close(linear(x, weight, **around), wanted, rtol=1e-4, atol=1e-4)


def test_another_build_of_pytorch_or_another_dtype_takes_the_plain_product(monkeypatch):
    weights = weights_of(model("tiny-target"), 8)
    half = replace(weights, head=weights.head.bfloat16())
    assert registry.choose("linear", half).backend == "torch"
    monkeypatch.setattr(
        onednn_linear, "_pack", lambda weight: torch.ops.mkldnn.another_name(weight)
    )
    monkeypatch.setattr(onednn_linear, "why_not", onednn_linear.why_not.__wrapped__)
    with pytest.raises(ValueError, match=r"onednn: this PyTorch has no packed matrices"):
        registry.choose("linear", weights, without=("torch",))
