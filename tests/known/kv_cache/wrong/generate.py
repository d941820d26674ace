"""Wrong answers to `generate`: edits of the reference, or the whole answer."""

# fails one_forward_per_new_token

# %% one forward too many
# - return tokens
forward(fed, past)
return tokens

# %% prefills even when nothing is wanted
# - fed, past = tokens, None
fed, past = tokens, None
if n_new == 0:
    forward(tokens, None)

# fails the_prompt_once_then_single_tokens

# %% feeds the whole sequence each step
# = forward(fed, past) => forward(tokens, past)

# %% feeds the last two tokens each step
# = forward(fed, past) => forward(tokens if past is None else tokens[:, -2:], past)

# fails the_cache_is_handed_on

# %% never hands the cache on
# = forward(fed, past) => forward(fed, None)

# %% always hands on the prompt's cache
# - logits, past = forward(fed, past)
logits, cache = forward(fed, past)
past = past or cache

# %% collects all caches in one list
# - logits, past = forward(fed, past)
logits, cache = forward(fed, past)
past = (past or []) + cache

# fails tokens_continue_the_prompt_greedily sampled_tokens_equal_the_uncached_ones

# %% returns the new tokens without the prompt
# = return tokens => return tokens[:, tokens.shape[1] - n_new :]

# %% picks from the first position's logits
# = logits[:, -1] => logits[:, 0]

# %% gives every row the first row's token
# = pick(logits[:, -1])[:, None] => pick(logits[:, -1])[:1].expand(len(tokens))[:, None]

# fails tokens_continue_the_prompt_greedily

# %% samples unless told otherwise
# = pick: Pick = greedy, => pick: Pick = kit.sampler(torch.Generator()),

# fails sampled_tokens_equal_the_uncached_ones

# %% ignores pick
# = pick(logits[:, -1])[:, None] => logits[:, -1].argmax(-1, keepdim=True)

# %% picks twice for each token
# - fed = pick(logits[:, -1])[:, None]
fed = pick(logits[:, -1])[:, None]
pick(logits[:, -1])

# fails the_prompt_stays_as_it_is

# %% writes each new token into the caller's prompt
# - fed, past = tokens, None
caller, tokens = tokens, tokens.clone()
fed, past = tokens, None

# - fed = pick(logits[:, -1])[:, None]
fed = caller[:, -1:]
fed[:] = pick(logits[:, -1])[:, None]

# fails what_exceeds_the_context_is_refused

# %% counts a position for the last new token
# = n_prompt + n_new - 1 => n_prompt + n_new

# %% limits the new tokens alone
# = n_prompt + n_new - 1 => n_new

# %% stops at the limit in silence
# = n_context is not None and n_positions > n_context => False

# - logits, past = forward(fed, past)
if n_context is not None and tokens.shape[1] > n_context:
    break
logits, past = forward(fed, past)

# %% notices the limit when it is reached
# = n_context is not None and n_positions > n_context => False

# - logits, past = forward(fed, past)
if n_context is not None and tokens.shape[1] > n_context:
    raise ValueError("the context is full")
logits, past = forward(fed, past)

# %% a context of 0 is no limit
# = n_context is not None and n_positions > n_context => n_context and n_positions > n_context
