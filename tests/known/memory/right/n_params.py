"""Right answers to `n_params`, written differently."""

# %% layer by layer
def n_params(config):
    if {"latent_attention", "linear_attention"} & set(config.layer_types):
        raise ValueError("unknown projections")
    d, hd = config.hidden_size, config.head_dim
    heads, kv_heads = config.num_attention_heads, config.num_key_value_heads
    total = used = d + d * config.vocab_size
    if not config.tie_word_embeddings:
        total, used = total + d * config.vocab_size, used + d * config.vocab_size
    for i in range(config.num_hidden_layers):
        layer = 2 * d + heads * hd * d * 2
        for _ in "kv":
            layer += kv_heads * hd * d
            if config.attention_bias:
                layer += kv_heads * hd
        if config.attention_bias:
            layer += heads * hd
        if config.qk_norm:
            layer += hd + hd
        total, used = total + layer, used + layer
        if config.num_experts > 0 and i >= config.first_k_dense_replace:
            mlp = 3 * d * config.moe_intermediate_size
            total += d * config.num_experts + mlp * (config.num_experts + config.n_shared_experts)
            used += d * config.num_experts
            used += mlp * (config.num_experts_per_tok + config.n_shared_experts)
        else:
            total += 3 * d * config.intermediate_size
            used += 3 * d * config.intermediate_size
    return [total, used]

# %% shapes of tensors, with math.prod
from collections import Counter
from math import prod

def n_params(c):
    kinds = Counter(c.layer_types)
    if kinds["latent_attention"] or kinds["linear_attention"]:
        raise ValueError(f"cannot count {kinds}")
    d = c.hidden_size
    q, k = c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim
    attention = [(d, q), (d, k), (d, k), (q, d), (d,), (d,)]
    attention += [(q,), (k,), (k,)] if c.attention_bias else []
    attention += [(c.head_dim,)] * 2 if c.qk_norm else []
    mlp = [(d, c.intermediate_size)] * 3
    expert = [(d, c.moe_intermediate_size)] * 3
    n_moe = max(0, c.num_hidden_layers - c.first_k_dense_replace) * bool(c.num_experts)
    outside = [(c.vocab_size, d)] * (1 if c.tie_word_embeddings else 2) + [(d,)]

    def count(n_experts):
        in_moe = [(d, c.num_experts)] + expert * (n_experts + c.n_shared_experts)
        shapes = outside + attention * c.num_hidden_layers
        shapes += mlp * (c.num_hidden_layers - n_moe) + in_moe * n_moe
        return sum(map(prod, shapes))

    return count(c.num_experts), count(c.num_experts_per_tok)

# %% what is unused taken off at the end, as a tensor
import torch

def n_params(config: ModelConfig):
    c = config
    for kind in c.layer_types:
        if "latent" in kind or "linear" in kind:
            raise ValueError(kind)
    d, group = c.hidden_size, c.num_attention_heads + c.num_key_value_heads
    total = c.num_hidden_layers * (2 * d * group * c.head_dim + 2 * d)
    total += c.num_hidden_layers * c.attention_bias * c.head_dim * (group + c.num_key_value_heads)
    total += c.num_hidden_layers * c.qk_norm * 2 * c.head_dim
    total += d + (2 - c.tie_word_embeddings) * c.vocab_size * d
    with_experts = range(c.first_k_dense_replace, c.num_hidden_layers) if c.num_experts else ()
    total += (c.num_hidden_layers - len(with_experts)) * 3 * d * c.intermediate_size
    one = 3 * d * c.moe_intermediate_size
    total += len(with_experts) * ((c.num_experts + c.n_shared_experts) * one + c.num_experts * d)
    idle = len(with_experts) * (c.num_experts - c.num_experts_per_tok) * one
    return torch.tensor([total, total - idle])
