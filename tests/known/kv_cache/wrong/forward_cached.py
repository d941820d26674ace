"""Wrong answers to `forward_cached`: edits of the reference, or the whole answer."""

# fails positions_begin_at_the_length_of_the_cache

# %% positions from 0
# = start = cache.length => start = 0

# %% positions one too high
# = start = cache.length => start = cache.length + 1

# %% positions one too low
# = start = cache.length => start = cache.length - 1

# %% the position of the last token for all of them
# - positions = torch.arange(start, start + tokens.shape[1], device=tokens.device)
positions = torch.full((tokens.shape[1],), start + tokens.shape[1] - 1)

# %% queries at positions that are read after the append
# - x = block.merge(x, masked_attention(rotate(queries, positions), *seen))
positions = torch.arange(cache.length, cache.length + tokens.shape[1])
x = block.merge(x, masked_attention(rotate(queries, positions), *seen))

# %% queries at positions counted from the keys that come back
# - x = block.merge(x, masked_attention(rotate(queries, positions), *seen))
n_all = seen[0].shape[2]
of_queries = torch.arange(n_all - tokens.shape[1], n_all)
x = block.merge(x, masked_attention(rotate(queries, of_queries), *seen))

# fails each_layer_appends_once_in_order

# %% every layer appends as the first one
# = cache.append(layer, => cache.append(0,

# %% layers counted from 1
# = cache.append(layer, => cache.append(layer + 1,

# %% layers counted from the last one
# = cache.append(layer, => cache.append(len(model.blocks) - 1 - layer,

# fails rotated_keys_and_plain_values_are_appended

# %% appends keys that are not rotated
# = rotate(keys, positions), values) => keys, values)

# %% rotates the values, too
# = rotate(keys, positions), values) => rotate(keys, positions), rotate(values, positions))

# %% appends values and keys
# = rotate(keys, positions), values) => values, rotate(keys, positions))

# %% rotates values in place of keys
# = rotate(keys, positions), values) => keys, rotate(values, positions))

# %% rotates keys twice
# = rotate(keys, positions), values) => rotate(rotate(keys, positions), positions), values)

# fails queries_attend_to_what_append_returns

# %% queries are not rotated
# = masked_attention(rotate(queries, positions), *seen) => masked_attention(queries, *seen)

# %% rotates queries twice
# = rotate(queries, positions) => rotate(rotate(queries, positions), positions)

# %% no mask
# = *seen) => *seen[:2], seen[2] | True)

# %% a causal mask of its own
# - x = block.merge(x, masked_attention(rotate(queries, positions), *seen))
n_new, n_all = tokens.shape[1], seen[0].shape[2]
mask = torch.ones(n_new, n_all, dtype=torch.bool).tril(n_all - n_new)
x = block.merge(x, masked_attention(rotate(queries, positions), *seen[:2], mask))

# %% attends to the new tokens only
# = *seen) => rotate(keys, positions), values, kit.causal_mask(tokens.shape[1]))

# %% attends to what the first layer got back
# - seen = cache.append(layer, rotate(keys, positions), values)
mine = cache.append(layer, rotate(keys, positions), values)
seen = mine if layer == 0 else seen

# fails positions_begin_at_the_length_of_the_cache rotated_keys_and_plain_values_are_appended
#   queries_attend_to_what_append_returns

# %% rotates nothing
# = rotate(keys, positions), values) => keys, values)
# = masked_attention(rotate(queries, positions), *seen) => masked_attention(queries, *seen)

# %% appends plain keys, and rotates all keys that come back
# = rotate(keys, positions), values) => keys, values)

# - x = block.merge(x, masked_attention(rotate(queries, positions), *seen))
every = rotate(seen[0], torch.arange(seen[0].shape[2]))
x = block.merge(x, masked_attention(rotate(queries, positions), every, *seen[1:]))

# fails logits_are_those_of_the_whole_model

# %% all blocks read the embedding
# - queries, keys, values = block.project(x)
embedded = x if layer == 0 else embedded
queries, keys, values = block.project(embedded)

# %% adds what attention found without the block
# - x = block.merge(x, masked_attention(rotate(queries, positions), *seen))
found = masked_attention(rotate(queries, positions), *seen)
block.merge(x, found)
x = x + found.transpose(1, 2).flatten(2)

# %% logits of the last token only
# = model.unembed(x) => model.unembed(x[:, -1:])

# %% the axis of the tokens is missing
# = model.unembed(x) => model.unembed(x)[:, -1]
