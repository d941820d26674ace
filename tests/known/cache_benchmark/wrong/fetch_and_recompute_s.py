"""Wrong answers to `fetch_and_recompute_s`: edits of the reference, or the whole answer."""

# fails a_fetch_brings_the_whole_cache

# %% one token
# = fetch_s = n_tokens * kv_bytes => fetch_s = kv_bytes

# %% one layer
# = / link_bandwidth => / link_bandwidth / work.shape.n_layers

# %% from the GPU's own memory
# = / link_bandwidth => / machine.bandwidth

# %% always 2 bytes
# = (work.shape, width) / => (work.shape, 2) /

# %% the factor for both
# = fetch_s = n_tokens => fetch_s = factor * n_tokens

# fails recomputing_takes_a_prefill

# %% the floor
# = factor * pass_floor => pass_floor

# %% a decode step
# = n_tokens, dtype=dtype => 1, n_tokens - 1, dtype=dtype

# %% divided by the factor
# = factor * pass_floor => 1 / factor * pass_floor

# %% always float16
# = n_tokens, dtype=dtype => n_tokens

# %% moving alone
# = .seconds => .moving_s

# %% computing alone
# = .seconds => .computing_s

# fails no_tokens_and_no_link_are_refused

# %% any link
# = n_tokens < 1 or not link_bandwidth > 0 => n_tokens < 1

# %% a link backwards
# = not link_bandwidth > 0 => not link_bandwidth

# fails a_fetch_brings_the_whole_cache recomputing_takes_a_prefill

# %% changed places
# = return fetch_s, factor * pass_floor(machine, work, n_tokens, dtype=dtype).seconds => return factor * pass_floor(machine, work, n_tokens, dtype=dtype).seconds, fetch_s
