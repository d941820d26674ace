"""Wrong answers to `kv_cache_bytes`: edits of the reference, or the whole answer."""

# fails one_token_is_the_unit

# %% keys and values counted twice
# - return batch_size * n_tokens * kv_bytes_per_token(shape, bytes_per_number)
return 2 * batch_size * n_tokens * kv_bytes_per_token(shape, bytes_per_number)

# fails grows_with_every_token

# %% quadratic, as attention's work is
# - return batch_size * n_tokens * kv_bytes_per_token(shape, bytes_per_number)
return batch_size * n_tokens**2 * kv_bytes_per_token(shape, bytes_per_number)

# fails every_sequence_keeps_its_own

# %% batch forgotten
# - return batch_size * n_tokens * kv_bytes_per_token(shape, bytes_per_number)
return n_tokens * kv_bytes_per_token(shape, bytes_per_number)

# fails hands_the_width_on

# %% width not handed on
# - return batch_size * n_tokens * kv_bytes_per_token(shape, bytes_per_number)
return batch_size * n_tokens * kv_bytes_per_token(shape)

# fails one_token_is_the_unit grows_with_every_token

# %% the last token left out
# - return batch_size * n_tokens * kv_bytes_per_token(shape, bytes_per_number)
return batch_size * max(0, n_tokens - 1) * kv_bytes_per_token(shape, bytes_per_number)

# fails one_token_is_the_unit grows_with_every_token every_sequence_keeps_its_own
#   hands_the_width_on

# %% a constant
# - return batch_size * n_tokens * kv_bytes_per_token(shape, bytes_per_number)
return 131_072
