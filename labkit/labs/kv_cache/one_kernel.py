"""A step with the pages of the kit's engine: one launch of its kernel walks the block table."""

from collections.abc import Callable

import torch
from torch import Tensor

from labkit.engine.serving.pages import Pages
from labkit.engine.serving.plain import Running
from labkit.engine.weights import DecoderShape
from labkit.labs.kv_cache.stores import HEAD_DIM, N_HEADS, N_KV_HEADS, N_STEPS, tensors_of

ONE_KERNEL = "pages of 16, one kernel"


def with_one_kernel(n_cached: int) -> Callable[[], Tensor]:
    """A run of N_STEPS tokens; it returns the output of the last one. Needs a GPU and Triton."""
    from labkit.engine.serving.fast import Fast

    query, cached, new = tensors_of(n_cached, "cuda")
    shape = DecoderShape(
        n_layers=1, n_heads=N_HEADS, n_kv_heads=N_KV_HEADS, head_dim=HEAD_DIM, d_model=0,
        d_feedforward=0, vocab_size=0, eps=0.0, has_head_norms=False, is_tied=False,
    )  # fmt: skip
    most, kind = n_cached + N_STEPS, {"dtype": query.dtype, "device": query.device}
    pages = Pages(shape, -(-most // 16), 1, most, **kind)
    pages.reserve(0, most)
    slot = torch.zeros(1, dtype=torch.long, device=query.device)
    stores = pages.keys[0], pages.values[0]
    rows = pages.rows(slot.expand(most), torch.arange(most, device=query.device))
    for store, tokens in zip(stores, cached, strict=True):
        store[rows[:n_cached]] = tokens[0].transpose(0, 1)
    kernels, running = Fast(shape, 1, query.device), Running(slot, None)
    out = torch.empty(1, N_HEADS, HEAD_DIM, **kind)

    def run() -> Tensor:
        for i in range(n_cached, most):
            pages.rewind(0, i)
            for store, tokens in zip(stores, new, strict=True):
                store[rows[i : i + 1]] = tokens[0].transpose(0, 1)
            kernels.decode(query[:, :, 0], *stores, pages.table, pages.lengths, running, out)
        return out[:, :, None]

    return run
