"""What a pass does to each token's row, in Triton: norms, gates, and putting keys and values away.

Each reads its row once and writes once, with float32 in between.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def norm(x_ptr, out_ptr, n_columns, eps, WIDTH: tl.constexpr):
    """A row divided by its root mean square. Grid: (rows,)."""
    row, column = tl.program_id(0).to(tl.int64), tl.arange(0, WIDTH)
    there = column < n_columns
    x = tl.load(x_ptr + row * n_columns + column, mask=there, other=0.0).to(tl.float32)
    x = x * tl.rsqrt(tl.sum(x * x) / n_columns + eps)
    tl.store(out_ptr + row * n_columns + column, x.to(out_ptr.dtype.element_ty), mask=there)


@triton.jit
def gate(both_ptr, out_ptr, n_columns, BLOCK: tl.constexpr):
    """SiLU of the first n_columns of a row times the others. Grid: (rows, blocks of columns)."""
    row = tl.program_id(0).to(tl.int64)
    column = tl.program_id(1) * BLOCK + tl.arange(0, BLOCK)
    there = column < n_columns
    first = both_ptr + row * 2 * n_columns + column
    one = tl.load(first, mask=there, other=0.0).to(tl.float32)
    other = tl.load(first + n_columns, mask=there, other=0.0).to(tl.float32)
    made = one * tl.sigmoid(one) * other
    tl.store(out_ptr + row * n_columns + column, made.to(out_ptr.dtype.element_ty), mask=there)


@triton.jit
def place(
    qkv_ptr, norms_ptr, cos_ptr, sin_ptr, positions_ptr, rows_ptr, query_ptr, key_ptr, value_ptr,
    eps, N_HEADS: tl.constexpr, N_KV_HEADS: tl.constexpr, HALF: tl.constexpr,
    HAS_NORM: tl.constexpr, WIDTH: tl.constexpr,
):  # fmt: skip
    """Norm and turn queries and keys; keys and values go into the pool. Grid: (tokens,)."""
    token = tl.program_id(0).to(tl.int64)
    n_turned: tl.constexpr = N_HEADS + N_KV_HEADS
    n_all: tl.constexpr = n_turned + N_KV_HEADS
    head, half = tl.arange(0, WIDTH)[:, None], tl.arange(0, HALF)[None, :]
    known = head < n_all
    place = (token * n_all + head) * 2 * HALF + half
    low = tl.load(qkv_ptr + place, mask=known, other=0.0).to(tl.float32)
    high = tl.load(qkv_ptr + place + HALF, mask=known, other=0.0).to(tl.float32)
    position = tl.load(positions_ptr + token)
    cos = tl.load(cos_ptr + position * HALF + half)
    sin = tl.load(sin_ptr + position * HALF + half)
    is_turned = head < n_turned
    if HAS_NORM:
        mean = (tl.sum(low * low, axis=1) + tl.sum(high * high, axis=1)) / (2 * HALF)
        shrink = tl.rsqrt(mean + eps)[:, None]
        scale = norms_ptr + head * 2 * HALF + half
        low_scale = tl.load(scale, mask=is_turned, other=1.0).to(tl.float32)
        high_scale = tl.load(scale + HALF, mask=is_turned, other=1.0).to(tl.float32)
        low = tl.where(is_turned, low * shrink * low_scale, low)
        high = tl.where(is_turned, high * shrink * high_scale, high)
    kind = key_ptr.dtype.element_ty
    turned_low = tl.where(is_turned, low * cos - high * sin, low).to(kind)
    turned_high = tl.where(is_turned, high * cos + low * sin, high).to(kind)
    is_query, is_value = head < N_HEADS, known & (head >= n_turned)
    query = query_ptr + (token * N_HEADS + head) * 2 * HALF + half
    tl.store(query, turned_low, mask=is_query)
    tl.store(query + HALF, turned_high, mask=is_query)
    row = tl.load(rows_ptr + token)
    key = (row * N_KV_HEADS + head - N_HEADS) * 2 * HALF + half
    tl.store(key_ptr + key, turned_low, mask=is_turned & (head >= N_HEADS))
    tl.store(key_ptr + key + HALF, turned_high, mask=is_turned & (head >= N_HEADS))
    value = (row * N_KV_HEADS + head - n_turned) * 2 * HALF + half
    tl.store(value_ptr + value, turned_low, mask=is_value)
    tl.store(value_ptr + value + HALF, turned_high, mask=is_value)
