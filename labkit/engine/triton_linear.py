"""Matrix times a few vectors in Triton: this takes most of the time of a decode step.

A step reads every weight once, and has a handful of rows to multiply it with. So the kernel streams
rows of the matrix and keeps the vectors at hand. Root-mean-square norms need no pass of their own:
a norm divides by one number per vector, which is summed up on the way.

One vector: each program sums products of a few matrix rows (`_one`). Up to 16 vectors: tensor cores
with the vectors padded to 16 (`_several`), at nearly the same time, since the bytes are the same.
A small matrix has too few rows for programs with 64 of them: up to 8 vectors, programs have 16, and
share out the columns to their warps (`_shared`).

A kernel for each operation waits about 3 us for the one before it, however few bytes it moves. On
an H200 the four products of a layer of Qwen3-0.6B take 13.4 us with one token and 20.9 with two,
attention 7, and their bytes 6.5. Tried and lost: one persistent kernel that walks all layers and
passes vectors on as packets. Two tokens cost it 1.00 steps, but a step took 1.09 ms, not 0.70, for
a hop between processors costs as much as a kernel that is launched early.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.language.extra import cuda as tl_cuda

from labkit.engine.weights import MOST_VECTORS

SMALL, FEW = 2048, 8  # rows or columns of a small matrix; vectors of a product of tensor cores
LARGE = 50_000  # rows of a matrix that is long enough for tensor cores, even with one vector
# rows, columns, warps[, stages]: what was fastest on an H200, by the sizes of the matrix
_ONE = {"normed": (2, 1024, 1), "added": (2, 1024, 4), "gated": (1, 1024, 4)}
_ONE_SMALL = {"normed": (8, 1024, 4), "added": (4, 2048, 4), "gated": (1, 1024, 1)}
_SHARED, _SHARED_ADDED = (1024, 4), (2048, 8)  # columns, warps
_SEVERAL, _SEVERAL_GATED, _SEVERAL_ADDED = (64, 128, 4, 5), (64, 128, 4, 3), (64, 256, 4, 5)


@triton.jit
def _one(
    x_ptr, weight_ptr, residual_ptr, out_ptr, n_out, n_in, eps,
    HAS_NORM: tl.constexpr, HAS_RESIDUAL: tl.constexpr, IS_GATED: tl.constexpr,
    IS_EVEN: tl.constexpr, N_BLOCK: tl.constexpr, K_BLOCK: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * N_BLOCK + tl.arange(0, N_BLOCK)
    columns = tl.arange(0, K_BLOCK)
    there = (rows[:, None] < n_out) & (columns[None, :] < n_in)
    first = weight_ptr + rows.to(tl.int64)[:, None] * n_in + columns[None, :]
    second = first + n_out.to(tl.int64) * n_in
    others = tl.zeros((N_BLOCK, K_BLOCK), tl.float32)
    squares = tl.zeros((K_BLOCK,), tl.float32)
    row = tl.load(first, mask=there, other=0.0, eviction_policy="evict_first")
    if IS_GATED:
        other_row = tl.load(second, mask=there, other=0.0, eviction_policy="evict_first")
    tl_cuda.gdc_launch_dependents()
    tl_cuda.gdc_wait()  # weights can be read before the vector is there
    x = tl.load(x_ptr + columns, mask=columns < n_in, other=0.0).to(tl.float32)
    products = row.to(tl.float32) * x[None, :]
    if IS_GATED:
        others = other_row.to(tl.float32) * x[None, :]
    if HAS_NORM:
        squares = x * x
    for k in range(K_BLOCK, n_in, K_BLOCK):
        if IS_EVEN:
            x = tl.load(x_ptr + k + columns).to(tl.float32)
        else:
            x = tl.load(x_ptr + k + columns, mask=k + columns < n_in, other=0.0).to(tl.float32)
            there = (rows[:, None] < n_out) & (k + columns[None, :] < n_in)
        row = tl.load(first + k, mask=there, other=0.0, eviction_policy="evict_first")
        products += row.to(tl.float32) * x[None, :]
        if IS_GATED:
            other_row = tl.load(second + k, mask=there, other=0.0, eviction_policy="evict_first")
            others += other_row.to(tl.float32) * x[None, :]
        if HAS_NORM:
            squares += x * x
    total, other = tl.sum(products, axis=1), tl.sum(others, axis=1)
    if HAS_NORM:
        scale = tl.rsqrt(tl.sum(squares) / n_in + eps)
        total, other = total * scale, other * scale
    if IS_GATED:
        total = total * tl.sigmoid(total) * other
    if HAS_RESIDUAL:
        total += tl.load(residual_ptr + rows, mask=rows < n_out, other=0.0).to(tl.float32)
    tl.store(out_ptr + rows, total.to(out_ptr.dtype.element_ty), mask=rows < n_out)


@triton.jit
def _several(
    x_ptr, weight_ptr, residual_ptr, out_ptr, n_vectors, n_out, n_in, eps,
    HAS_NORM: tl.constexpr, HAS_RESIDUAL: tl.constexpr, IS_GATED: tl.constexpr,
    N_BLOCK: tl.constexpr, K_BLOCK: tl.constexpr, T_BLOCK: tl.constexpr,
):  # fmt: skip
    rows = tl.program_id(0) * N_BLOCK + tl.arange(0, N_BLOCK)
    inside = rows[:, None] < n_out
    vectors = tl.arange(0, T_BLOCK)[None, :]
    columns = tl.arange(0, K_BLOCK)
    first = weight_ptr + rows.to(tl.int64)[:, None] * n_in + columns[None, :]
    second = first + n_out.to(tl.int64) * n_in
    total = tl.zeros((N_BLOCK, T_BLOCK), tl.float32)
    other = tl.zeros((N_BLOCK, T_BLOCK), tl.float32)
    squares = tl.zeros((T_BLOCK,), tl.float32)
    for k in range(0, n_in, K_BLOCK):
        valid = k + columns < n_in
        there = inside & valid[None, :]
        row = tl.load(first + k, mask=there, other=0.0, eviction_policy="evict_first")
        place = x_ptr + vectors * n_in + (k + columns)[:, None]
        x = tl.load(place, mask=(vectors < n_vectors) & valid[:, None], other=0.0)
        if HAS_NORM:
            wide = x.to(tl.float32)
            squares += tl.sum(wide * wide, axis=0)
        total = tl.dot(row, x, total)
        if IS_GATED:
            row = tl.load(second + k, mask=there, other=0.0, eviction_policy="evict_first")
            other = tl.dot(row, x, other)
    if HAS_NORM:
        scale = tl.rsqrt(squares / n_in + eps)[None, :]
        total, other = total * scale, other * scale
    if IS_GATED:
        total = total * tl.sigmoid(total) * other
    places = vectors * n_out + rows[:, None]
    known = inside & (vectors < n_vectors)
    if HAS_RESIDUAL:
        total += tl.load(residual_ptr + places, mask=known, other=0.0).to(tl.float32)
    tl.store(out_ptr + places, total.to(out_ptr.dtype.element_ty), mask=known)


@triton.jit
def _shared(
    x_ptr, weight_ptr, residual_ptr, out_ptr, n_vectors, n_out, n_in, eps,
    HAS_NORM: tl.constexpr, HAS_RESIDUAL: tl.constexpr,
    N_BLOCK: tl.constexpr, K_BLOCK: tl.constexpr, T_BLOCK: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    """A part of the columns for each warp; each block is asked for one turn ahead."""
    rows = tl.program_id(0) * N_BLOCK + tl.arange(0, N_BLOCK)
    inside = (rows < n_out)[None, :, None]
    own: tl.constexpr = K_BLOCK // PARTS
    columns = tl.arange(0, PARTS)[:, None] * own + tl.arange(0, own)[None, :]
    vectors = tl.arange(0, T_BLOCK)[None, None, :]
    first = weight_ptr + rows.to(tl.int64)[None, :, None] * n_in + columns[:, None, :]
    there = inside & (columns < n_in)[:, None, :]
    row = tl.load(first, mask=there, other=0.0, eviction_policy="evict_first")
    tl_cuda.gdc_launch_dependents()
    tl_cuda.gdc_wait()
    totals = tl.zeros((PARTS, N_BLOCK, T_BLOCK), tl.float32)
    squares = tl.zeros((T_BLOCK,), tl.float32)
    for k in range(0, n_in, K_BLOCK):
        valid = (k + columns < n_in)[:, :, None]
        place = x_ptr + vectors * n_in + (k + columns)[:, :, None]
        x = tl.load(place, mask=(vectors < n_vectors) & valid, other=0.0)
        if HAS_NORM:
            wide = x.to(tl.float32)
            squares += tl.sum(tl.sum(wide * wide, axis=1), axis=0)
        now = row
        there = inside & (k + K_BLOCK + columns < n_in)[:, None, :]
        row = tl.load(first + k + K_BLOCK, mask=there, other=0.0, eviction_policy="evict_first")
        totals = tl.dot(now, x, totals)
    total = tl.sum(totals, axis=0)
    if HAS_NORM:
        total *= tl.rsqrt(squares / n_in + eps)[None, :]
    token = tl.arange(0, T_BLOCK)[None, :]
    places = token * n_out + rows[:, None]
    known = (rows < n_out)[:, None] & (token < n_vectors)
    if HAS_RESIDUAL:
        total += tl.load(residual_ptr + places, mask=known, other=0.0).to(tl.float32)
    tl.store(out_ptr + places, total.to(out_ptr.dtype.element_ty), mask=known)


def linear(
    x: Tensor,
    weight: Tensor,
    normed: bool = False,
    eps: float = 0.0,
    residual: Tensor | None = None,
    gated: bool = False,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """As `labkit.engine.operations.linear`, for at most 16 vectors in half precision.

    Raises: ValueError for more vectors.
    """
    n_vectors, n_in = x.shape
    if n_vectors > MOST_VECTORS:
        raise ValueError(f"wanted at most {MOST_VECTORS} vectors, got {n_vectors}")
    n_out = weight.shape[0] // (2 if gated else 1)
    out = torch.empty(n_vectors, n_out, dtype=dtype or x.dtype, device=x.device)
    tensors = (x, weight, x if residual is None else residual, out)
    flags = {"HAS_NORM": normed, "HAS_RESIDUAL": residual is not None, "IS_GATED": gated}
    if n_vectors == 1 and n_out < LARGE:
        n_block, k_block, n_warps = _plan_for_one(n_out, n_in, gated, residual is not None)
        blocks = {"N_BLOCK": n_block, "K_BLOCK": k_block, "num_warps": n_warps}
        blocks["IS_EVEN"] = n_in % k_block == 0 and n_out % n_block == 0
        grid = (triton.cdiv(n_out, n_block),)
        _one[grid](*tensors, n_out, n_in, eps, **flags, **blocks, launch_pdl=True)
        return out
    if n_vectors <= FEW and min(n_out, n_in) <= SMALL and n_out < LARGE and not gated:
        k_block, n_warps = _SHARED if residual is None else _SHARED_ADDED
        blocks = {"N_BLOCK": 16, "K_BLOCK": k_block, "T_BLOCK": FEW, "PARTS": n_warps}
        sizes = (n_vectors, n_out, n_in, eps, normed, residual is not None)
        grid = (triton.cdiv(n_out, 16),)
        _shared[grid](*tensors, *sizes, **blocks, num_warps=n_warps, launch_pdl=True)
        return out
    plan = _SEVERAL if residual is None else _SEVERAL_ADDED
    n_block, k_block, n_warps, n_stages = _SEVERAL_GATED if gated and n_in > 2048 else plan
    blocks = {"N_BLOCK": n_block, "K_BLOCK": k_block, "T_BLOCK": MOST_VECTORS}
    blocks |= {"num_warps": n_warps, "num_stages": n_stages}
    grid = (triton.cdiv(n_out, n_block),)
    _several[grid](*tensors, n_vectors, n_out, n_in, eps, **flags, **blocks)
    return out


def _plan_for_one(n_out: int, n_in: int, gated: bool, added: bool) -> tuple[int, int, int]:
    plans = _ONE_SMALL if min(n_out, n_in) <= SMALL else _ONE
    return plans["gated" if gated else "added" if added else "normed"]
