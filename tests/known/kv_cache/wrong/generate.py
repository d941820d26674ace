"""Wrong answers to `generate`: edits of the reference, or the whole answer."""

# fails one_forward_per_new_token

# %% one forward too many
# - return tokens
forward(fed)
return tokens

# %% prefills even when nothing is wanted
# - fed = tokens
fed = tokens
if n_new == 0:
    forward(tokens)

# fails the_prompt_once_then_single_tokens

# %% feeds the whole sequence each step
# = forward(fed) => forward(tokens)

# %% feeds the last two tokens each step
# = forward(fed) => forward(tokens if fed is tokens else tokens[:, -2:])

# fails tokens_continue_the_prompt_greedily sampled_tokens_equal_the_uncached_ones

# %% returns the new tokens without the prompt
# = return tokens => return tokens[:, tokens.shape[1] - n_new :]

# %% picks from the first position's logits
# = forward(fed)[:, -1] => forward(fed)[:, 0]

# %% gives every row the first row's token
# = pick(forward(fed)[:, -1])[:, None] => pick(forward(fed)[:, -1])[:1].repeat(len(tokens))[:, None]

# fails tokens_continue_the_prompt_greedily

# %% samples unless told otherwise
# = pick: Pick = greedy, => pick: Pick = kit.sampler(torch.Generator()),

# fails sampled_tokens_equal_the_uncached_ones

# %% ignores pick
# = pick(forward(fed)[:, -1])[:, None] => forward(fed)[:, -1].argmax(-1, keepdim=True)

# %% picks twice for each token
# - fed = pick(forward(fed)[:, -1])[:, None]
logits = forward(fed)[:, -1]
fed = pick(logits)[:, None]
pick(logits)

# fails the_prompt_stays_as_it_is

# %% writes each new token into the caller's prompt
# - fed = tokens
caller, tokens = tokens, tokens.clone()
fed = tokens

# - fed = pick(forward(fed)[:, -1])[:, None]
picked = pick(forward(fed)[:, -1])[:, None]
fed = caller[:, -1:]
fed[:] = picked

# fails what_exceeds_the_context_is_refused

# %% counts a position for the last new token
# = n_prompt + n_new - 1 => n_prompt + n_new

# %% limits the new tokens alone
# = n_prompt + n_new - 1 => n_new

# %% stops at the limit in silence
# = n_context is not None and n_positions > n_context => False

# - fed = pick(forward(fed)[:, -1])[:, None]
if n_context is not None and tokens.shape[1] > n_context:
    break
fed = pick(forward(fed)[:, -1])[:, None]

# %% notices the limit when it is reached
# = n_context is not None and n_positions > n_context => False

# - fed = pick(forward(fed)[:, -1])[:, None]
if n_context is not None and tokens.shape[1] > n_context:
    raise ValueError("the context is full")
fed = pick(forward(fed)[:, -1])[:, None]

# %% a context of 0 is no limit
# = n_context is not None and n_positions > n_context => n_context and n_positions > n_context
