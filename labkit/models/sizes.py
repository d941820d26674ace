"""Bytes of weights and of one cached token, for models whose layers all cache every token."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from labkit.models.shapes import ModelShape


def weight_bytes(n_params: int, bytes_per_param: int = 2) -> int:
    """Bytes that the weights of a model take: 2 per parameter in 16 bits."""
    return n_params * bytes_per_param


def kv_bytes_per_token(shape: ModelShape, bytes_per_number: int = 2) -> int:
    """Bytes that one token of one sequence adds to the KV cache: a key and a value per KV head.

    Source: Ainslie et al. 2023 (arXiv:2305.13245), for shared KV heads.
    """
    return 2 * shape.n_layers * shape.n_kv_heads * shape.head_dim * bytes_per_number
