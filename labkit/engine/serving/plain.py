"""The operations of a pass in PyTorch: the reference for those of a GPU, and what a CPU runs.

Rows of all matrices here are tokens: first one of each running request, then the packed prompts.
"""

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from labkit.engine.operations import rms_norm, rotate
from labkit.engine.serving.pages import rows_of
from labkit.engine.weights import DecoderShape

MOST_FED = 8  # tokens of a running request in one pass


@dataclass(frozen=True, slots=True)
class Running:
    """The requests that a pass feeds a few tokens each: one to decode, more to verify a draft.

    slots: (B T,), int64, on the device, of each token. n_fed: T, the same for all of them.
    n_cached: of each request, before the pass; None where a captured pass does not know.
    """

    slots: Tensor
    n_fed: int
    n_cached: tuple[int, ...] | None


@dataclass(frozen=True, slots=True)
class Packed:
    """Chunks of prompts, one after the other without padding.

    slots: (C,), int64, of the chunks. ends: (C + 1,), int32, where each begins and ends; empty ones
    fill a captured pass up. n_cached: of each, before the pass; None where a captured pass does not
    know.
    """

    slots: Tensor
    ends: Tensor
    n_cached: tuple[int, ...] | None


class Plain:
    """What `labkit.engine.serving.decoder` needs beside products."""

    can_capture = False

    def __init__(self, shape: DecoderShape, n_sequences: int, device: torch.device) -> None:
        self._shape = shape

    def norm(self, x: Tensor) -> Tensor:
        """Each row divided by its root mean square."""
        return rms_norm(x, None, self._shape.eps)

    def gate(self, both: Tensor) -> Tensor:
        """SiLU of the first half of each row, times the second half."""
        gate, up = both.chunk(2, dim=-1)
        return functional.silu(gate) * up

    def place(
        self,
        qkv: Tensor,
        head_norms: Tensor | None,
        angles: tuple[Tensor, Tensor],
        positions: Tensor,
        rows: Tensor,
        keys: Tensor,
        values: Tensor,
    ) -> Tensor:
        """The turned queries (N H D). Keys and values go to their rows of the pool.

        Shapes: qkv (N, (H + 2 Hkv) D), angles (S, D / 2) each, positions and rows (N,), keys and
        values (pool's rows, Hkv, D), head_norms (H + Hkv, D) or None.
        """
        n_heads, n_kv_heads = self._shape.n_heads, self._shape.n_kv_heads
        heads = qkv.view(len(qkv), -1, self._shape.head_dim)
        turned, new_values = heads.split([n_heads + n_kv_heads, n_kv_heads], dim=1)
        if head_norms is not None:
            turned = rms_norm(turned, head_norms, self._shape.eps)
        cos, sin = (each[positions][:, None] for each in angles)
        cos, sin = torch.cat([cos, cos], dim=-1), torch.cat([-sin, sin], dim=-1)
        turned = rotate(turned, cos, sin)
        keys[rows], values[rows] = turned[:, n_heads:], new_values
        return turned[:, :n_heads]

    def decode(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        table: Tensor,
        lengths: Tensor,
        running: Running,
        out: Tensor,
    ) -> None:
        """Attention of the tokens of running requests: each over all before it, and itself.

        Shapes: queries (B T, H, D), keys and values (pool's rows, Hkv, D), table and lengths as in
        `labkit.engine.serving.pages`, out (B T, H D), written to.
        """
        n_fed = running.n_fed
        for i, n_cached in enumerate(running.n_cached):
            new = slice(i * n_fed, (i + 1) * n_fed)
            place = (keys, values, table[running.slots[new][0]])
            out[new] = self._of_request(queries[new], *place, n_cached)

    def packed(
        self,
        queries: Tensor,
        keys: Tensor,
        values: Tensor,
        table: Tensor,
        lengths: Tensor,
        chunks: Packed,
        out: Tensor,
    ) -> None:
        """Attention of chunks: a token sees the tokens up to itself of its own prompt.

        Shapes: queries (T H D), out (T, H D), written to; the others as in `decode`.
        """
        ends = chunks.ends.tolist()
        for i, (slot, n_cached) in enumerate(zip(chunks.slots, chunks.n_cached, strict=True)):
            new = slice(*ends[i : i + 2])
            out[new] = self._of_request(queries[new], keys, values, table[slot], n_cached)

    def _of_request(
        self, queries: Tensor, keys: Tensor, values: Tensor, pages: Tensor, n_cached: int
    ) -> Tensor:
        """(T, H D), of the queries (T H D) of the tokens after the cached ones."""
        rows = rows_of(pages, n_cached + len(queries))
        every = torch.arange(len(rows), device=keys.device)
        seen = every <= every[n_cached:, None]
        mixed = functional.scaled_dot_product_attention(
            *(each.transpose(0, 1)[None] for each in (queries, keys[rows], values[rows])),
            attn_mask=seen,
            enable_gqa=True,
        )
        return mixed[0].transpose(0, 1).reshape(len(queries), -1)
