"""The memory of a decoder's KV caches: made once, never moved; a rewind changes only a length.

What holds, after every call of a decoder:
1. A token's position is the number of tokens before it in its sequence; no caller passes positions.
2. The keys and values of position i lie at index i. A step over T tokens of a sequence that has n
   writes to n up to n + T, in every layer, and nowhere else.
3. A new token sees the positions up to its own, and none after.
4. Values beyond a sequence's length have no influence.
5. Each sequence has its own length, and no influence on another.
6. `forward` leaves the lengths as they are; `feed` adds T to each.
7. Tokens that do not fit are refused by `feed`, and nothing has changed then.
8. Taking tokens back sets a length. No key and no value moves, however many tokens it is.
9. After that, all is as if the tokens had never been fed.
10. Keys, values and lengths stay where they were made: no step makes new ones.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from labkit.engine.weights import DecoderShape


@dataclass(frozen=True, slots=True)
class Arena:
    """Room for the keys and values of n_sequences, n_positions each, in every layer.

    keys, values: (L, B, Hkv, S, D). lengths: (B,), int32, on the device: how many positions of each
    sequence count. What lies beyond is written over by what is fed next.
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
        """Let each sequence have its first tokens only; an int stands for all sequences.

        Raises: ValueError for an int below 0 or above n_positions.
        """
        if isinstance(lengths, int):
            if not 0 <= lengths <= self.n_positions:
                raise ValueError(
                    f"wanted a length from 0 to the {self.n_positions} positions, got {lengths}"
                )
            self.lengths.fill_(lengths)
        else:
            self.lengths.copy_(lengths)
