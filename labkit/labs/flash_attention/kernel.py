"""Attention by a Triton kernel of one's own: a run, and its time beside PyTorch's."""

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from labkit.bridge import in_triton
from labkit.measuring.records import NothingMeasured
from labkit.measuring.tables import Table, or_sentence
from labkit.measuring.timing import time_in_turns

Kernel = Callable[..., None]
Matrices = tuple[Tensor, Tensor, Tensor]
SIZES = {"cuda": (1024, 4096, 16384), "cpu": (64, 128)}
STAGES = (  # name, N, tiles of queries and of keys, mask
    ("one tile", 16, 16, 16, False),
    ("the loop", 64, 16, 32, False),
    ("the last tile", 39, 16, 32, False),
    ("the causal skip", 64, 16, 16, True),
)


def launch(
    matrices: Matrices, tile_q: int, tile_kv: int, is_causal: bool
) -> tuple[int, list[Tensor], list[float], dict[str, Any]]:
    """Programs, arrays, numbers and constants for a kernel like `flash_kernel`; O holds NaN."""
    n_rows, head_dim = matrices[0].shape
    output = torch.full_like(matrices[0], torch.nan)
    constants = {
        "IS_CAUSAL": is_causal, "HEAD_DIM": head_dim, "TILE_Q": tile_q, "TILE_KV": tile_kv,
    }  # fmt: skip
    numbers = [n_rows, head_dim**-0.5]
    return math.ceil(n_rows / tile_q), [*matrices, output], numbers, constants


def attention_by(
    kernel: Kernel, matrices: Matrices, tile_q: int, tile_kv: int, is_causal: bool
) -> Tensor:
    """The output (N D) of a kernel like `flash_kernel`, for Q, K and V (N D) in float16."""
    n_programs, *given = launch(matrices, tile_q, tile_kv, is_causal)
    return in_triton.run_kernel(kernel, n_programs, *given)[-1]


@or_sentence
def stages_table(kernel: Kernel) -> Table:
    """The largest error of a kernel like `flash_kernel` at each stage of the exercise."""
    rows = []
    for name, n_rows, tile_q, tile_kv, is_causal in STAGES:
        _expect_triton()
        given = _head(n_rows, 16)
        found = attention_by(kernel, given, tile_q, tile_kv, is_causal).double()
        error = (found - _right(given, is_causal)).abs().max().item()
        rows.append([name, n_rows, f"{tile_q} and {tile_kv}", f"{error:.0e}"])
    return Table(["stage", "N", "rows of Q and K", "largest error"], rows)


@or_sentence
def times_table(kernel: Kernel, tile_q: int = 64, tile_kv: int = 64) -> Table:
    """The time of a kernel like `flash_kernel` beside PyTorch's attention: one head, causal."""
    _expect_triton()
    device, n_samples = ("cuda", 10) if in_triton.has_gpu() else ("cpu", 1)
    rows = []
    for n_rows in SIZES[device]:
        given = tuple(each.to(device) for each in _head(n_rows, 64))
        heads = [each[None, None] for each in given]
        ways = {
            "yours": in_triton.prepared(kernel, *launch(given, tile_q, tile_kv, True)),
            "PyTorch": partial(functional.scaled_dot_product_attention, *heads, is_causal=True),
        }
        times = time_in_turns(ways, n_samples)
        rows.append([n_rows, *(f"{1e3 * each.median_s:.3g}" for each in times.values())])
    where = torch.cuda.get_device_name() if device == "cuda" else "Triton's interpreter"
    return Table(["N", "your kernel, ms", "PyTorch, ms"], rows, f"D = 64, causal: {where}")


def _expect_triton() -> None:
    try:
        in_triton.load()
    except in_triton.NoTriton as reason:
        raise NothingMeasured(f"{reason}. All other cells of the lab work.") from None


def _head(n_rows: int, head_dim: int) -> Matrices:
    rng = torch.Generator("cpu").manual_seed(n_rows)
    queries, keys, values = torch.randn(3, n_rows, head_dim, generator=rng).half()
    return queries, keys, values


def _right(matrices: Matrices, is_causal: bool) -> Tensor:
    heads = (each.double()[None, None] for each in matrices)
    return functional.scaled_dot_product_attention(*heads, is_causal=is_causal)[0, 0]
