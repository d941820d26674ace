"""Attention of the newest tokens of each running request over its pages, in Triton.

The cache of a request is shared out to several programs, each with a part of its positions (split
KV, as in FlashDecoding). A second kernel puts their sums together. How long the caches are is read
on the device, so a captured graph holds for every length.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def attend(
    query_ptr, key_ptr, value_ptr, table_ptr, lengths_ptr, slots_ptr, tops_ptr, totals_ptr,
    mixed_ptr, n_table, scale, N_FED: tl.constexpr, N_HEADS: tl.constexpr,
    N_KV_HEADS: tl.constexpr, D: tl.constexpr, ROWS: tl.constexpr, BLOCK: tl.constexpr,
    PARTS: tl.constexpr, PAGE: tl.constexpr,
):  # fmt: skip
    """One part of one request, for the queries of one KV head. Grid: (Hkv, PARTS, B).

    N_FED: tokens of a request; slots has each of them. ROWS: at least the queries of a KV head.
    """
    kv_head, part = tl.program_id(0), tl.program_id(1)
    sequence = tl.program_id(2).to(tl.int64)
    group: tl.constexpr = N_HEADS // N_KV_HEADS
    slot = tl.load(slots_ptr + sequence * N_FED)
    n = tl.load(lengths_ptr + slot) + N_FED
    each = tl.maximum(tl.cdiv(tl.cdiv(n, PARTS), BLOCK), 1) * BLOCK
    first, end = part * each, tl.minimum((part + 1) * each, n)
    if first >= n:
        return
    row, column = tl.arange(0, ROWS), tl.arange(0, D)
    known = (row < N_FED * group)[:, None]
    token = row // group
    head = (sequence * N_FED + token) * N_HEADS + kv_head * group + row % group
    place = head[:, None] * D + column[None, :]
    query = tl.load(query_ptr + place, mask=known, other=0.0)
    top = tl.full((ROWS,), float("-inf"), tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    mixed = tl.zeros((ROWS, D), tl.float32)
    for start in range(first, end, BLOCK):
        position = start + tl.arange(0, BLOCK)
        there = position < end
        page = tl.load(table_ptr + slot * n_table + position // PAGE, mask=there, other=0)
        spot = (page.to(tl.int64) * PAGE + position % PAGE) * N_KV_HEADS + kv_head
        spot = spot[:, None] * D + column[None, :]
        key = tl.load(key_ptr + spot, mask=there[:, None], other=0.0)
        value = tl.load(value_ptr + spot, mask=there[:, None], other=0.0)
        seen = there[None, :] & (position[None, :] <= (n - N_FED + token)[:, None])
        scores = tl.where(seen, tl.dot(query, tl.trans(key)) * scale, float("-inf"))
        new_top = tl.maximum(top, tl.max(scores, axis=1))
        safe = tl.where(new_top == float("-inf"), 0.0, new_top)  # a part may be later than a token
        weights, shrink = tl.exp2(scores - safe[:, None]), tl.exp2(top - safe)
        total = total * shrink + tl.sum(weights, axis=1)
        mixed = mixed * shrink[:, None] + tl.dot(weights.to(value.dtype), value)
        top = new_top
    spot = head * PARTS + part
    tl.store(tops_ptr + spot, top, mask=row < N_FED * group)
    tl.store(totals_ptr + spot, total, mask=row < N_FED * group)
    tl.store(mixed_ptr + spot[:, None] * D + column[None, :], mixed, mask=known)


@triton.jit
def combine(
    tops_ptr, totals_ptr, mixed_ptr, lengths_ptr, slots_ptr, out_ptr, N_FED: tl.constexpr,
    N_HEADS: tl.constexpr, D: tl.constexpr, BLOCK: tl.constexpr, PARTS: tl.constexpr,
):  # fmt: skip
    """The parts of one head of one token, put together. Grid: (H, B T)."""
    token = tl.program_id(1).to(tl.int64)
    head = token * N_HEADS + tl.program_id(0)
    n = tl.load(lengths_ptr + tl.load(slots_ptr + token)) + N_FED
    each = tl.maximum(tl.cdiv(tl.cdiv(n, PARTS), BLOCK), 1) * BLOCK
    part, column = tl.arange(0, PARTS), tl.arange(0, D)
    used = part < tl.cdiv(n, each)
    spot = head * PARTS + part
    tops = tl.load(tops_ptr + spot, mask=used, other=float("-inf"))
    totals = tl.load(totals_ptr + spot, mask=used, other=0.0)
    shares = tl.exp2(tops - tl.max(tops, axis=0))
    place = spot[:, None] * D + column[None, :]
    mixed = tl.load(mixed_ptr + place, mask=used[:, None], other=0.0)
    made = tl.sum(mixed * shares[:, None], axis=0) / tl.sum(totals * shares, axis=0)
    tl.store(out_ptr + head * D + column, made.to(out_ptr.dtype.element_ty))
