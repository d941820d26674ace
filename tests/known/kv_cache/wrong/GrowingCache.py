"""Wrong answers to `GrowingCache`: edits of the reference, or the whole answer."""

# fails a_new_token_sees_no_later_one

# %% mask rows from 0
# = positions[start:, None] => positions[: end - start, None]

# %% no mask: new tokens see those after them
# = positions <= positions[start:, None] => positions.expand(end - start, -1) >= 0

# %% a new token does not see itself
# = positions <= positions[start:, None] => positions < positions[start:, None]

# %% the mask of the new tokens alone
# = positions <= positions[start:, None] => kit.causal_mask(end - start)

# %% True where a key is hidden
# = positions <= positions[start:, None] => positions > positions[start:, None]

# %% a mask of numbers: 0 where a key is seen, minus infinity where it is hidden
# - return keys, values, positions <= positions[start:, None]
hidden = torch.full((end - start, end), float("-inf"))
return keys, values, hidden.triu(start + 1)

# %% the rows begin at length when the last layer has moved it
# - start, end = self.length, keys.shape[2]
end = keys.shape[2]

# = positions[start:, None] => positions[self.length :, None]

# fails new_tokens_follow_the_cached_ones

# %% new tokens before the cached ones
# = torch.cat([past[0], keys], dim=2) => torch.cat([keys, past[0]], dim=2)
# = torch.cat([past[1], values], dim=2) => torch.cat([values, past[1]], dim=2)

# %% returns keys and values swapped
# = return keys, values, positions => return values, keys, positions

# %% adds the new values to the last cached one
# - values = torch.cat([past[1], values], dim=2)
values = torch.cat([past[1], values + past[1][:, :, -1:]], dim=2)

# fails new_tokens_follow_the_cached_ones each_layer_has_tokens_of_its_own
#   a_new_token_sees_no_later_one each_kv_head_is_cached_once no_tensor_is_changed
#   length_moves_with_the_last_layer

# %% keeps the new tokens only
# - past = self.layers[layer]
past = None

# fails each_layer_has_tokens_of_its_own length_moves_with_the_last_layer
#   a_new_token_sees_no_later_one

# %% takes the past of the layer before
# = past = self.layers[layer] => past = self.layers[layer - 1]

# %% one pair for all layers
# = past = self.layers[layer] => past = self.layers[0]
# = self.layers[layer] = keys, values => self.layers[0] = keys, values

# fails length_moves_with_the_last_layer

# %% every layer moves length
# - start, end = self.length, keys.shape[2]
start, end = 0 if past is None else past[0].shape[2], keys.shape[2]

# - if layer == len(self.layers) - 1:
# -     self.length = end
self.length += end - start

# %% the first layer moves length
# - start, end = self.length, keys.shape[2]
start, end = 0 if past is None else past[0].shape[2], keys.shape[2]

# = layer == len(self.layers) - 1 => layer == 0

# %% length counts the appends
# - start, end = self.length, keys.shape[2]
start, end = 0 if past is None else past[0].shape[2], keys.shape[2]

# = self.length = end => self.length += 1

# fails length_moves_with_the_last_layer a_new_token_sees_no_later_one

# %% every layer moves length, and the mask follows it
# - if layer == len(self.layers) - 1:
# -     self.length = end
self.length += end - start

# fails each_kv_head_is_cached_once

# %% stores two copies of each head
# - past = self.layers[layer]
past = self.layers[layer]
keys, values = keys.repeat_interleave(2, dim=1), values.repeat_interleave(2, dim=1)

# fails no_tensor_is_changed

# %% empties the old tensors to free their memory
# - values = torch.cat([past[1], values], dim=2)
values = torch.cat([past[1], values], dim=2)
past[0].zero_(), past[1].zero_()

# %% writes the new keys over those that were passed in
# - past = self.layers[layer]
past = self.layers[layer]
whole, keys = keys, keys.clone()
whole.zero_()
