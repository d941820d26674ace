"""Wrong answers to `generation_cost`: edits of the reference, or the whole answer."""

# fails each_step_attends_to_what_is_cached

# %% attention to nothing
# = work.flops(n_fed, n_cached, 1) => work.flops(n_fed, 0, 1)

# fails prefill_needs_one_position_of_logits

# %% logits for the whole prompt with a cache
# = work.flops(n_fed, n_cached, 1) => work.flops(n_fed, n_cached, n_fed if use_cache else 1)

# fails prefill_needs_one_position_of_logits without_a_cache_every_pass_is_a_prefill

# %% logits for every token
# = work.flops(n_fed, n_cached, 1) => work.flops(n_fed, n_cached, n_fed)

# fails without_a_cache_every_pass_is_a_prefill

# %% uncached passes do not grow
# = work.flops(n_fed, n_cached, 1) => work.flops(n_fed if use_cache else n_prompt, n_cached, 1)

# fails every_pass_moves_weights_and_cache

# %% weights once for all
# = return flops, moved_bytes => return flops, work.moved_bytes(n_prompt + n_new - 1, 1, width)

# %% new tokens have no keys
# = n_cached + n_fed => n_cached

# fails every_pass_moves_weights_and_cache the_width_of_numbers_is_an_argument

# %% the cache alone is moved
# - moved_bytes += work.moved_bytes(n_cached + n_fed, 1, width)
moved_bytes += work.moved_bytes(n_cached + n_fed, 1, width) - work.moved_bytes(0, 1, width)

# fails the_width_of_numbers_is_an_argument

# %% always 16 bits
# = work.moved_bytes(n_cached + n_fed, 1, width) => work.moved_bytes(n_cached + n_fed, 1, 2)

# fails each_step_attends_to_what_is_cached prefill_needs_one_position_of_logits
#   without_a_cache_every_pass_is_a_prefill every_pass_moves_weights_and_cache
#   the_width_of_numbers_is_an_argument

# %% bytes first
# = return flops, moved_bytes => return moved_bytes, flops
