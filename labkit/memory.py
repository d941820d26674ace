"""What fits on a GPU: parameters and cached bytes of a model, and the sizes that follow from them.

Two things fill the card when a model generates: the weights, a constant, and the KV cache, which
grows with every token of every sequence, by as much as the kinds of its layers make it. Each
question "what is the largest ... that fits?" is an integer division. All counts are exact.
"""

from __future__ import annotations

from labkit.models.configs import ModelConfig
from labkit.models.sizes import kv_bytes_per_token as kv_bytes_per_token  # for lab 3 of release 0.1
from labkit.models.sizes import weight_bytes as weight_bytes


def n_params(config: ModelConfig) -> tuple[int, int]:
    """All parameters of a model, and those that one token uses.

    Count the weights of the embedding, and of the output head, which has none
    of its own if config.tie_word_embeddings. Each layer has two norms, an MLP
    of three matrices, and the projections of queries, keys, values and output.
    One norm follows the last layer. A norm has hidden_size weights.
    A matrix has no bias. But if config.attention_bias, the projections of
    queries, keys and values (not that of the output) have a bias: one number
    per output. If config.qk_norm, each layer has two more norms, of head_dim
    weights each: all heads share them. A layer with a window has the same
    weights as one with full attention.
    If config.num_experts is not 0, the layers after the first
    config.first_k_dense_replace have experts instead of their MLP. Such a
    layer has num_experts experts and n_shared_experts shared ones. Each is an
    MLP of width moe_intermediate_size. The layer also has one router: a matrix
    with one row of hidden_size numbers for each expert that is not shared. A
    token uses num_experts_per_tok of the experts, and all shared ones. It uses
    everything else whole, also embedding, head and router.
    Returns (all, used): two equal ints for a model without experts.
    Raises: ValueError if a layer has latent_attention or linear_attention,
    whose projections differ.
    """
    c = config
    for kind in c.layer_types:
        if kind not in ("full_attention", "sliding_attention"):
            raise ValueError(f"the projections of {kind} are not counted here")
    queries, keys = c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim
    attention = c.hidden_size * (2 * queries + 2 * keys)
    if c.attention_bias:
        attention += queries + 2 * keys
    if c.qk_norm:
        attention += 2 * c.head_dim
    n_moe = c.num_hidden_layers - c.first_k_dense_replace if c.num_experts else 0
    n_dense = c.num_hidden_layers - n_moe
    expert = 3 * c.hidden_size * c.moe_intermediate_size
    everywhere = c.vocab_size * c.hidden_size * (1 if c.tie_word_embeddings else 2) + c.hidden_size
    everywhere += c.num_hidden_layers * (attention + 2 * c.hidden_size)
    everywhere += n_dense * 3 * c.hidden_size * c.intermediate_size
    everywhere += n_moe * (c.num_experts * c.hidden_size + c.n_shared_experts * expert)
    every, used = (n_moe * n * expert for n in (c.num_experts, c.num_experts_per_tok))
    return everywhere + every, everywhere + used


def kv_cache_bytes(
    config: ModelConfig,
    n_tokens: int,
    batch_size: int = 1,
    bytes_per_number: float = 2,
) -> int:
    """Bytes of the KV cache of a batch whose sequences are all n_tokens long.

    Add up the layers: config.layer_types names the kind of each. This is what
    they store for each sequence of the batch. A "full_attention" layer stores
    a key and a value of head_dim numbers for each token and each KV head.
    There are config.num_key_value_heads of these. A "sliding_attention" layer
    stores the same, but only of the last config.sliding_window tokens, the
    newest one included.
    A "latent_attention" layer stores one vector per token instead of keys and
    values. It has kv_lora_rank + qk_rope_head_dim numbers.
    A "linear_attention" layer takes config.state_bytes bytes at every length,
    even at 0 tokens, and for every bytes_per_number.
    bytes_per_number: 4, 2, 1 or 0.5 bytes of one stored number. n_tokens
    counts the prompt too. Returns the bytes, an int. (The sum of all layers is
    whole: in the tests, no half byte is left.)
    Source: Ainslie et al. 2023 (arXiv:2305.13245), for shared KV heads;
    DeepSeek-AI 2024 (arXiv:2405.04434), section 2.1, for latents.
    """
    n_numbers = n_bytes = 0
    for kind in config.layer_types:
        if kind == "linear_attention":
            n_bytes += config.state_bytes
        elif kind == "latent_attention":
            n_numbers += n_tokens * (config.kv_lora_rank + config.qk_rope_head_dim)
        else:
            is_window = kind == "sliding_attention"
            n_kept = min(n_tokens, config.sliding_window) if is_window else n_tokens
            n_numbers += n_kept * 2 * config.num_key_value_heads * config.head_dim
    return batch_size * (int(n_numbers * bytes_per_number) + n_bytes)


def largest_model(
    vram_bytes: int,
    overhead_bytes: int = 0,
    bytes_per_param: int = 2,
) -> int:
    """The largest number of parameters that fit on a card, after the overhead.

    overhead_bytes hold other things than weights. bytes_per_param is 1, 2 or
    more. Returns an int, rounded down: parameters, not billions. If the
    overhead fills the card, or is larger than the card, return 0.
    Raises: ValueError if bytes_per_param is 0 or negative, on any card.
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

    model_bytes: the weights, and overhead_bytes: other things. The whole batch
    shares both. token_bytes: one token of one sequence in the KV cache. All
    sequences are equally long. Returns an int, rounded down: tokens per
    sequence. A cache may fill the card exactly. If weights and overhead fill
    the card, or do not fit, return 0.
    Raises: ValueError if batch_size or token_bytes is 0 or negative, on any
    card.
    """
    if batch_size <= 0 or token_bytes <= 0:
        raise ValueError(f"wanted at least 1, got {batch_size} sequences, {token_bytes} bytes each")
    left_bytes = vram_bytes - model_bytes - overhead_bytes
    return max(0, int(left_bytes // (batch_size * token_bytes)))
