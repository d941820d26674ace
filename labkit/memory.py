"""What fits on a GPU: bytes of weights and of the KV cache, and the same sums solved backwards.

Two things fill the card when a model generates: the weights, a constant, and the KV cache, which
grows by the same number of bytes with every token of every sequence. So each quantity here is a
product, and each question "what is the largest ... that fits?" a whole-number division. All counts
are exact integers, however large.
"""

from __future__ import annotations

from collections.abc import Mapping

from labkit.models.shapes import ModelShape


def weight_bytes(n_params: int, bytes_per_param: int = 2) -> int:
    """Bytes that the weights of a model take.

    Units: bytes_per_param is 2 for float16 and bfloat16, 4 for float32, 1 for
    int8; returns bytes, exactly, as a whole number.
    Source: Chen, Transformer Inference Arithmetic, section "capacity".
    """
    return n_params * bytes_per_param


def training_bytes(n_params: int, recipe: Mapping[str, int]) -> int:
    """Bytes that training keeps for the parameters; activations come on top.

    recipe: how many bytes are kept per parameter, by what they are for, such
    as {"weights": 4, "gradients": 4} for plain gradient descent in float32.
    Any names may occur. It is not changed.
    Units: returns bytes, exactly, as a whole number.
    Source: Rajbhandari et al. 2020 (arXiv:1910.02054), section 3.1.
    """
    return n_params * sum(recipe.values())


def kv_bytes_per_token(shape: ModelShape, bytes_per_number: int = 2) -> int:
    """Bytes that one token of one sequence adds to the KV cache.

    Every layer keeps what its attention needs of the token again: see the
    fields of ModelShape.
    Units: bytes_per_number is the width of one cached number; returns bytes,
    as a whole number.
    Source: Ainslie et al. 2023 (arXiv:2305.13245) for query heads that share
    keys and values.
    """
    return 2 * shape.n_layers * shape.n_kv_heads * shape.head_dim * bytes_per_number


def kv_cache_bytes(
    shape: ModelShape, n_tokens: int, batch_size: int = 1, bytes_per_number: int = 2
) -> int:
    """Bytes of the KV cache of a batch whose sequences are all n_tokens long.

    Units: tokens per sequence, prompt included; returns bytes, as a whole
    number. An empty sequence takes none.
    """
    return batch_size * n_tokens * kv_bytes_per_token(shape, bytes_per_number)


def largest_model(vram_bytes: int, overhead_bytes: int = 0, bytes_per_param: int = 2) -> int:
    """The most parameters whose weights fit beside a fixed overhead.

    Units: returns parameters, a whole number (not billions). It is 0 if the
    overhead fills the card. This solves weight_bytes for the parameters.
    Raises: ValueError if bytes_per_param is not positive.
    """
    if bytes_per_param <= 0:
        raise ValueError(f"a parameter takes at least one byte, got {bytes_per_param}")
    return max(0, int((vram_bytes - overhead_bytes) // bytes_per_param))


def longest_sequence(
    vram_bytes: int,
    model_bytes: int,
    token_bytes: int,
    batch_size: int = 1,
    overhead_bytes: int = 0,
) -> int:
    """The most tokens that each sequence of a batch can have before the card is full.

    The weights take model_bytes. One token of one sequence takes token_bytes
    in the KV cache. All sequences of the batch are equally long.
    Units: returns whole tokens per sequence. It is 0 if the weights and the
    overhead leave no room, whether they just fill the card or do not fit at
    all. This solves kv_cache_bytes for the tokens.
    Raises: ValueError if batch_size or token_bytes is not positive.
    """
    if batch_size <= 0 or token_bytes <= 0:
        raise ValueError(f"wanted at least 1, got {batch_size} sequences, {token_bytes} bytes each")
    left_bytes = vram_bytes - model_bytes - overhead_bytes
    return max(0, int(left_bytes // (batch_size * token_bytes)))
