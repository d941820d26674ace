"""FlashAttention over packed prompts in Triton: the loops of `labkit.engine.triton_flash`.

A program takes one tile of queries of one head of one chunk. Keys and values are read from their
pages. The chunk's last token sees all keys of its prompt, so the first sees those that were there
before, and itself. Where chunks end is read on the device, so a captured graph holds for others.
"""

from __future__ import annotations

import triton
import triton.language as tl


@triton.jit
def _turns(
    maximum, total, output, queries, last_seen, key_ptr, value_ptr, pages_ptr, first_key, last_key,
    n_keys, scale, IS_MASKED: tl.constexpr, STRIDE: tl.constexpr, D: tl.constexpr,
    TILE_KV: tl.constexpr, PAGE: tl.constexpr,
):  # fmt: skip
    """Take the keys from first_key up to last_key into account, tile by tile."""
    column = tl.arange(0, D)
    for start in range(first_key, last_key, TILE_KV):
        key = start + tl.arange(0, TILE_KV)
        if IS_MASKED:
            there = (key < n_keys)[:, None]
            page = tl.load(pages_ptr + key // PAGE, mask=key < n_keys, other=0)
        else:
            page = tl.load(pages_ptr + key // PAGE)
        row = page.to(tl.int64) * PAGE + key % PAGE
        place = row[:, None] * STRIDE + column[None, :]
        if IS_MASKED:
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
    query_ptr, key_ptr, value_ptr, table_ptr, lengths_ptr, slots_ptr, ends_ptr, output_ptr,
    n_table, n_chunks, scale, N_HEADS: tl.constexpr, N_KV_HEADS: tl.constexpr, D: tl.constexpr,
    TILE_Q: tl.constexpr, TILE_KV: tl.constexpr, PAGE: tl.constexpr, CHUNKS: tl.constexpr,
):  # fmt: skip
    """Queries (T H D), keys and values (pool's rows, Hkv, D). Grid: (tiles of all chunks, H).

    There may be more programs than tiles. CHUNKS: a power of two, at least n_chunks.
    """
    program, head, each = tl.program_id(0), tl.program_id(1), tl.arange(0, CHUNKS)
    known = each < n_chunks
    begins = tl.load(ends_ptr + each, mask=known, other=0)
    n_tiles = tl.cdiv(tl.load(ends_ptr + each + 1, mask=known, other=0) - begins, TILE_Q)
    chunk = tl.sum((tl.cumsum(n_tiles, axis=0) <= program).to(tl.int32), axis=0)
    if chunk >= n_chunks:
        return
    later = tl.sum(tl.where(each <= chunk, n_tiles, 0), axis=0) - 1
    tile = later - program  # the longest first
    begin = tl.load(ends_ptr + chunk)
    n_new = tl.load(ends_ptr + chunk + 1) - begin
    slot = tl.load(slots_ptr + chunk)
    n_keys = tl.load(lengths_ptr + slot) + n_new
    pages_ptr = table_ptr + slot * n_table
    key_ptr += head // (N_HEADS // N_KV_HEADS) * D
    value_ptr += head // (N_HEADS // N_KV_HEADS) * D
    query, column = tile * TILE_Q + tl.arange(0, TILE_Q), tl.arange(0, D)
    place = ((begin + query).to(tl.int64) * N_HEADS + head)[:, None] * D + column[None, :]
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
        maximum, total, output, queries, last_seen, key_ptr, value_ptr, pages_ptr, 0, n_whole,
        n_keys, scale, False, stride, D, TILE_KV, PAGE,
    )  # fmt: skip
    maximum, total, output = _turns(
        maximum, total, output, queries, last_seen, key_ptr, value_ptr, pages_ptr, n_whole, n_seen,
        n_keys, scale, True, stride, D, TILE_KV, PAGE,
    )  # fmt: skip
    output = (output / total[:, None]).to(output_ptr.dtype.element_ty)
    tl.store(output_ptr + place, output, mask=there)
