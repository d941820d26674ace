"""Wrong answers to `longest_sequence`: edits of the reference, or the whole answer."""

# fails the_batch_shares_what_the_weights_leave an_overhead_comes_off_first

# %% batch forgotten
# = (batch_size * token_bytes) => token_bytes

# fails an_overhead_comes_off_first

# %% overhead forgotten
# - left_bytes = vram_bytes - model_bytes - overhead_bytes
left_bytes = vram_bytes - model_bytes if overhead_bytes < vram_bytes else 0

# fails the_batch_shares_what_the_weights_leave an_overhead_comes_off_first
#   a_token_fits_whole_or_not_at_all no_room_means_no_tokens

# %% weights forgotten
# = vram_bytes - model_bytes - overhead_bytes => vram_bytes - overhead_bytes

# fails an_overhead_comes_off_first a_token_fits_whole_or_not_at_all

# %% fractions of tokens
# = int(left_bytes // (batch_size * token_bytes)) => left_bytes / (batch_size * token_bytes)

# fails a_token_fits_whole_or_not_at_all

# %% divides in floats
# = left_bytes // (batch_size * token_bytes) => left_bytes / (batch_size * token_bytes)

# fails no_room_means_no_tokens

# %% negative lengths
# - return max(0, int(left_bytes // (batch_size * token_bytes)))
return left_bytes // (batch_size * token_bytes)

# fails refuses_an_empty_batch

# %% an empty batch divides by zero
# = batch_size <= 0 or token_bytes <= 0 => batch_size < 0 or token_bytes < 0

# %% refuses products alone, so two negative numbers pass
# = batch_size <= 0 or token_bytes <= 0 => batch_size * token_bytes <= 0

# fails the_batch_shares_what_the_weights_leave an_overhead_comes_off_first

# %% the batch divided out twice
# = batch_size * token_bytes => batch_size * batch_size * token_bytes

# %% the weights once for each sequence
# - left_bytes = vram_bytes - model_bytes - overhead_bytes
left_bytes = vram_bytes - model_bytes * (batch_size if vram_bytes > model_bytes else 1) - overhead_bytes

# fails an_overhead_comes_off_first

# %% the overhead once for each sequence
# = - overhead_bytes => - overhead_bytes * batch_size
