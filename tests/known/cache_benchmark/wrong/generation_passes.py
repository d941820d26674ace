"""Wrong answers to `generation_passes`: edits of the reference, or the whole answer."""

# fails every_pass_makes_one_token

# %% a pass for the last token too
# = range(n_new) => range(n_new + 1)

# %% a prefill also if no token is made, with a cache
def generation_passes(n_prompt, n_new, use_cache):
    if use_cache:
        return [(n_prompt, 0)] + [(1, n_prompt + i) for i in range(n_new - 1)]
    return [(n_prompt + i, 0) for i in range(n_new)]

# %% a prefill also if no token is made, without a cache
def generation_passes(n_prompt, n_new, use_cache):
    if use_cache:
        return [(1, n_prompt + i - 1) if i else (n_prompt, 0) for i in range(n_new)]
    return [(n_prompt, 0)] + [(n_prompt + i, 0) for i in range(1, n_new)]

# fails without_a_cache_all_is_fed_again with_a_cache_one_token_is_fed

# %% the prefill makes no token
# = n_prompt + n_made => n_prompt + n_made + 1

# fails without_a_cache_all_is_fed_again

# %% always with a cache
# = use_cache and n_made => n_made

# %% the prompt alone in every pass
# - passes.append((n_tokens - n_cached, n_cached))
passes.append((n_tokens - n_cached, n_cached) if use_cache else (n_prompt, 0))

# fails with_a_cache_one_token_is_fed

# %% cached tokens do not grow
def generation_passes(n_prompt, n_new, use_cache):
    if not use_cache:
        return [(n_prompt + i, 0) for i in range(n_new)]
    return [(1, n_prompt) if i else (n_prompt, 0) for i in range(n_new)]

# %% the token just made counts as cached
def generation_passes(n_prompt, n_new, use_cache):
    if not use_cache:
        return [(n_prompt + i, 0) for i in range(n_new)]
    return [(1, n_prompt + i) if i else (n_prompt, 0) for i in range(n_new)]

# fails every_pass_makes_one_token without_a_cache_all_is_fed_again
#   with_a_cache_one_token_is_fed

# %% everything in one pass
def generation_passes(n_prompt, n_new, use_cache):
    return [(n_prompt + n_new - 1, 0)]
