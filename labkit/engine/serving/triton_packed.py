"""FlashAttention over packed prompts in Triton: the loops of `labkit.engine.triton_flash`.

A program takes one tile of queries of one head of one chunk. Its last token sees all keys of the
chunk's prompt, so the chunk's first token sees those that were there before, and itself.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _turns(
    maximum, total, output, queries, last_seen, key_ptr, value_ptr, first_key, last_key, n_keys,
    scale, IS_MASKED: tl.constexpr, STRIDE: tl.constexpr, D: tl.constexpr, TILE_KV: tl.constexpr,
):  # fmt: skip
    """Take the keys from first_key up to last_key into account, tile by tile."""
    column = tl.arange(0, D)
    for start in range(first_key, last_key, TILE_KV):
        key = start + tl.arange(0, TILE_KV)
        place = key[:, None] * STRIDE + column[None, :]
        if IS_MASKED:
            there = (key < n_keys)[:, None]
            keys = tl.load(key_ptr + place, mask=there, other=0.0)
            values = tl.load(value_ptr + place, mask=there, other=0.0)
        else:
            keys, values = tl.load(key_ptr + place), tl.load(value_ptr + place)
        scores = tl.dot(queries, tl.trans(keys))
        if IS_MASKED:
            scores = tl.where(key[None, :] <= last_seen[:, None], scores, float("-inf"))
        new_maximum = tl.maximum(maximum, tl.max(scores, axis=1) * scale)
        rescaled = tl.exp2(maximum - new_maximum)
        weights = tl.exp2(scores * scale - new_maximum[:, None])
        total = rescaled * total + tl.sum(weights, axis=1)
        output = tl.dot(weights.to(values.dtype), values, rescaled[:, None] * output)
        maximum = new_maximum
    return maximum, total, output


@triton.jit
def forward(
    query_ptr, key_ptr, value_ptr, output_ptr, ends_new_ptr, ends_keys_ptr, scale,
    N_HEADS: tl.constexpr, N_KV_HEADS: tl.constexpr, D: tl.constexpr,
    TILE_Q: tl.constexpr, TILE_KV: tl.constexpr,
):  # fmt: skip
    """Queries (T H D), keys and values (all keys, Hkv, D). Grid: (tiles of the longest, H, chunks)."""
    chunk, head = tl.program_id(2), tl.program_id(1)
    tile = tl.num_programs(0) - 1 - tl.program_id(0)  # the longest first
    begin = tl.load(ends_new_ptr + chunk).to(tl.int64)
    n_new = (tl.load(ends_new_ptr + chunk + 1) - begin).to(tl.int32)
    begin_keys = tl.load(ends_keys_ptr + chunk).to(tl.int64)
    n_keys = (tl.load(ends_keys_ptr + chunk + 1) - begin_keys).to(tl.int32)
    if tile * TILE_Q >= n_new:
        return
    kv_head = head // (N_HEADS // N_KV_HEADS)
    key_ptr += (begin_keys * N_KV_HEADS + kv_head) * D
    value_ptr += (begin_keys * N_KV_HEADS + kv_head) * D
    query, column = tile * TILE_Q + tl.arange(0, TILE_Q), tl.arange(0, D)
    place = ((begin + query) * N_HEADS + head)[:, None] * D + column[None, :]
    there = (query < n_new)[:, None]
    queries = tl.load(query_ptr + place, mask=there, other=0.0)
    maximum = tl.full((TILE_Q,), float("-inf"), tl.float32)
    total = tl.zeros((TILE_Q,), tl.float32)
    output = tl.zeros((TILE_Q, D), tl.float32)
    last_seen = query + n_keys - n_new
    n_whole = (tile * TILE_Q + n_keys - n_new + 1) // TILE_KV * TILE_KV
    n_seen = tl.minimum(n_keys, (tile + 1) * TILE_Q + n_keys - n_new)
    stride: tl.constexpr = N_KV_HEADS * D
    maximum, total, output = _turns(
        maximum, total, output, queries, last_seen, key_ptr, value_ptr, 0, n_whole, n_keys, scale,
        False, stride, D, TILE_KV,
    )  # fmt: skip
    maximum, total, output = _turns(
        maximum, total, output, queries, last_seen, key_ptr, value_ptr, n_whole, n_seen, n_keys,
        scale, True, stride, D, TILE_KV,
    )  # fmt: skip
    output = (output / total[:, None]).to(output_ptr.dtype.element_ty)
    tl.store(output_ptr + place, output, mask=there)
