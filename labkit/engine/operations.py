"""What a decoder's layers are made of, in PyTorch: the reference for every faster form.

Rows of all matrices here are tokens: B sequences with T new tokens each, sequence by sequence.
"""

from __future__ import annotations

import torch
from torch import Tensor
from torch.nn import functional


def rms_norm(x: Tensor, weight: Tensor | None, eps: float) -> Tensor:
    """Divide vectors by their root mean square, then scale. Source: arXiv:1910.07467, eq. 4."""
    wide = x.float()
    normed = wide * torch.rsqrt(wide.pow(2).mean(-1, keepdim=True) + eps)
    normed = normed.to(x.dtype)
    return normed if weight is None else weight * normed


def linear(
    x: Tensor,
    weight: Tensor,
    normed: bool = False,
    eps: float = 0.0,
    residual: Tensor | None = None,
    gated: bool = False,
    dtype: torch.dtype | None = None,
) -> Tensor:
    """Vectors times a matrix (out, in), with what comes before and after it.

    normed: the vectors are divided by their root mean square first. gated: the matrix has two
    halves, and what the first gives goes through SiLU and scales what the second gives. residual:
    is added. dtype: of what is returned, (tokens, out); by default that of x.
    """
    if normed:
        x = rms_norm(x, None, eps)
    out = functional.linear(x, weight)
    if gated:
        gate, up = out.chunk(2, dim=-1)
        out = functional.silu(gate) * up
    if residual is not None:
        out = out + residual
    return out.to(dtype or out.dtype)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn the halves of each head against each other. Shapes: x (B T H D), cos and sin (B T D/2).

    Source: RoFormer (arXiv:2104.09864), eq. 34, halves instead of neighbours.
    """
    low, high = x.float().chunk(2, dim=-1)
    cos, sin = cos[:, :, None], sin[:, :, None]
    return torch.cat([low * cos - high * sin, high * cos + low * sin], dim=-1).to(x.dtype)


def attention(
    qkv: Tensor,
    keys: Tensor,
    values: Tensor,
    lengths: Tensor,
    cos: Tensor,
    sin: Tensor,
    norms: tuple[Tensor | None, Tensor | None],
    n_heads: int,
    eps: float,
) -> Tensor:
    """Put the new keys and values into the arena, and attend to them and all before.

    Shapes: qkv (B T, (H + 2 Hkv) D); keys and values (B Hkv S D), written to; lengths (B,), the
    tokens that each sequence has before; returns (B T, H D). norms: of queries and of keys.
    """
    n_sequences, n_kv_heads, _, head_dim = keys.shape
    n_new = qkv.shape[0] // n_sequences
    heads = qkv.view(n_sequences, n_new, -1, head_dim)
    queries, new_keys, new_values = heads.split([n_heads, n_kv_heads, n_kv_heads], dim=2)
    if norms[0] is not None:
        queries, new_keys = rms_norm(queries, norms[0], eps), rms_norm(new_keys, norms[1], eps)
    longest = int(lengths.max()) + n_new
    positions = lengths[:, None].long() + torch.arange(n_new, device=qkv.device)
    queries = rotate(queries, cos[positions], sin[positions]).transpose(1, 2)
    new_keys = rotate(new_keys, cos[positions], sin[positions])
    sequences = torch.arange(n_sequences, device=qkv.device)[:, None]
    keys[sequences, :, positions] = new_keys
    values[sequences, :, positions] = new_values
    seen = torch.arange(longest, device=qkv.device) <= positions[:, None, :, None]
    mixed = functional.scaled_dot_product_attention(
        queries, keys[:, :, :longest], values[:, :, :longest], attn_mask=seen, enable_gqa=True
    )
    return mixed.transpose(1, 2).reshape(qkv.shape[0], -1)
