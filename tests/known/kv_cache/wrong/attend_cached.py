"""Wrong answers to `attend_cached`: edits of the reference, or the whole answer."""

# fails queries_see_the_past_and_not_their_future

# %% mask rows from 0
# = torch.arange(n_key - n_query, n_key, device=queries.device) => torch.arange(n_query)

# %% no mask: queries see their future
# - mask = torch.arange(n_key, device=queries.device) <= rows[:, None]
mask = torch.ones(n_query, n_key, dtype=torch.bool)

# %% a query does not see itself
# - mask = torch.arange(n_key, device=queries.device) <= rows[:, None]
mask = torch.arange(n_key) <= (rows[:, None] - 1).clamp(min=0)

# %% attends to the new tokens only
def attend_cached(queries, keys, values, past):
    n_new = queries.shape[2]
    attended = masked_attention(queries, keys, values, kit.causal_mask(n_new))
    if past is not None:
        keys = torch.cat([past[0], keys], dim=2)
        values = torch.cat([past[1], values], dim=2)
    return attended, (keys, values)

# %% shares KV heads in turns instead of in groups
# - return masked_attention(queries, keys, values, mask), (keys, values)
group_size = queries.shape[1] // keys.shape[1]
tiled = (part.repeat(1, group_size, 1, 1) for part in (keys, values))
return masked_attention(queries, *tiled, mask), (keys, values)

# %% computes in bfloat16
# - return masked_attention(queries, keys, values, mask), (keys, values)
half = (part.bfloat16() for part in (queries, keys, values))
return masked_attention(*half, mask), (keys, values)

# %% does not scale the scores
# - return masked_attention(queries, keys, values, mask), (keys, values)
wide = queries * queries.shape[-1] ** 0.5
return masked_attention(wide, keys, values, mask), (keys, values)

# fails new_keys_follow_the_cached_ones

# %% returns only the new keys and values
# - if past is not None:
# -     keys = torch.cat([past[0], keys], dim=2)
new = keys, values
if past is not None:
    keys = torch.cat([past[0], keys], dim=2)

# - return masked_attention(queries, keys, values, mask), (keys, values)
return masked_attention(queries, keys, values, mask), new

# %% returns keys and values swapped
# - return masked_attention(queries, keys, values, mask), (keys, values)
return masked_attention(queries, keys, values, mask), (values, keys)

# fails new_keys_follow_the_cached_ones queries_see_the_past_and_not_their_future

# %% new tokens before the cached ones
# = [past[0], keys] => [keys, past[0]]

# fails new_keys_follow_the_cached_ones queries_see_the_past_and_not_their_future
#   heads_are_cached_once_per_group nothing_passed_in_is_changed

# %% adds the new values to the cached ones
# = torch.cat([past[1], values], dim=2) => past[1] + values

# fails heads_are_cached_once_per_group

# %% caches heads repeated for the query heads
# - mask = torch.arange(n_key, device=queries.device) <= rows[:, None]
mask = torch.arange(n_key, device=queries.device) <= rows[:, None]
group_size = queries.shape[1] // keys.shape[1]
keys = keys.repeat_interleave(group_size, dim=1)
values = values.repeat_interleave(group_size, dim=1)

# fails nothing_passed_in_is_changed

# %% scales the queries in place
# - return masked_attention(queries, keys, values, mask), (keys, values)
scale = queries.shape[-1] ** 0.5
queries /= scale
return masked_attention(queries * scale, keys, values, mask), (keys, values)

# %% empties the old cache to free its memory
# - values = torch.cat([past[1], values], dim=2)
values = torch.cat([past[1], values], dim=2)
past[0].zero_(), past[1].zero_()
