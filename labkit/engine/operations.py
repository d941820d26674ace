"""The operations of a decoder's layers, in PyTorch: the reference for every faster form.

Rows of all matrices here are tokens: B sequences with T new tokens each, sequence by sequence.
"""

from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from labkit.engine.weights import DecoderShape


def rms_norm(x: Tensor, weight: Tensor | None, eps: float) -> Tensor:
    """Divide vectors by their root mean square, then scale. Source: arXiv:1910.07467, eq. 4."""
    normed = functional.rms_norm(x, x.shape[-1:], eps=eps)
    return normed if weight is None else weight * normed


def linear(
    x: Tensor,
    weight: Tensor,
    normed: bool = False,
    eps: float = 0.0,
    residual: Tensor | None = None,
    gated: bool = False,
    dtype: torch.dtype | None = None,
    product: Callable[[Tensor, Tensor], Tensor] | None = None,
) -> Tensor:
    """Vectors times a matrix (out, in), with what comes before and after it.

    normed: the vectors are divided by their root mean square first. gated: the matrix has two
    halves, and what the first gives goes through SiLU and scales what the second gives. residual:
    is added, where nothing is gated. dtype: of what is returned, (tokens, out); else that of x.
    product: what multiplies; PyTorch's own if None.
    """
    if normed:
        x = rms_norm(x, None, eps)
    if residual is not None and product is None:
        return torch.addmm(residual, x, weight.t()).to(dtype or x.dtype)
    out = (product or functional.linear)(x, weight)
    if residual is not None:
        out = out + residual
    if gated:
        gate, up = out.chunk(2, dim=-1)
        out = functional.silu(gate) * up
    return out.to(dtype or out.dtype)


def rotate(x: Tensor, cos: Tensor, sin: Tensor) -> Tensor:
    """Turn the halves of each head against each other.

    Shapes: x (B T H D); cos and sin (B T 1 D), of the half that sin takes away negative.
    Source: RoFormer (arXiv:2104.09864), eq. 34, halves instead of neighbours.
    """
    wide = x.float()
    return torch.addcmul(wide * cos, wide.roll(x.shape[-1] // 2, -1), sin).to(x.dtype)


def flash_attention(
    queries: Tensor, keys: Tensor, values: Tensor, is_causal: bool = False
) -> Tensor:
    """The mixed values (B H N D) of whole texts; a query sees all keys, or those up to its own.

    Shapes: queries (B H N D), keys and values (B Hkv N D).
    """
    return functional.scaled_dot_product_attention(
        queries, keys, values, is_causal=is_causal, enable_gqa=True
    )


@dataclass(frozen=True, slots=True)
class Places:
    """Where new tokens stand: the same for all layers.

    where: indices of them in a cache (B S Hkv D), slices if there is one sequence. Shapes: cos and
    sin as in `rotate`, seen (B 1 T S) or None if a single token sees all.
    """

    where: tuple
    n_longest: int
    cos: Tensor
    sin: Tensor
    seen: Tensor | None


def _of_heads(cos: Tensor, sin: Tensor) -> tuple[Tensor, Tensor]:
    """Angles (B T D/2) as `rotate` takes them."""
    return torch.cat([cos, cos], dim=-1)[:, :, None], torch.cat([-sin, sin], dim=-1)[:, :, None]


class Attention:
    """Put the new keys and values into the arena, and attend to them and all before."""

    def __init__(self, shape: DecoderShape, n_sequences: int, device: torch.device) -> None:
        self._shape = shape

    def places(self, lengths: Tensor, n_new: int, cos: Tensor, sin: Tensor) -> Places:
        """Of n_new tokens behind `lengths` (B,), by the angles of all positions (S, D/2)."""
        n_longest, is_one = int(lengths.max()) + n_new, len(lengths) == 1
        positions, seen = None, None
        if n_new > 1 or not is_one:
            every = torch.arange(n_longest, device=lengths.device)
            positions = lengths[:, None].long() + every[:n_new]
            seen = every <= positions[:, None, :, None]
        if is_one:
            new = slice(n_longest - n_new, n_longest)
            where, cos, sin = (slice(None), new), cos[None, new], sin[None, new]
        else:
            sequences = torch.arange(len(lengths), device=lengths.device)[:, None]
            where, cos, sin = (sequences, positions), cos[positions], sin[positions]
        return Places(where, n_longest, *_of_heads(cos, sin), seen)

    def __call__(
        self, qkv: Tensor, keys: Tensor, values: Tensor, places: Places, head_norms: Tensor | None
    ) -> Tensor:
        """The mixed values (B T, H D) of each head.

        Shapes: qkv (B T, (H + 2 Hkv) D); keys and values (B Hkv S D), written to; head_norms
        (H + Hkv, D), scales of the queries and of the keys.
        """
        n_heads, n_kv_heads = self._shape.n_heads, self._shape.n_kv_heads
        heads = qkv.view(*places.cos.shape[:2], -1, self._shape.head_dim)
        turned, new_values = heads.split([n_heads + n_kv_heads, n_kv_heads], dim=2)
        if head_norms is not None:
            turned = rms_norm(turned, head_norms, self._shape.eps)
        turned = rotate(turned, places.cos, places.sin)
        queries, new_keys = turned.split([n_heads, n_kv_heads], dim=2)
        keys.transpose(1, 2)[places.where] = new_keys
        values.transpose(1, 2)[places.where] = new_values
        mixed = functional.scaled_dot_product_attention(
            queries.transpose(1, 2),
            keys[:, :, : places.n_longest],
            values[:, :, : places.n_longest],
            attn_mask=None if places.seen is None else places.seen[..., : keys.shape[2]],
            enable_gqa=True,
        )
        return mixed.transpose(1, 2).reshape(qkv.shape[0], -1)


class WholeArenaAttention(Attention):
    """The same without ever waiting for the device: steps of it can be captured as a CUDA graph.

    It does not look up the lengths: the queries see the whole arena, and a mask hides empty places.
    So it reads more than needed.
    """

    def places(self, lengths: Tensor, n_new: int, cos: Tensor, sin: Tensor) -> Places:
        """As `Attention.places`; where: of each token of each sequence."""
        every = torch.arange(len(cos), device=lengths.device)
        positions = lengths[:, None].long() + every[:n_new]
        cos, sin = cos[positions], sin[positions]
        where = (torch.arange(len(lengths), device=lengths.device)[:, None], positions)
        seen = every <= positions[:, None, :, None]
        return Places(where, len(every), *_of_heads(cos, sin), seen)
