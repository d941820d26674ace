"""What fits on a GPU: bytes of weights and of the KV cache, and the sizes that follow from them.

Two things fill the card when a model generates: the weights, a constant, and the KV cache, which
grows by the same number of bytes with every token of every sequence. So each quantity here is a
product. Each question "what is the largest ... that fits?" is an integer division. All counts are
exact integers, however large.
"""

from __future__ import annotations

from collections.abc import Mapping

from labkit.models.shapes import ModelShape


def weight_bytes(n_params: int, bytes_per_param: int = 2) -> int:
    """Bytes that the weights of a model take.

    bytes_per_param is 2 for float16 and bfloat16, 4 for float32, 1 for int8.
    Returns the bytes as an int, exact for any size.
    Source: Chen, Transformer Inference Arithmetic, section "capacity".
    """
    return n_params * bytes_per_param


def training_bytes(n_params: int, recipe: Mapping[str, int]) -> int:
    """Bytes that training keeps for all parameters, without activations.

    recipe says what is kept for each parameter: a name, and its bytes. For
    plain gradient descent in float32 it is {"weights": 4, "gradients": 4}.
    Other recipes have other names. Do not change the recipe.
    Returns the bytes.
    Source: Rajbhandari et al. 2020 (arXiv:1910.02054), section 3.1.
    """
    return n_params * sum(recipe.values())


def kv_bytes_per_token(shape: ModelShape, bytes_per_number: int = 2) -> int:
    """Bytes that one token of one sequence adds to the KV cache.

    Each layer stores its own keys and values of the token. shape has the
    fields n_layers, n_heads (query heads), n_kv_heads, head_dim and d_model;
    you need some of them. bytes_per_number: the bytes of one stored number.
    Returns the bytes.
    Source: Ainslie et al. 2023 (arXiv:2305.13245), for shared KV heads.
    """
    return 2 * shape.n_layers * shape.n_kv_heads * shape.head_dim * bytes_per_number


def kv_cache_bytes(
    shape: ModelShape, n_tokens: int, batch_size: int = 1, bytes_per_number: int = 2
) -> int:
    """Bytes of the KV cache of a batch whose sequences are all n_tokens long.

    n_tokens counts the prompt too. For n_tokens = 0, return 0. Use your
    kv_bytes_per_token. Returns the bytes.
    """
    return batch_size * n_tokens * kv_bytes_per_token(shape, bytes_per_number)


def largest_model(
    vram_bytes: int,
    overhead_bytes: int = 0,
    bytes_per_param: int = 2,
) -> int:
    """The largest number of parameters that fit on a card, after the overhead.

    overhead_bytes hold other things than weights. Returns an int, rounded
    down: parameters, not billions. If the overhead fills the card, or is
    larger than the card, return 0.
    Raises: ValueError if bytes_per_param is 0 or negative.
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
    """The largest length, in tokens, of each sequence of a batch on one card.

    model_bytes: the weights, which the whole batch shares. token_bytes: one
    token of one sequence in the KV cache. All sequences are equally long.
    Returns an int, rounded down: tokens per sequence. If weights and overhead
    fill the card, or do not fit, return 0.
    Raises: ValueError if batch_size or token_bytes is 0 or negative.
    """
    if batch_size <= 0 or token_bytes <= 0:
        raise ValueError(f"wanted at least 1, got {batch_size} sequences, {token_bytes} bytes each")
    left_bytes = vram_bytes - model_bytes - overhead_bytes
    return max(0, int(left_bytes // (batch_size * token_bytes)))
