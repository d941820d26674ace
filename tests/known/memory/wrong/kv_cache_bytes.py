"""Wrong answers to `kv_cache_bytes`: edits of the reference, or the whole answer."""

# fails full_layers_store_a_key_and_a_value_per_kv_head each_layer_counts_by_its_own_kind

# %% query heads
# = config.num_key_value_heads * config.head_dim => config.num_attention_heads * config.head_dim

# %% hidden_size divided among the heads
# = config.num_key_value_heads * config.head_dim => config.num_key_value_heads * (config.hidden_size // config.num_attention_heads)

# %% hidden_size for all KV heads
# = config.num_key_value_heads * config.head_dim => config.hidden_size

# %% keys without values
# = n_kept * 2 * => n_kept *

# %% queries kept as well
# = n_kept * 2 * => n_kept * 3 *

# fails full_layers_store_a_key_and_a_value_per_kv_head

# %% query heads where no layer has a window
# - n_numbers += n_kept * 2 * config.num_key_value_heads * config.head_dim
is_plain = len(set(config.layer_types)) == 1 and not is_window
n_heads = config.num_attention_heads if is_plain else config.num_key_value_heads
n_numbers += n_kept * 2 * n_heads * config.head_dim

# fails a_window_keeps_its_last_tokens each_layer_counts_by_its_own_kind

# %% windows ignored
# = min(n_tokens, config.sliding_window) if is_window else n_tokens => n_tokens

# %% a window of one token less
# = min(n_tokens, config.sliding_window) => min(n_tokens, config.sliding_window - 1)

# %% the whole window from the first token on
# = min(n_tokens, config.sliding_window) => config.sliding_window

# %% only the tokens outside of the window
# = min(n_tokens, config.sliding_window) => max(n_tokens - config.sliding_window, 0)

# fails full_layers_store_a_key_and_a_value_per_kv_head each_layer_counts_by_its_own_kind

# %% a window for every layer of a config that names one
# = is_window = kind == "sliding_attention" => is_window = config.sliding_window > 0

# fails a_window_keeps_its_last_tokens

# %% whole windows in models with windows alone
# - is_window = kind == "sliding_attention"
is_window = kind == "sliding_attention" and "full_attention" in config.layer_types

# fails a_latent_is_one_vector_per_token each_layer_counts_by_its_own_kind

# %% latents doubled
# = n_tokens * (config.kv_lora_rank + config.qk_rope_head_dim) => 2 * n_tokens * (config.kv_lora_rank + config.qk_rope_head_dim)

# %% latents without their position
# = (config.kv_lora_rank + config.qk_rope_head_dim) => config.kv_lora_rank

# %% latents for every head
# = (config.kv_lora_rank + config.qk_rope_head_dim) => (config.kv_lora_rank + config.qk_rope_head_dim) * config.num_attention_heads

# %% latents as grouped heads
# = n_tokens * (config.kv_lora_rank + config.qk_rope_head_dim) => n_tokens * 2 * config.num_key_value_heads * config.head_dim

# fails a_latent_is_one_vector_per_token

# %% latents doubled where all layers have them
# = (config.kv_lora_rank + config.qk_rope_head_dim) => (config.kv_lora_rank + config.qk_rope_head_dim) * (1 + (len(set(config.layer_types)) == 1))

# fails a_linear_layer_keeps_one_state each_layer_counts_by_its_own_kind
#   every_sequence_has_its_own

# %% no states
# - n_bytes += config.state_bytes
continue

# fails a_linear_layer_keeps_one_state each_layer_counts_by_its_own_kind

# %% a state for each token
# = n_bytes += config.state_bytes => n_bytes += n_tokens * config.state_bytes

# %% states multiplied by the bytes per number
# = n_bytes += config.state_bytes => n_numbers += config.state_bytes

# %% one state for the whole model
# = n_bytes += config.state_bytes => n_bytes = config.state_bytes

# fails a_linear_layer_keeps_one_state

# %% no state at 0 tokens
# = n_bytes += config.state_bytes => n_bytes += config.state_bytes if n_tokens else 0

# %% narrow states
# = n_bytes += config.state_bytes => n_bytes += config.state_bytes * min(1, bytes_per_number)

# fails each_layer_counts_by_its_own_kind

# %% the first layer stands for all
# = for kind in config.layer_types: => for kind in config.layer_types[:1] * config.num_hidden_layers:

# %% the last layer stands for all
# = for kind in config.layer_types: => for kind in config.layer_types[-1:] * config.num_hidden_layers:

# fails every_sequence_has_its_own

# %% batch forgotten
# = return batch_size * ( => return (

# %% one window for the batch
# - if kind == "linear_attention":
# -     n_bytes += config.state_bytes
if kind == "sliding_attention":
    n_numbers += (
        min(n_tokens * batch_size, config.sliding_window) / batch_size
        * 2 * config.num_key_value_heads * config.head_dim
    )
elif kind == "linear_attention":
    n_bytes += config.state_bytes

# %% one state for the batch
# = return batch_size * (int(n_numbers * bytes_per_number) + n_bytes) => return batch_size * int(n_numbers * bytes_per_number) + n_bytes

# fails numbers_may_be_wider_or_narrower

# %% half a byte of each token is lost
# - n_numbers += n_tokens * (config.kv_lora_rank + config.qk_rope_head_dim)
n_bytes += n_tokens * int((config.kv_lora_rank + config.qk_rope_head_dim) * bytes_per_number)

# %% half a byte rounded down
# = int(n_numbers * bytes_per_number) => int(n_numbers * int(bytes_per_number))

# %% always 2 bytes
# = int(n_numbers * bytes_per_number) => int(n_numbers * 2)

# fails full_layers_store_a_key_and_a_value_per_kv_head a_latent_is_one_vector_per_token
#   a_window_keeps_its_last_tokens each_layer_counts_by_its_own_kind
#   a_linear_layer_keeps_one_state every_sequence_has_its_own numbers_may_be_wider_or_narrower

# %% a constant
def kv_cache_bytes(config, n_tokens, batch_size=1, bytes_per_number=2):
    return 131_072

# %% prints instead of returning
def kv_cache_bytes(config, n_tokens, batch_size=1, bytes_per_number=2):
    print(2 * config.num_hidden_layers * config.num_key_value_heads * config.head_dim)

# fails full_layers_store_a_key_and_a_value_per_kv_head a_latent_is_one_vector_per_token
#   each_layer_counts_by_its_own_kind

# %% bits
# = int(n_numbers * bytes_per_number) => int(8 * n_numbers * bytes_per_number)

# fails full_layers_store_a_key_and_a_value_per_kv_head a_latent_is_one_vector_per_token
#   a_window_keeps_its_last_tokens each_layer_counts_by_its_own_kind
#   numbers_may_be_wider_or_narrower

# %% the last token left out
# - n_numbers = n_bytes = 0
n_numbers, n_bytes, n_tokens = 0, 0, max(0, n_tokens - 1)
