"""FlashAttention forward in Triton: the loops of `labkit.flash_attention`, second order, on a GPU.

A program takes one tile of queries of one head, keeps it with its running maximum, total and output
on the chip, and goes through the tiles of keys and values. Tiles that every query sees whole need
no mask and come first; the last few, on the diagonal or at the end of the text, are masked.
Exponentials are powers of two, which is what a GPU has; the scale of the scores absorbs that.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
import triton
import triton.language as tl
from torch import Tensor

HEAD_DIMS = range(16, 129)
LOG2_E, LN_2 = 1.4426950408889634, tl.constexpr(0.6931471805599453)


@dataclass(frozen=True, slots=True)
class TilePlan:
    """How a program is cut: rows of its tiles, its warps, and how many tiles are on their way."""

    tile_q: int
    tile_kv: int
    n_warps: int
    n_stages: int


NARROW, WIDE = TilePlan(64, 64, 4, 3), TilePlan(128, 128, 8, 3)  # up to 64 numbers a row, and above
SMALL = TilePlan(64, 32, 4, 2)  # for GPUs before Hopper, with less room on the chip


@triton.jit
def _turns(
    maximum, total, output, queries, query, key_ptr, value_ptr, first_key, last_key, n_rows, scale,
    IS_MASKED: tl.constexpr, IS_CAUSAL: tl.constexpr, HEAD_DIM: tl.constexpr,
    WIDTH: tl.constexpr, TILE_KV: tl.constexpr,
):  # fmt: skip
    """Take the keys from first_key up to last_key into account, tile by tile."""
    column = tl.arange(0, WIDTH)
    for start in range(first_key, last_key, TILE_KV):
        key = start + tl.arange(0, TILE_KV)
        place = key[:, None] * HEAD_DIM + column[None, :]
        if IS_MASKED or WIDTH != HEAD_DIM:
            there = (key < n_rows)[:, None] & (column < HEAD_DIM)[None, :]
            keys = tl.load(key_ptr + place, mask=there, other=0.0)
            values = tl.load(value_ptr + place, mask=there, other=0.0)
        else:
            keys, values = tl.load(key_ptr + place), tl.load(value_ptr + place)
        scores = tl.dot(queries, tl.trans(keys))
        if IS_MASKED:
            seen = (key < n_rows)[None, :]
            if IS_CAUSAL:
                seen = seen & (key[None, :] <= query[:, None])
            scores = tl.where(seen, scores, float("-inf"))
        new_maximum = tl.maximum(maximum, tl.max(scores, axis=1) * scale)
        rescaled = tl.exp2(maximum - new_maximum)
        weights = tl.exp2(scores * scale - new_maximum[:, None])
        total = rescaled * total + tl.sum(weights, axis=1)
        output = tl.dot(weights.to(values.dtype), values, rescaled[:, None] * output)
        maximum = new_maximum
    return maximum, total, output


@triton.jit(do_not_specialize=("n_rows", "n_heads", "group_size"))
def _forward(
    query_ptr, key_ptr, value_ptr, output_ptr, logsumexp_ptr, n_rows, n_heads, group_size, scale,
    IS_CAUSAL: tl.constexpr, HEAD_DIM: tl.constexpr, WIDTH: tl.constexpr,
    TILE_Q: tl.constexpr, TILE_KV: tl.constexpr,
):  # fmt: skip
    tile = tl.num_programs(0) - 1 - tl.program_id(0)  # the longest first, where it is causal
    head = tl.program_id(1).to(tl.int64)  # of all sequences
    kv_head = head // n_heads * (n_heads // group_size) + head % n_heads // group_size
    query_ptr += head * n_rows * HEAD_DIM
    key_ptr += kv_head * n_rows * HEAD_DIM
    value_ptr += kv_head * n_rows * HEAD_DIM
    query, column = tile * TILE_Q + tl.arange(0, TILE_Q), tl.arange(0, WIDTH)
    place = query[:, None] * HEAD_DIM + column[None, :]
    there = (query < n_rows)[:, None] & (column < HEAD_DIM)[None, :]
    queries = tl.load(query_ptr + place, mask=there, other=0.0)
    maximum = tl.full((TILE_Q,), float("-inf"), tl.float32)
    total = tl.zeros((TILE_Q,), tl.float32)
    output = tl.zeros((TILE_Q, WIDTH), tl.float32)
    n_whole, n_seen = n_rows // TILE_KV * TILE_KV, n_rows
    if IS_CAUSAL:
        n_whole = tile * TILE_Q // TILE_KV * TILE_KV
        n_seen = tl.minimum(n_rows, (tile + 1) * TILE_Q)
    maximum, total, output = _turns(
        maximum, total, output, queries, query, key_ptr, value_ptr, 0, n_whole, n_rows, scale,
        False, IS_CAUSAL, HEAD_DIM, WIDTH, TILE_KV,
    )  # fmt: skip
    maximum, total, output = _turns(
        maximum, total, output, queries, query, key_ptr, value_ptr, n_whole, n_seen, n_rows, scale,
        True, IS_CAUSAL, HEAD_DIM, WIDTH, TILE_KV,
    )  # fmt: skip
    output = (output / total[:, None]).to(output_ptr.dtype.element_ty)
    tl.store(output_ptr + head * n_rows * HEAD_DIM + place, output, mask=there)
    logsumexp = (maximum + tl.log2(total)) * LN_2
    tl.store(logsumexp_ptr + head * n_rows + query, logsumexp, mask=query < n_rows)


def plan_for(head_dim: int, device: torch.device) -> TilePlan:
    """The fastest settings on an H200; smaller tiles if the chip has less memory."""
    if device.type == "cuda" and torch.cuda.get_device_capability(device) < (9, 0):
        return SMALL
    return NARROW if head_dim <= 64 else WIDE


def forward(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    is_causal: bool = False,
    plan: TilePlan | None = None,
) -> tuple[Tensor, Tensor]:
    """The output, and the logarithm of the sum of exp(score), float32, of each query.

    Shapes: queries (B H N D), keys and values (B Hkv N D), in float16 or bfloat16; returns
    (B H N D) and (B H N). Each of Hkv heads serves H / Hkv heads of queries. They are copied where
    they do not lie in this order. plan: by default that of `plan_for`.
    Raises: ValueError for other shapes, for a head_dim out of `HEAD_DIMS`, for other numbers.
    Source: FlashAttention-2 (arXiv:2307.08691), algorithm 1.
    """
    _check(queries, keys, values)
    n_sequences, n_heads, n_rows, head_dim = queries.shape
    plan = plan or plan_for(head_dim, queries.device)
    queries, keys, values = (each.contiguous() for each in (queries, keys, values))
    output = torch.empty_like(queries)
    logsumexp = torch.empty(queries.shape[:3], dtype=torch.float32, device=queries.device)
    _forward[(triton.cdiv(n_rows, plan.tile_q), n_sequences * n_heads)](
        queries, keys, values, output, logsumexp,
        n_rows, n_heads, n_heads // keys.shape[1], head_dim**-0.5 * LOG2_E,
        IS_CAUSAL=is_causal, HEAD_DIM=head_dim, WIDTH=triton.next_power_of_2(head_dim),
        TILE_Q=plan.tile_q, TILE_KV=plan.tile_kv,
        num_warps=plan.n_warps, num_stages=plan.n_stages,
    )  # fmt: skip
    return output, logsumexp


def flash_attention(
    queries: Tensor, keys: Tensor, values: Tensor, is_causal: bool = False
) -> Tensor:
    """As `labkit.engine.operations.flash_attention`: the output of `forward`."""
    return forward(queries, keys, values, is_causal)[0]


def _check(queries: Tensor, keys: Tensor, values: Tensor) -> None:
    shapes = ", ".join(str(tuple(each.shape)) for each in (queries, keys, values))
    if queries.dim() != 4 or keys.dim() != 4 or keys.shape != values.shape:
        raise ValueError(f"wanted queries (B H N D), keys and values (B Hkv N D), got {shapes}")
    n_sequences, n_heads, n_rows, head_dim = queries.shape
    n_kv_heads = max(1, keys.shape[1])
    if keys.shape != (n_sequences, n_kv_heads, n_rows, head_dim) or n_heads % n_kv_heads:
        raise ValueError(
            f"wanted as many sequences, rows and numbers a row everywhere, and for every head of "
            f"keys the same number of heads of queries; got {shapes}"
        )
    if head_dim not in HEAD_DIMS or not queries.numel():
        raise ValueError(f"wanted rows of 16 to 128 numbers, and at least one; got {shapes}")
    dtypes = {each.dtype for each in (queries, keys, values)}
    if len(dtypes) > 1 or not dtypes <= {torch.float16, torch.bfloat16}:
        raise ValueError(f"wanted float16 or bfloat16 throughout, got {dtypes}")
