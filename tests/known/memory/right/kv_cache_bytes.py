"""Right answers to `kv_cache_bytes`, written differently."""

# %% the layers counted by their kinds
from collections import Counter

def kv_cache_bytes(config, n_tokens, batch_size=1, bytes_per_number=2):
    n = Counter(config.layer_types)
    token = 2 * config.num_key_value_heads * config.head_dim
    numbers = n["full_attention"] * n_tokens * token
    numbers += n["sliding_attention"] * min(n_tokens, config.sliding_window) * token
    numbers += n["latent_attention"] * n_tokens * (config.kv_lora_rank + config.qk_rope_head_dim)
    state = n["linear_attention"] * config.state_bytes
    return batch_size * numbers * bytes_per_number + batch_size * state

# %% one function for each kind, keys and values added
def kv_cache_bytes(config: ModelConfig, n_tokens, batch_size=1, bytes_per_number=2):
    def pair(n):
        vector = config.head_dim * config.num_key_value_heads * bytes_per_number
        return n * vector + n * vector

    ways = {
        "full_attention": lambda: pair(n_tokens),
        "sliding_attention": lambda: pair(
            n_tokens if n_tokens < config.sliding_window else config.sliding_window
        ),
        "latent_attention": lambda: n_tokens * bytes_per_number * config.kv_lora_rank
        + n_tokens * bytes_per_number * config.qk_rope_head_dim,
        "linear_attention": lambda: config.state_bytes,
    }
    return sum(ways[kind]() for kind in config.layer_types for _ in range(batch_size))

# %% bits, with NumPy
import numpy as np

def kv_cache_bytes(config, n_tokens, batch_size=1, bytes_per_number=2):
    bits = np.zeros(len(config.layer_types))
    for i, kind in enumerate(config.layer_types):
        if kind == "linear_attention":
            bits[i] = 8 * config.state_bytes
            continue
        numbers = 2 * config.num_key_value_heads * config.head_dim
        if kind == "latent_attention":
            numbers = config.kv_lora_rank + config.qk_rope_head_dim
        kept = n_tokens
        if kind == "sliding_attention":
            kept = min(kept, config.sliding_window)
        bits[i] = 8 * bytes_per_number * numbers * kept
    return bits.sum() * batch_size / 8
