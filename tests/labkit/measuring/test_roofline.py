"""Floors against the formulas of the field, against counting, and against torch's own counter."""

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch.utils.flop_counter import FlopCounterMode

from labkit.measuring.roofline import (
    ModelWork,
    Roofline,
    pass_floor,
    ridge_point,
)
from labkit.models.facts import gpus, models
from labkit.models.shapes import ModelShape
from labkit.models.sizes import kv_bytes_per_token, weight_bytes
from labkit.models.tiny import KIT_MODELS
from labkit.zoo import shape

LLAMA = "meta-llama/Llama-3.1-8B"


@pytest.mark.parametrize(
    ("gpu", "ridge"),
    [("T4", 203.4), ("L4", 403.3), ("A100-SXM-80GB", 153.0), ("H100-SXM", 295.3)],
)
def test_ridge_points_are_peak_over_bandwidth(gpu, ridge):
    assert ridge_point(gpu) == pytest.approx(ridge, abs=0.05)


@pytest.mark.parametrize(
    ("gpu", "milliseconds"),
    [("A100-SXM-80GB", 7.9), ("H100-PCIe", 7.9), ("H100-SXM", 4.8), ("L40S", 18.6), ("T4", 50)],
)
def test_reading_the_weights_of_8b_takes_most_of_a_step(gpu, milliseconds):
    weights_s = weight_bytes(models()[LLAMA]["params_exact"]) / Roofline.of(gpu).bandwidth
    assert weights_s * 1e3 == pytest.approx(milliseconds, rel=0.01)
    step_s = pass_floor(gpu, LLAMA, n_new=1).seconds
    embeddings = models()[LLAMA]["vocab_size"] * models()[LLAMA]["hidden_size"]
    unread_s = weight_bytes(embeddings) / Roofline.of(gpu).bandwidth
    assert step_s == pytest.approx(weights_s - unread_s, rel=1e-3)


def test_tied_embeddings_are_read_as_the_output_head():
    name = "Qwen/Qwen3-0.6B"
    moved = ModelWork.of(name).moved_bytes(n_tokens=0, batch_size=1, width=2)
    assert moved == 2 * models()[name]["params_exact"]


def test_a_step_reads_the_live_tokens_of_every_sequence():
    work, model = ModelWork.of("Qwen/Qwen3-14B"), ModelShape.of("Qwen/Qwen3-14B")
    cache = work.moved_bytes(1000, 8, 2) - work.moved_bytes(0, 8, 2)
    assert cache == 8000 * kv_bytes_per_token(model, 2)


def test_layers_with_a_window_read_no_more_than_it():
    facts = models()["google/gemma-3-1b-it"]
    work = ModelWork.of("google/gemma-3-1b-it")
    per_layer = 2 * facts["num_key_value_heads"] * facts["head_dim"] * 2
    cache = work.moved_bytes(2000, 1, 2) - work.moved_bytes(0, 1, 2)
    assert cache == per_layer * (facts["layers_full"] * 2000 + facts["layers_sliding"] * 512)


@pytest.mark.parametrize("name", ["Qwen/Qwen3-8B", "gpt2-xl", LLAMA])
@pytest.mark.parametrize("n_tokens", [512, 32_768])
def test_prefill_flops_are_the_usual_formula(name, n_tokens):
    facts = models()[name]
    usual = 2 * facts["non_embedding_params"] * n_tokens
    usual += (
        2
        * facts["num_hidden_layers"]
        * facts["num_attention_heads"]
        * facts["head_dim"]
        * n_tokens**2
    )
    usual += 2 * facts["vocab_size"] * facts["hidden_size"]
    assert ModelWork.of(name).flops(n_tokens, 0, 1) == pytest.approx(usual, rel=1e-3)


@pytest.mark.parametrize("name", ["tiny-target", "tiny-mha"])
def test_flops_are_those_that_torch_counts(name):
    model = shape.build(name, "cpu", torch.float32, attention="eager")
    tokens = torch.zeros(2, 48, dtype=torch.long)
    with FlopCounterMode(display=False) as counter:
        model(tokens, logits_to_keep=1)
    work = ModelWork.of(name)
    ours = 2 * work.flops(48, 0, 1)
    facts = KIT_MODELS[name]
    width = facts["num_hidden_layers"] * facts["num_attention_heads"] * facts["head_dim"]
    not_causal = 2 * 4 * width * (48 * 48 - 48 * 49 // 2)  # eager computes masked scores too
    # norms have weights but no products of matrices, and rotary angles are one: below 0.1 %
    assert ours + not_causal == pytest.approx(counter.get_total_flops(), rel=1e-3)


@given(n_new=st.integers(1, 40), n_cached=st.integers(0, 40), window=st.integers(1, 50))
def test_tokens_seen_are_counted_as_one_by_one(n_new, n_cached, window):
    per_layer = ModelShape("a", 1, 1, 1, 1, 1, 1, 1)
    everything = ModelWork(per_layer, n_block_params=0)
    windowed = ModelWork(per_layer, n_block_params=0, n_window_layers=1, window=window)
    positions = range(n_cached + 1, n_cached + n_new + 1)
    assert windowed.moved_bytes(n_cached, 1, 2) == 2 + 4 * min(n_cached, window)
    head = 2  # one logit of one number
    assert everything.flops(n_new, n_cached, 1) - head == 4 * sum(positions)
    assert windowed.flops(n_new, n_cached, 1) - head == 4 * sum(min(i, window) for i in positions)


@given(
    name=st.sampled_from([*models(), *KIT_MODELS]),
    gpu=st.sampled_from(list(gpus())),
    n_tokens=st.integers(1, 5000),
    batch_size=st.integers(1, 64),
)
def test_more_tokens_and_more_sequences_never_take_less(name, gpu, n_tokens, batch_size):
    for is_decode in (True, False):

        def floor_s(n_tokens, batch_size, is_decode=is_decode):
            fed = (1, n_tokens - 1) if is_decode else (n_tokens, 0)
            return pass_floor(gpu, name, *fed, batch_size).seconds

        here = floor_s(n_tokens, batch_size)
        assert 0 < here <= floor_s(n_tokens + 1, batch_size)
        assert here <= floor_s(n_tokens, batch_size + 1)


def test_one_prefill_is_cheaper_than_its_tokens_one_by_one_and_equal_in_flops():
    work = ModelWork.of("Qwen/Qwen3-4B")
    steps = sum(work.flops(1, i, 1) for i in range(100))
    assert steps == work.flops(100, 0, 100)
    assert pass_floor("L40S", work, 100).seconds < sum(
        pass_floor("L40S", work, 1, i).seconds for i in range(100)
    )


def test_a_step_is_bound_by_memory_and_a_long_prefill_by_computing():
    assert pass_floor("H200-SXM", "Qwen/Qwen3-8B", 1, 500).limit == "memory"
    assert pass_floor("H200-SXM", "Qwen/Qwen3-8B", 2048).limit == "compute"
    few, many = (pass_floor("T4", "gpt2-xl", 5, 100, batch_size=n) for n in (1, 400))
    assert (few.limit, many.limit) == ("memory", "compute")
    assert few.seconds == few.moving_s
    assert pass_floor("T4", "gpt2-xl", 5, 100, dtype=torch.float16) == few


def test_verifying_a_draft_costs_hardly_more_than_a_step():
    step, block = (pass_floor("L40S", "Qwen/Qwen3-8B", n, 500, n_logits=n) for n in (1, 6))
    assert step.seconds < block.seconds < 1.001 * step.seconds


def test_a_dtype_without_hardware_is_refused():
    with pytest.raises(ValueError, match=r"T4 has no peak rate for bfloat16, only for float32"):
        pass_floor("T4", "gpt2", 1, 99, dtype="bfloat16")
    with pytest.raises(ValueError, match="int8"):
        ridge_point("H100-SXM", "int8")


def test_what_nobody_knows_is_refused_with_what_is_known():
    with pytest.raises(ValueError, match="L40S"):
        Roofline.of("RTX 9090")
    with pytest.raises(ValueError, match="did you mean Qwen/Qwen3-8B"):
        pass_floor("T4", "Qwen3-8B", 1)
    with pytest.raises(ValueError, match="must be positive"):
        Roofline("mine", 0, {"float32": 1e12})
    with pytest.raises(ValueError, match="must be positive"):
        Roofline("mine", 1e9, {})


@pytest.mark.parametrize(
    "counts", [{"n_new": 0}, {"n_cached": -1}, {"batch_size": 0}, {"n_logits": 3}]
)
def test_counts_that_cannot_be_are_refused(counts):
    with pytest.raises(ValueError, match="wanted at least 1 new token"):
        pass_floor("T4", "gpt2", **({"n_new": 2} | counts))


def test_a_measured_machine_has_floors_like_a_card():
    laptop = Roofline("laptop", 40e9, {"float32": 3e11})
    floor = pass_floor(laptop, "tiny-target", 1, 99, dtype="float32")
    assert floor.seconds == pytest.approx(62.3e6 / 40e9, rel=0.03)
    assert "40 GB/s" in str(laptop)
    assert "ridge at 7.5" in str(laptop)
