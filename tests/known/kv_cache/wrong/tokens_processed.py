"""Wrong answers to `tokens_processed`: edits of the reference, or the whole answer."""

# fails with_a_cache_each_token_counts_once

# %% feeds the last token too
# = n_prompt + n_new - 1 => n_prompt + n_new

# %% the prompt costs nothing with a cache
# = n_prompt + n_new - 1 => n_new

# fails without_a_cache_each_step_counts_everything

# %% each step processes the final length
# = n_new * n_prompt + n_new * (n_new - 1) // 2 => n_new * (n_prompt + n_new)

# %% each step counts the token it makes
# = n_new * (n_new - 1) => n_new * (n_new + 1)

# %% the prompt is processed only once without a cache
# = n_new * n_prompt => n_prompt

# fails no_token_costs_nothing

# %% no new token still costs the prompt
# = return 0 => return n_prompt

# fails with_a_cache_each_token_counts_once without_a_cache_each_step_counts_everything

# %% the two ways swapped
# = if cached: => if not cached:
