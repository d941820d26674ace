"""Right answers to `attend_cached`, written differently."""

# %% PyTorch's attention, repeated heads, a list for the cache
def attend_cached(queries, keys, values, past):
    cache = [keys, values] if past is None else [
        torch.concat([old, new], 2) for old, new in zip(past, (keys, values))
    ]
    n_query, n_key = queries.shape[2], cache[0].shape[2]
    mask = torch.tril(torch.ones(n_query, n_key), diagonal=n_key - n_query).bool()
    repeats = queries.shape[1] // keys.shape[1]
    shared = [part.repeat_interleave(repeats, dim=1) for part in cache]
    attended = torch.nn.functional.scaled_dot_product_attention(queries, *shared, attn_mask=mask)
    return attended, cache

# %% preallocates, and attends one query after the other
def attend_cached(queries, keys, values, past):
    n_past = past[0].shape[2] if past else 0
    b, h_kv, n_new, d = keys.shape
    all_keys = torch.empty(b, h_kv, n_past + n_new, d, dtype=keys.dtype)
    all_values = torch.empty_like(all_keys)
    if past:
        all_keys[:, :, :n_past], all_values[:, :, :n_past] = past
    found = []
    for i in range(n_new):
        end = n_past + i + 1
        all_keys[:, :, end - 1] = keys[:, :, i]
        all_values[:, :, end - 1] = values[:, :, i]
        seen = torch.ones(1, end, dtype=torch.bool)
        one = queries[:, :, i : i + 1]
        found += [masked_attention(one, all_keys[:, :, :end], all_values[:, :, :end], seen)]
    return torch.cat(found, dim=2), (all_keys, all_values)

# %% adds a mask of minus infinity, in double precision
def attend_cached(queries, keys, values, past):
    if past is not None:
        keys, values = (torch.cat(pair, dim=2) for pair in zip(past, (keys, values)))
    hidden = torch.full((queries.shape[2], keys.shape[2]), float("-inf"))
    hidden = hidden.triu(keys.shape[2] - queries.shape[2] + 1)
    groups = queries.reshape(len(queries), keys.shape[1], -1, *queries.shape[2:]).double()
    scores = torch.einsum("bkgqd,bksd->bkgqs", groups, keys.double())
    weights = torch.softmax(scores / queries.shape[-1] ** 0.5 + hidden, dim=-1)
    attended = torch.einsum("bkgqs,bksd->bkgqd", weights, values.double())
    return attended.reshape(queries.shape).to(queries.dtype), (keys, values)
