"""Wrong answers to `forward_cached`: edits of the reference, or the whole answer."""

# fails positions_start_after_the_cached_tokens

# %% positions from 0
# - positions = torch.arange(n_past, n_past + tokens.shape[1], device=tokens.device)
positions = torch.arange(tokens.shape[1])

# %% positions one too high after the prompt
# = past[0][0].shape[2] => past[0][0].shape[2] + 1

# %% counts layers instead of cached tokens
# = past[0][0].shape[2] => len(past)

# %% counts KV heads instead of cached tokens
# = past[0][0].shape[2] => past[0][0].shape[1]

# fails each_layer_gets_its_own_past

# %% every layer gets the first layer's past
# = past[layer] => past[0]

# %% layers get the past in reverse
# = past[layer] => past[-1 - layer]

# %% the past of a layer is what the layer below has just cached
# - layer_past = None if past is None else past[layer]
layer_past = cache[-1] if cache else None if past is None else past[0]

# %% never passes the past on
# = None if past is None else past[layer] => None

# fails the_cache_has_one_entry_per_layer

# %% returns the last layer's cache only
# = model.unembed(x), cache => model.unembed(x), layer_cache

# %% returns new keys and values without the cached ones
# = cache.append(layer_cache) => cache.append((keys, values))

# %% appends the new entries behind the old list
# = cache = [] => cache = list(past or [])

# fails logits_are_those_of_the_uncached_model

# %% all blocks read the embedding
# - queries, keys, values = block.project(x)
embedded = x if layer == 0 else embedded
queries, keys, values = block.project(embedded)

# %% what attention found does not go through the block
# = block.merge(x, attended) => x + attended.transpose(1, 2).flatten(2)

# %% logits of the last token only
# = model.unembed(x) => model.unembed(x[:, -1:])
