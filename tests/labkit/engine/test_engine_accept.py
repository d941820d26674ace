"""The verdict on a block by given noise, and which implementation of it runs where."""

from __future__ import annotations

import importlib.util
from functools import partial
from types import SimpleNamespace

import pytest
import torch

from labkit.engine import flash, registry, sampling
from labkit.engine.sampling import accept, draw, warped

OPERATIONS = ("linear", "attention", "flash_attention", "draw", "accept")
TARGET = torch.tensor([[0.5, 0.25, 0.25], [0.25, 0.25, 0.5], [0.0, 1.0, 0.0]]).log()
DRAFT = torch.tensor([[0.25, 0.5, 0.25], [0.5, 0.25, 0.25]]).log()
choose = partial(registry.choose, kernels=(*registry.KERNELS, *flash.KERNELS))
EVEN = [1.0, 1.0, 1.0]


@pytest.mark.parametrize(
    ("drafted", "coins", "race", "wanted"),
    [
        ([0, 1], [0.01, 0.01], EVEN, [2, 1]),  # the target is sure of what comes after them
        ([1, 1], [0.70, 0.01], EVEN, [2, 1]),  # 0.5 to 0.25 stays for noise above log 2
        ([1, 1], [0.68, 0.01], EVEN, [0, 0]),
        ([0, 0], [0.01, 0.68], EVEN, [1, 2]),
        ([0, 0], [0.01, 0.68], [0.1, 0.1, 9.0], [1, 2]),  # only token 2 has something left
    ],
)
def test_the_verdict_follows_from_the_noise(drafted, coins, race, wanted):
    noise = torch.tensor([*race, *coins])
    before = noise.clone()
    found = accept(torch.tensor(drafted), DRAFT, TARGET, noise)
    assert [each.item() for each in found] == wanted
    assert torch.equal(noise, before)


def test_how_many_stay_can_be_settled_before():
    for n_kept, after in ((0, 0), (1, 2), (2, 1)):
        noise = torch.tensor([*EVEN, 9.0, 9.0])
        found = accept(torch.tensor([0, 1]), DRAFT, TARGET, noise, torch.tensor([n_kept]))
        assert [each.item() for each in found] == [n_kept, after]


def test_half_precision_counts_as_what_it_says():
    torch.manual_seed(0)
    for _ in range(20):
        target, draft = torch.randn(4, 50).bfloat16(), torch.randn(3, 50).bfloat16()
        noise, drafted = torch.empty(53).exponential_(), draw(draft)
        halves = accept(drafted, draft, target, noise)
        wholes = accept(drafted, draft.float(), target.float(), noise)
        assert halves == wholes


@pytest.mark.parametrize("temperature", [0.0, 1.0])
@pytest.mark.parametrize("bad", [float("nan"), float("inf")])
def test_no_token_comes_from_what_is_not_a_number(temperature, bad):
    logits = torch.randn(2, 9)
    logits[1, 4] = bad
    assert draw(warped(logits, temperature)).tolist()[1] == -1
    drafted, draft = torch.tensor([0]), warped(torch.randn(1, 9), temperature)
    _, after = accept(drafted, draft, warped(logits[1:].expand(2, -1), temperature))
    assert after.item() == -1


def test_noise_is_exponential_and_never_nothing():
    torch.manual_seed(0)
    noise = sampling.exponential((200_000,), torch.device("cpu"))
    assert noise.dtype == torch.float32
    assert noise.min() > 0
    assert noise.isfinite().all()
    assert abs(noise.mean().item() - 1) < 4 / 200_000**0.5
    assert abs((noise > 2).float().mean().item() - 0.1353) < 4 * 0.342 / 200_000**0.5


@pytest.fixture
def on_a_gpu(monkeypatch):
    """Weights that say they are on an H200."""
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: (9, 0))
    return SimpleNamespace(device=torch.device("cuda"), dtype=torch.bfloat16)


@pytest.mark.parametrize("operation", OPERATIONS)
def test_where_triton_is_absent_pytorch_stands_in(operation, on_a_gpu, monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    assert choose(operation, on_a_gpu).backend == "triton"
    second = "graph" if operation == "attention" else "torch"
    assert choose(operation, on_a_gpu, without=("triton",)).backend == second
    here = {"triton": None}  # and the kit's own modules
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: here.get(name, name))
    assert choose(operation, on_a_gpu).backend == second
    with pytest.raises(ValueError, match=r"triton: Triton is not installed; .*torch: left out"):
        choose(operation, on_a_gpu, without=("torch", "graph"))


@pytest.mark.parametrize(
    ("capability", "dtype", "expected"),
    [
        ((7, 5), torch.float16, ["torch", "graph", "torch", "torch", "torch"]),
        ((8, 0), torch.bfloat16, ["torch", "graph", "triton", "triton", "triton"]),
        ((9, 0), torch.float32, ["torch", "graph", "torch", "triton", "triton"]),
        ((9, 0), torch.bfloat16, ["triton"] * 5),
    ],
)
def test_each_gpu_has_kernels_whose_steps_can_be_captured(
    capability, dtype, expected, on_a_gpu, monkeypatch
):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: object())
    monkeypatch.setattr(torch.cuda, "get_device_capability", lambda device: capability)
    on_a_gpu.dtype = dtype
    assert [choose(operation, on_a_gpu).backend for operation in OPERATIONS] == expected


def test_what_stands_in_is_the_reference():
    weights = SimpleNamespace(device=torch.device("cpu"), dtype=torch.float32)
    shape = SimpleNamespace(vocab_size=3)
    made = [choose(name, weights).make(shape, 1, "cpu") for name in ("draw", "accept")]
    assert made == [draw, accept]
