"""Wrong answers to `kv_cache_bytes`: edits of the reference, or the whole answer."""

# fails one_token_is_the_unit

# %% keys and values counted twice
# = batch_size * n_tokens => 2 * batch_size * n_tokens

# fails grows_with_every_token

# %% quadratic, as attention's work is
# = batch_size * n_tokens => batch_size * n_tokens**2

# fails every_sequence_keeps_its_own

# %% batch forgotten
# = batch_size * n_tokens => n_tokens

# fails hands_the_width_on

# %% width not handed on
# = kv_bytes_per_token(shape, bytes_per_number) => kv_bytes_per_token(shape)

# fails one_token_is_the_unit grows_with_every_token

# %% the last token left out
# = batch_size * n_tokens => batch_size * max(0, n_tokens - 1)

# fails one_token_is_the_unit grows_with_every_token every_sequence_keeps_its_own hands_the_width_on

# %% a constant
# = batch_size * n_tokens * kv_bytes_per_token(shape, bytes_per_number) => 131_072

# fails every_sequence_keeps_its_own hands_the_width_on

# %% a batch of 2-byte numbers only
# = batch_size * n_tokens => (batch_size if bytes_per_number == 2 else 1) * n_tokens
