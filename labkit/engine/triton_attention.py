"""Attention of a few new tokens over a long cache in Triton, everything around it included.

One kernel norms and turns queries and keys, puts the new keys and values into the arena, and
attends. The cache of a sequence is shared out to several programs, each with a part of the
positions (split KV, as in FlashDecoding); the last of them to end puts their sums together. How
long the caches are is read on the device, so a captured graph holds for every length.

On an H200 it takes 7 us at 300 positions in models of 0.6 to 8 billion parameters: the time of its
steps one after the other, not of bytes. Tried, and from 3 % better to 5 % worse for a whole step:
no second part up to 256 or 512 positions, 16 parts, blocks of 32 or 64 positions, 4 warps.
"""

from __future__ import annotations

import torch
import triton
import triton.language as tl
from torch import Tensor
from triton.language.extra import cuda as tl_cuda

from labkit.engine.weights import DecoderShape

N_PARTS = 8
S_BLOCK = 128
N_WARPS = 8
WIDE = 64  # rows of queries from which Triton takes other tensor core instructions: 4 warps then


@triton.jit
def _turned(x_ptr, places, norm_ptr, cos, sin, half, known, eps, HALF: tl.constexpr,
            HAS_NORM: tl.constexpr):  # fmt: skip
    """The two halves of some heads, normed and rotated, in float32."""
    low = tl.load(x_ptr + places + half[None, :], mask=known, other=0.0).to(tl.float32)
    high = tl.load(x_ptr + places + HALF + half[None, :], mask=known, other=0.0).to(tl.float32)
    if HAS_NORM:
        mean = (tl.sum(low * low, axis=1) + tl.sum(high * high, axis=1)) / (2 * HALF)
        scale = tl.rsqrt(mean + eps)[:, None]
        low = low * scale * tl.load(norm_ptr + half).to(tl.float32)[None, :]
        high = high * scale * tl.load(norm_ptr + HALF + half).to(tl.float32)[None, :]
    return low * cos - high * sin, high * cos + low * sin


@triton.jit
def _attend(low, high, key_low, key_high, value, seen, scale, top, total, mixed):
    """One more block of keys in a running softmax: the largest score, the sum, the mixture."""
    scores = (tl.dot(low, tl.trans(key_low)) + tl.dot(high, tl.trans(key_high))) * scale
    scores = tl.where(seen, scores, float("-inf"))
    new_top = tl.maximum(top, tl.max(scores, axis=1))
    safe = tl.where(new_top == float("-inf"), 0.0, new_top)
    weights = tl.exp2(scores - safe[:, None])
    shrink = tl.exp2(top - safe)
    total = total * shrink + tl.sum(weights, axis=1)
    mixed = mixed * shrink[:, None] + tl.dot(weights.to(value.dtype), value)
    return new_top, total, mixed


@triton.jit
def _attention(
    qkv_ptr, key_ptr, value_ptr, lengths_ptr, cos_ptr, sin_ptr, query_norm_ptr, key_norm_ptr,
    tops_ptr, totals_ptr, mixed_ptr, done_ptr, out_ptr, n_positions, eps, scale,
    N_NEW: tl.constexpr, N_HEADS: tl.constexpr, N_KV_HEADS: tl.constexpr, HALF: tl.constexpr,
    HAS_NORM: tl.constexpr, ROWS: tl.constexpr, NEW_BLOCK: tl.constexpr, BLOCK: tl.constexpr,
    PARTS: tl.constexpr,
):  # fmt: skip
    part, kv_head, sequence = tl.program_id(0), tl.program_id(1), tl.program_id(2)
    group: tl.constexpr = N_HEADS // N_KV_HEADS
    width: tl.constexpr = (N_HEADS + 2 * N_KV_HEADS) * 2 * HALF
    half, whole = tl.arange(0, HALF), tl.arange(0, 2 * HALF)
    row = tl.arange(0, ROWS)
    known_row = row < N_NEW * group
    time = row // group
    n_past = tl.load(lengths_ptr + sequence)
    angle = (n_past + time)[:, None] * HALF + half[None, :]
    cos = tl.load(cos_ptr + angle, mask=known_row[:, None], other=0.0)
    sin = tl.load(sin_ptr + angle, mask=known_row[:, None], other=0.0)
    token = sequence * N_NEW + time
    head = kv_head * group + row % group
    places = (token * width + head * 2 * HALF)[:, None]
    kind = key_ptr.dtype.element_ty
    top = tl.full((ROWS,), float("-inf"), tl.float32)
    total = tl.zeros((ROWS,), tl.float32)
    mixed = tl.zeros((ROWS, 2 * HALF), tl.float32)
    base = (sequence * N_KV_HEADS + kv_head).to(tl.int64) * n_positions * 2 * HALF
    each = tl.maximum(tl.cdiv(tl.cdiv(n_past, PARTS), BLOCK), 1) * BLOCK
    end = tl.minimum((part + 1) * each, n_past)
    position = part * each + tl.arange(0, BLOCK)
    cached = (position < end)[:, None]
    spot = base + position[:, None] * 2 * HALF
    key_low = tl.load(key_ptr + spot + half[None, :], mask=cached, other=0.0)
    key_high = tl.load(key_ptr + spot + HALF + half[None, :], mask=cached, other=0.0)
    value = tl.load(value_ptr + spot + whole[None, :], mask=cached, other=0.0)
    tl_cuda.gdc_launch_dependents()
    tl_cuda.gdc_wait()  # what earlier steps have cached can be read before the queries are there
    low, high = _turned(qkv_ptr, places, query_norm_ptr, cos, sin, half, known_row[:, None], eps,
                        HALF, HAS_NORM)  # fmt: skip
    low, high = low.to(kind), high.to(kind)
    seen = (position < end)[None, :] & known_row[:, None]
    top, total, mixed = _attend(low, high, key_low, key_high, value, seen, scale, top, total,
                                mixed)  # fmt: skip

    if part == 0:  # the new tokens: their keys and values are put where they belong
        new = tl.arange(0, NEW_BLOCK)
        known = (new < N_NEW)[:, None]
        new_angle = (n_past + new)[:, None] * HALF + half[None, :]
        new_cos = tl.load(cos_ptr + new_angle, mask=known, other=0.0)
        new_sin = tl.load(sin_ptr + new_angle, mask=known, other=0.0)
        new_token = (sequence * N_NEW + new) * width
        key_place = (new_token + (N_HEADS + kv_head) * 2 * HALF)[:, None]
        new_low, new_high = _turned(qkv_ptr, key_place, key_norm_ptr, new_cos, new_sin, half, known,
                                    eps, HALF, HAS_NORM)  # fmt: skip
        new_low, new_high = new_low.to(kind), new_high.to(kind)
        value_place = (new_token + (N_HEADS + N_KV_HEADS + kv_head) * 2 * HALF)[:, None]
        new_value = tl.load(qkv_ptr + value_place + whole[None, :], mask=known, other=0.0).to(kind)
        new_spot = base + (n_past + new)[:, None] * 2 * HALF
        fits = known & ((n_past + new) < n_positions)[:, None]
        tl.store(key_ptr + new_spot + half[None, :], new_low, mask=fits)
        tl.store(key_ptr + new_spot + HALF + half[None, :], new_high, mask=fits)
        tl.store(value_ptr + new_spot + whole[None, :], new_value, mask=fits)
        not_later = (new[None, :] <= time[:, None]) & (new < N_NEW)[None, :]
        top, total, mixed = _attend(low, high, new_low, new_high, new_value, not_later, scale, top,
                                    total, mixed)  # fmt: skip

    for start in range(part * each + BLOCK, end, BLOCK):
        position = start + tl.arange(0, BLOCK)
        cached = (position < end)[:, None]
        spot = base + position[:, None] * 2 * HALF
        key_low = tl.load(key_ptr + spot + half[None, :], mask=cached, other=0.0)
        key_high = tl.load(key_ptr + spot + HALF + half[None, :], mask=cached, other=0.0)
        value = tl.load(value_ptr + spot + whole[None, :], mask=cached, other=0.0)
        seen = (position < end)[None, :] & known_row[:, None]
        top, total, mixed = _attend(low, high, key_low, key_high, value, seen, scale, top, total,
                                    mixed)  # fmt: skip

    pair = sequence * N_KV_HEADS + kv_head
    n_used = tl.maximum(tl.cdiv(n_past, each), 1)
    slot = (pair * PARTS + part) * ROWS + row
    if part < n_used:
        tl.store(tops_ptr + slot, top)
        tl.store(totals_ptr + slot, total)
        tl.store(mixed_ptr + slot[:, None] * 2 * HALF + whole[None, :], mixed)
    tl.debug_barrier()
    if tl.atomic_add(done_ptr + pair, 1, sem="acq_rel") == PARTS - 1:
        parts = tl.arange(0, PARTS)[:, None]
        slots = (pair * PARTS + parts) * ROWS + row[None, :]
        tops = tl.load(tops_ptr + slots, mask=parts < n_used, other=float("-inf"),
                       cache_modifier=".cg")  # fmt: skip
        totals = tl.load(totals_ptr + slots, mask=parts < n_used, other=0.0, cache_modifier=".cg")
        all_top = tl.max(tops, axis=0)
        all_top = tl.where(all_top == float("-inf"), 0.0, all_top)
        all_total = tl.sum(totals * tl.exp2(tops - all_top[None, :]), axis=0)
        all_mixed = tl.zeros((ROWS, 2 * HALF), tl.float32)
        for other in range(0, n_used):
            from_slot = (pair * PARTS + other) * ROWS + row
            from_place = from_slot[:, None] * 2 * HALF + whole[None, :]
            share = tl.exp2(tl.load(tops_ptr + from_slot, cache_modifier=".cg") - all_top)
            all_mixed += share[:, None] * tl.load(mixed_ptr + from_place, cache_modifier=".cg")
        tl.store(done_ptr + pair, 0)
        out_token = (sequence * N_NEW + time) * N_HEADS + head
        result = all_mixed / tl.where(known_row, all_total, 1.0)[:, None]
        tl.store(out_ptr + out_token[:, None] * 2 * HALF + whole[None, :],
                 result.to(out_ptr.dtype.element_ty), mask=known_row[:, None])  # fmt: skip


class Attention:
    """The kernel, with the memory that its programs need to put their sums together.

    n_parts: of the cache, a program each for every KV head; a power of two.
    """

    def __init__(
        self,
        shape: DecoderShape,
        n_sequences: int,
        device: torch.device | str,
        n_parts: int = N_PARTS,
    ) -> None:
        self._shape, self._device, self._n_pairs = shape, device, n_sequences * shape.n_kv_heads
        self._n_parts = n_parts
        self._done = torch.zeros(self._n_pairs, dtype=torch.int32, device=device)
        self._scratch: dict[int, tuple[Tensor, Tensor, Tensor]] = {}

    def places(self, lengths: Tensor, n_new: int, cos: Tensor, sin: Tensor) -> tuple:
        """The data for the kernel; it finds the places of new tokens itself."""
        return lengths, cos, sin

    def __call__(
        self,
        qkv: Tensor,
        keys: Tensor,
        values: Tensor,
        places: tuple[Tensor, Tensor, Tensor],
        head_norms: Tensor | None,
    ) -> Tensor:
        """As `labkit.engine.operations.Attention`."""
        shape, n_sequences = self._shape, keys.shape[0]
        n_new = qkv.shape[0] // n_sequences
        group = shape.n_heads // shape.n_kv_heads
        n_rows = max(16, triton.next_power_of_2(n_new * group))
        has_norm = head_norms is not None
        query_norm, key_norm = (head_norms[0], head_norms[-1]) if has_norm else (qkv, qkv)
        out = torch.empty(
            qkv.shape[0], shape.n_heads * shape.head_dim, dtype=qkv.dtype, device=qkv.device
        )
        _attention[(self._n_parts, shape.n_kv_heads, n_sequences)](
            qkv, keys, values, *places,
            query_norm, key_norm, *self._memory(n_rows), self._done, out,
            keys.shape[2], shape.eps, shape.head_dim**-0.5 * 1.4426950408889634,
            N_NEW=n_new, N_HEADS=shape.n_heads, N_KV_HEADS=shape.n_kv_heads,
            HALF=shape.head_dim // 2, HAS_NORM=has_norm, ROWS=n_rows,
            NEW_BLOCK=max(16, triton.next_power_of_2(n_new)), BLOCK=S_BLOCK, PARTS=self._n_parts,
            launch_pdl=True, num_warps=N_WARPS if n_rows < WIDE else 4,
        )  # fmt: skip
        return out

    def _memory(self, n_rows: int) -> tuple[Tensor, Tensor, Tensor]:
        if n_rows not in self._scratch:
            n = self._n_pairs * self._n_parts * n_rows
            sizes = (n, n, n * self._shape.head_dim)
            self._scratch[n_rows] = tuple(
                torch.empty(size, dtype=torch.float32, device=self._device) for size in sizes
            )
        return self._scratch[n_rows]
