"""Wrong answers to `n_params`: edits of the reference, or the whole answer."""

# fails a_tied_head_counts_once

# %% the tied head counted twice
# = (1 if c.tie_word_embeddings else 2) => 2

# fails counts_every_matrix_of_a_dense_model norms_of_heads_and_biases_count
#   all_experts_are_stored_and_few_are_used first_layers_are_dense_and_some_experts_are_shared

# %% one matrix of embeddings for every model
# = (1 if c.tie_word_embeddings else 2) => 1

# fails counts_every_matrix_of_a_dense_model a_tied_head_counts_once
#   norms_of_heads_and_biases_count all_experts_are_stored_and_few_are_used
#   first_layers_are_dense_and_some_experts_are_shared

# %% hidden_size divided among the heads
# - queries, keys = c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim
slim = c.hidden_size // c.num_attention_heads
queries, keys = c.num_attention_heads * slim, c.num_key_value_heads * slim

# %% keys and values for every query head
# = c.num_key_value_heads * c.head_dim => c.num_attention_heads * c.head_dim

# %% no output projection
# = (2 * queries + 2 * keys) => (queries + 2 * keys)

# %% no last norm
# - everywhere = c.vocab_size * c.hidden_size * (1 if c.tie_word_embeddings else 2) + c.hidden_size
everywhere = c.vocab_size * c.hidden_size * (1 if c.tie_word_embeddings else 2)

# %% one norm per layer
# = (attention + 2 * c.hidden_size) => (attention + c.hidden_size)

# %% the first number alone
# = return everywhere + every, everywhere + used => return everywhere + every

# %% billions
# = return everywhere + every, everywhere + used => return (everywhere + every) / 1e9, (everywhere + used) / 1e9

# %% the embeddings left out of what a token uses
# = everywhere + used => everywhere + used - c.vocab_size * c.hidden_size

# fails counts_every_matrix_of_a_dense_model a_tied_head_counts_once
#   norms_of_heads_and_biases_count first_layers_are_dense_and_some_experts_are_shared

# %% two matrices in an MLP
# = n_dense * 3 * c.hidden_size => n_dense * 2 * c.hidden_size

# fails norms_of_heads_and_biases_count

# %% no norms of queries and keys
# - if c.qk_norm:
# -     attention += 2 * c.head_dim

# %% a norm for each head
# = attention += 2 * c.head_dim => attention += queries + keys

# %% one norm for queries and keys
# = attention += 2 * c.head_dim => attention += c.head_dim

# %% no biases
# - if c.attention_bias:
# -     attention += queries + 2 * keys

# %% a bias of the output projection too
# = attention += queries + 2 * keys => attention += queries + 2 * keys + c.hidden_size

# fails all_experts_are_stored_and_few_are_used first_layers_are_dense_and_some_experts_are_shared

# %% no router
# = (c.num_experts * c.hidden_size + c.n_shared_experts * expert) => (c.n_shared_experts * expert)

# %% all experts used
# = for n in (c.num_experts, c.num_experts_per_tok) => for n in (c.num_experts, c.num_experts)

# %% swapped
# = return everywhere + every, everywhere + used => return everywhere + used, everywhere + every

# %% experts as wide as the dense MLP
# = expert = 3 * c.hidden_size * c.moe_intermediate_size => expert = 3 * c.hidden_size * c.intermediate_size

# %% the dense MLP beside the experts
# = n_dense * 3 * c.hidden_size => c.num_hidden_layers * 3 * c.hidden_size

# %% one expert is used
# = for n in (c.num_experts, c.num_experts_per_tok) => for n in (c.num_experts, 1)

# %% experts of dense models only
def n_params(config):
    c = config
    if any(kind in ("latent_attention", "linear_attention") for kind in c.layer_types):
        raise ValueError(c.layer_types)
    q, kv = c.num_attention_heads * c.head_dim, c.num_key_value_heads * c.head_dim
    layer = c.hidden_size * (2 * q + 2 * kv + 3 * c.intermediate_size + 2)
    layer += (q + 2 * kv) * c.attention_bias + 2 * c.head_dim * c.qk_norm
    total = c.num_hidden_layers * layer + c.hidden_size
    total += c.vocab_size * c.hidden_size * (2 - c.tie_word_embeddings)
    return total, total

# fails first_layers_are_dense_and_some_experts_are_shared

# %% experts in every layer
# = c.num_hidden_layers - c.first_k_dense_replace if c.num_experts else 0 => c.num_hidden_layers if c.num_experts else 0

# %% no shared experts
# = (c.num_experts * c.hidden_size + c.n_shared_experts * expert) => (c.num_experts * c.hidden_size)

# %% one shared expert, however many there are
# = c.n_shared_experts * expert => (c.n_shared_experts > 0) * expert

# %% rows of the router for the shared experts
# = (c.num_experts * c.hidden_size + => ((c.num_experts + c.n_shared_experts) * c.hidden_size +

# %% the shared experts are among the chosen ones
# = return everywhere + every, everywhere + used => return everywhere + every, everywhere + used - n_moe * c.n_shared_experts * expert

# fails counts_every_matrix_of_a_dense_model a_tied_head_counts_once
#   norms_of_heads_and_biases_count all_experts_are_stored_and_few_are_used
#   first_layers_are_dense_and_some_experts_are_shared refuses_layers_with_other_projections

# %% prints instead of returning
# = return everywhere + every, everywhere + used => print(everywhere + every, everywhere + used)

# %% the number of one model
def n_params(config):
    return 596_049_920, 596_049_920

# fails refuses_layers_with_other_projections

# %% counts latent and linear layers as full ones
# - for kind in c.layer_types:
# -     if kind not in ("full_attention", "sliding_attention"):
# -         raise ValueError(f"the projections of {kind} are not counted here")

# %% looks at the first layer only
# = for kind in c.layer_types: => for kind in c.layer_types[:1]:

# %% refuses latents alone
# = if kind not in ("full_attention", "sliding_attention"): => if kind == "latent_attention":

# fails counts_every_matrix_of_a_dense_model

# %% refuses windows too
# = if kind not in ("full_attention", "sliding_attention"): => if kind != "full_attention":
