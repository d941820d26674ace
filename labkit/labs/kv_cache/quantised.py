"""An arena of 8-bit numbers: each key and value has one scale per head and token."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from labkit.models.transformer import Seen

LARGEST = 127  # of an int8, so that 0 stays 0 and both signs are alike


def quantise(x: Tensor, axes: tuple[int, ...] = (-1,)) -> tuple[Tensor, Tensor]:
    """Whole numbers from -127 to 127, and the scales that make them numbers again.

    axes: those that share one scale; the last alone, or all for one scale of the whole tensor.
    """
    scales = x.abs().amax(dim=axes, keepdim=True).clamp(min=1e-8) / LARGEST
    return (x / scales).round().to(torch.int8), scales


class QuantisedArena:
    """Two arenas as one store: int8 numbers, and a float32 scale for each head and token.

    `append` returns all tokens as floats again: a copy, which a kernel would not need.
    """

    def __init__(
        self,
        make_arena: Callable[..., Any],
        n_layers: int,
        batch: int,
        n_kv_heads: int,
        head_dim: int,
        capacity: int,
        device: torch.device | str = "cpu",
    ) -> None:
        """make_arena: `ArenaCache`. Numbers and scales each get one."""
        sizes = (n_layers, batch, n_kv_heads)
        self.numbers = make_arena(*sizes, head_dim, capacity, dtype=torch.int8, device=device)
        self.scales = make_arena(*sizes, 1, capacity, device=device)

    @property
    def length(self) -> int:
        """How many tokens every layer holds."""
        return self.numbers.length

    def append(self, layer: int, keys: Tensor, values: Tensor) -> Seen:
        """Write a layer's new tokens (B Hkv T D); return all, about as they were, and the mask."""
        new = zip(quantise(keys), quantise(values), strict=True)  # numbers, then scales
        arenas = (self.numbers, self.scales)
        stored = [arena.append(layer, *pair) for arena, pair in zip(arenas, new, strict=True)]
        (keys, values, mask), (key_scales, value_scales, _) = stored
        return keys * key_scales, values * value_scales, mask


def quantisation_errors(make: Callable[[], Tensor]) -> dict[str, Any]:
    """The largest error of tokens (Hkv T D), by who shares a scale, in parts of their mean size.

    The tensor is measured as it is, and with one head 100 times as large. The error is that of
    the other heads.
    """
    found = {}
    for name, axes in {"each head and token": (-1,), "the whole tensor": (-3, -2, -1)}.items():
        errors = []
        for factor in (1, 100):
            x = make()
            x[0] *= factor
            numbers, scales = quantise(x, axes)
            others = x[1:]
            errors.append(
                float(((numbers * scales)[1:] - others).abs().max() / others.abs().mean())
            )
        found[name] = tuple(errors)
    return found


def bytes_per_token(head_dim: int, n_kv_heads: int, width: int, scale_width: int = 0) -> int:
    """Bytes of the keys and values of one token in one layer; a scale for each head, or none."""
    return 2 * n_kv_heads * (head_dim * width + scale_width)
