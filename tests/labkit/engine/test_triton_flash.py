"""What the Triton kernel is compared with; tests/gpu/flash_on_gpu.py does that, on a GPU."""

from __future__ import annotations

import pytest
import torch

from labkit.engine import operations
from labkit.engine.flash import choose_flash
from labkit.models.counted_memory import attention_memory

flash = pytest.importorskip("labkit.flash_attention", reason="a course without lab 7")


def parts(n_heads, n_kv_heads, n_rows=21, head_dim=8):
    generator = torch.Generator().manual_seed(n_heads)
    heads = (n_heads, n_kv_heads, n_kv_heads)
    return [torch.randn(1, n, n_rows, head_dim, generator=generator) for n in heads]


@pytest.mark.parametrize("is_causal", [False, True])
@pytest.mark.parametrize("n_kv_heads", [1, 2, 4])
def test_the_reference_is_the_labs_own_attention_head_by_head(n_kv_heads, is_causal):
    queries, keys, values = parts(4, n_kv_heads)
    found = operations.flash_attention(queries, keys, values, is_causal)
    for head in range(4):
        own = head * n_kv_heads // 4
        memory = attention_memory(queries[0, head], keys[0, own], values[0, own])
        flash.flash_attention_2(memory, 5, 4, is_causal)
        torch.testing.assert_close(found[0, head], memory.arrays["O"], atol=1e-5, rtol=1e-5)


def test_on_a_cpu_pytorch_is_chosen_by_the_tensors_themselves():
    queries, _, _ = parts(2, 2)
    kernel = choose_flash(queries)
    assert kernel.backend == "torch"
    assert kernel.make(None, 1, queries.device) is operations.flash_attention
    with pytest.raises(ValueError, match="triton: the weights are not on a GPU; torch: left out"):
        choose_flash(queries, without=("torch",))
