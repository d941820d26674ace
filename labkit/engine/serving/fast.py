"""The operations of a pass on a GPU, by Triton's kernels."""

from __future__ import annotations

import torch
import triton
from torch import Tensor

from labkit.engine.serving import triton_decode, triton_packed, triton_rows
from labkit.engine.serving.pages import PAGE
from labkit.engine.serving.plain import MOST_FED, Packed, Running
from labkit.engine.weights import DecoderShape

LOG2_E = 1.4426950408889634
N_PROGRAMS = 1024  # of attention in a decode step, about
MOST_PARTS = 64  # of a request's cache
BLOCK, N_WARPS, N_STAGES = 64, 4, 4  # of decode: positions at once
TILE_Q, TILE_KV, TILE_WARPS, TILE_STAGES = 128, 64, 8, 4  # of packed prompts
GATE_BLOCK = 1024


def parts_of(n_sequences: int, n_kv_heads: int) -> int:
    """Into how many parts each cache is cut, so that the GPU is full with few requests too."""
    n_parts = max(1, N_PROGRAMS // (n_sequences * n_kv_heads))
    return min(MOST_PARTS, 1 << n_parts.bit_length() - 1)


class Fast:
    """As `labkit.engine.serving.plain.Plain`. Its passes can be captured as CUDA graphs."""

    can_capture = True

    def __init__(self, shape: DecoderShape, n_sequences: int, device: torch.device) -> None:
        self._shape, self._device = shape, device
        self._scale = shape.head_dim**-0.5 * LOG2_E
        sizes = (2**i for i in range(n_sequences.bit_length() + 1))
        most = MOST_FED * max(n * parts_of(n, shape.n_kv_heads) for n in sizes)
        self._n_spots = 2 * most * shape.n_heads
        kept = {"dtype": torch.float32, "device": device}
        self._sums = torch.empty(2, self._n_spots, **kept)
        self._mixed = torch.empty(self._n_spots, shape.head_dim, **kept)

    def norm(self, x: Tensor) -> Tensor:
        """As `Plain.norm`."""
        out, n = torch.empty_like(x), x.shape[1]
        width = triton.next_power_of_2(n)
        triton_rows.norm[(len(x),)](
            x, out, n, self._shape.eps, WIDTH=width, num_warps=8 if width > 2048 else 4
        )
        return out

    def gate(self, both: Tensor) -> Tensor:
        """As `Plain.gate`."""
        n = both.shape[1] // 2
        out = torch.empty(len(both), n, dtype=both.dtype, device=both.device)
        triton_rows.gate[(len(both), triton.cdiv(n, GATE_BLOCK))](both, out, n, BLOCK=GATE_BLOCK)
        return out

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
        """As `Plain.place`."""
        shape = self._shape
        queries = torch.empty(
            len(qkv), shape.n_heads, shape.head_dim, dtype=qkv.dtype, device=qkv.device
        )
        triton_rows.place[(len(qkv),)](
            qkv, qkv if head_norms is None else head_norms, *angles, positions, rows,
            queries, keys, values, shape.eps,
            N_HEADS=shape.n_heads, N_KV_HEADS=shape.n_kv_heads, HALF=shape.head_dim // 2,
            HAS_NORM=head_norms is not None,
            WIDTH=triton.next_power_of_2(shape.n_heads + 2 * shape.n_kv_heads),
        )  # fmt: skip
        return queries

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
        """As `Plain.decode`."""
        shape, n_fed = self._shape, running.n_fed
        n = len(running.slots) // n_fed
        n_rows = n_fed * shape.n_heads // shape.n_kv_heads
        n_parts = parts_of(n, shape.n_kv_heads)
        sums = (*self._sums, self._mixed)
        sizes = {"N_FED": n_fed, "N_HEADS": shape.n_heads, "D": shape.head_dim}
        sizes |= {"BLOCK": BLOCK, "PARTS": n_parts}
        triton_decode.attend[(shape.n_kv_heads, n_parts, n)](
            queries, keys, values, table, lengths, running.slots, *sums, table.shape[1],
            self._scale, **sizes, N_KV_HEADS=shape.n_kv_heads, PAGE=PAGE,
            ROWS=max(16, triton.next_power_of_2(n_rows)),
            num_warps=N_WARPS, num_stages=N_STAGES,
        )  # fmt: skip
        triton_decode.combine[(shape.n_heads, n * n_fed)](
            *sums, lengths, running.slots, out, **sizes
        )

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
        """As `Plain.packed`."""
        shape, n_chunks = self._shape, len(chunks.slots)
        triton_packed.forward[(len(queries) // TILE_Q + n_chunks, shape.n_heads)](
            queries, keys, values, table, lengths, chunks.slots, chunks.ends, out,
            table.shape[1], n_chunks, self._scale, CHUNKS=triton.next_power_of_2(n_chunks),
            N_HEADS=shape.n_heads, N_KV_HEADS=shape.n_kv_heads, D=shape.head_dim, PAGE=PAGE,
            TILE_Q=TILE_Q, TILE_KV=TILE_KV, num_warps=TILE_WARPS, num_stages=TILE_STAGES,
        )  # fmt: skip
