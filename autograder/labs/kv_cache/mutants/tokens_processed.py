"""Wrong answers to `tokens_processed`: edits of the reference, or the whole answer."""

# fails with_a_cache_each_token_counts_once

# %% feeds the last token too
# - return n_prompt + n_new - 1
return n_prompt + n_new

# %% the prompt costs nothing with a cache
# - return n_prompt + n_new - 1
return n_new

# fails without_a_cache_each_step_counts_everything

# %% each step processes the final length
# - return n_new * n_prompt + n_new * (n_new - 1) // 2
return n_new * (n_prompt + n_new)

# %% each step counts the token it makes
# - return n_new * n_prompt + n_new * (n_new - 1) // 2
return n_new * n_prompt + n_new * (n_new + 1) // 2

# %% the prompt is processed only once without a cache
# - return n_new * n_prompt + n_new * (n_new - 1) // 2
return n_prompt + n_new * (n_new - 1) // 2

# fails no_token_costs_nothing

# %% no new token still costs the prompt
# - return 0
return n_prompt

# fails with_a_cache_each_token_counts_once without_a_cache_each_step_counts_everything

# %% the two ways swapped
# - if cached:
# -     return n_prompt + n_new - 1
if not cached:
    return n_prompt + n_new - 1
