"""Where the KV caches of a decoder lie: made once, never moved, cut by moving a number."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from labkit.engine.weights import DecoderShape


@dataclass(frozen=True, slots=True)
class Arena:
    """Room for the keys and values of n_sequences, n_positions each, in every layer.

    keys, values: (L, B, Hkv, S, D). lengths: (B,), int32, on the device: how many positions of each
    sequence count. What lies beyond is never read, and written over by what is fed next, so taking
    tokens back means setting a length: nothing moves, whatever the number of tokens.
    """

    keys: Tensor
    values: Tensor
    lengths: Tensor

    @classmethod
    def empty(
        cls,
        shape: DecoderShape,
        n_positions: int,
        n_sequences: int = 1,
        *,
        dtype: torch.dtype,
        device: torch.device | str,
    ) -> Arena:
        """An arena without tokens. Raises: ValueError for no positions or no sequences."""
        if min(n_positions, n_sequences) < 1:
            raise ValueError(
                f"wanted at least 1 position and 1 sequence, got {n_positions} and {n_sequences}"
            )
        sizes = (shape.n_layers, n_sequences, shape.n_kv_heads, n_positions, shape.head_dim)
        keys, values = (torch.zeros(sizes, dtype=dtype, device=device) for _ in range(2))
        return cls(keys, values, torch.zeros(n_sequences, dtype=torch.int32, device=device))

    @property
    def n_positions(self) -> int:
        """The most tokens that a sequence can have."""
        return self.keys.shape[3]

    @property
    def n_sequences(self) -> int:
        """How many sequences it holds."""
        return self.keys.shape[1]

    @property
    def nbytes(self) -> int:
        """Bytes of all keys and values."""
        return self.keys.nbytes + self.values.nbytes

    def rewind(self, lengths: int | Tensor) -> None:
        """Let each sequence have its first tokens only; an int stands for all sequences."""
        if isinstance(lengths, int):
            self.lengths.fill_(lengths)
        else:
            self.lengths.copy_(lengths)
