"""Wrong answers to `RingCache`: edits of the reference, or the whole answer."""

# fails a_new_token_sees_its_window

# %% a single token sees empty slots
# of: one token: the ring itself; a chunk: all slots, and the chunk after them
# = torch.tensor([[p >= 0 for p in held]]) => torch.ones(1, self.window, dtype=torch.bool)

# fails a_new_token_sees_its_window a_long_prompt_leaves_its_newest_tokens

# %% a single token does not see itself
# = distance >= 0 => distance >= int(len(new) == 1)

# fails a_new_token_sees_its_window each_token_of_a_chunk_sees_its_window
#   a_long_prompt_leaves_its_newest_tokens

# %% the window is one token too long
# = distance < window => distance <= window

# %% the window is one token too short
# = distance < window => distance < window - 1

# %% a token does not see itself
# = distance >= 0 => distance > 0

# %% the distance to the slot, not to the position
# = distance = new[:, None] - positions => distance = new[:, None] - positions % window

# %% all that comes back counts as in the window
# = (distance >= 0) & (distance < window) => distance >= 0

# fails a_new_token_sees_its_window each_token_of_a_chunk_sees_its_window
#   a_long_prompt_leaves_its_newest_tokens each_layer_has_its_own_tokens

# %% a mask of numbers
# - return *seen, (distance >= 0) & (distance < window)
return *seen, ((distance >= 0) & (distance < window)).float()

# fails a_new_token_sees_its_window each_token_of_a_chunk_sees_its_window

# %% empty slots are seen
# of: returns all slots as they were, with a mask of the empty ones, and the chunk
# = (p < 0) | (p > q) | (p <= q - window) => (p > q) | (p >= 0) & (p <= q - window)

# fails each_token_of_a_chunk_sees_its_window

# %% the chunk replaces keys before its first token has seen them
# - seen = [
# -     torch.cat([ring[layer, :, :, old], part], dim=2)
# -     for ring, part in ((self.keys, keys), (self.values, values))
# - ]
# - self.keys[layer, :, :, new[-window:] % window] = keys[:, :, -window:]
# - self.values[layer, :, :, new[-window:] % window] = values[:, :, -window:]
self.keys[layer, :, :, new[-window:] % window] = keys[:, :, -window:]
self.values[layer, :, :, new[-window:] % window] = values[:, :, -window:]
positions = positions[-window:]
seen = self.keys[layer][:, :, positions % window], self.values[layer][:, :, positions % window]

# %% old keys are read after the chunk was written
# = torch.cat([ring[layer, :, :, old], part], dim=2) => ring

# - self.values[layer, :, :, new[-window:] % window] = values[:, :, -window:]
self.values[layer, :, :, new[-window:] % window] = values[:, :, -window:]
seen = [
    torch.cat([ring[layer, :, :, old], part], dim=2)
    for ring, part in ((self.keys, keys), (self.values, values))
]

# %% no causal mask inside the chunk
# = (distance >= 0) & (distance < window) => distance < window

# %% the whole chunk has the window of its first token
# - return *seen, (distance >= 0) & (distance < window)
return *seen, (distance >= 0) & (new[0] - positions < window)

# %% the whole chunk has the window of its last token
# - return *seen, (distance >= 0) & (distance < window)
return *seen, (distance >= 0) & (distance < window) & (new[-1] - positions < window)

# %% the first token of a chunk sees nothing that is old
# - distance = new[:, None] - positions
distance = new[:, None] - positions
if len(new) > 1:
    distance = distance.masked_fill(positions < start, -1)

# fails a_new_token_sees_its_window each_token_of_a_chunk_sees_its_window
#   the_newest_tokens_lie_in_their_slots a_long_prompt_leaves_its_newest_tokens

# %% keys for values
# = ((self.keys, keys), (self.values, values)) => ((self.keys, keys), (self.values, keys))
# = values[:, :, -window:] => keys[:, :, -window:]

# %% each append begins in slot 0 again
# - self.keys[layer, :, :, new[-window:] % window] = keys[:, :, -window:]
# - self.values[layer, :, :, new[-window:] % window] = values[:, :, -window:]
n_kept = min(len(new), window)
self.keys[layer, :, :, :n_kept] = keys[:, :, -window:]
self.values[layer, :, :, :n_kept] = values[:, :, -window:]

# fails a_new_token_sees_its_window the_newest_tokens_lie_in_their_slots
#   a_long_prompt_leaves_its_newest_tokens

# %% wraps one slot late for decoded values
# = self.values[layer, :, :, new[-window:] % window] => self.values[layer, :, :, (new[-window:] + (len(new) == 1)) % window]

# fails each_token_of_a_chunk_sees_its_window the_newest_tokens_lie_in_their_slots

# %% shifts a short chunk back to fit before the end
# - self.keys[layer, :, :, new[-window:] % window] = keys[:, :, -window:]
# - self.values[layer, :, :, new[-window:] % window] = values[:, :, -window:]
slots = new[-window:] % window
if len(new) < window and int(slots[0]) + len(new) > window:
    slots = torch.arange(window - len(new), window)
self.keys[layer, :, :, slots] = keys[:, :, -window:]
self.values[layer, :, :, slots] = values[:, :, -window:]

# fails the_newest_tokens_lie_in_their_slots

# %% one slot more than the window
# = n_kv_heads, window, head_dim) => n_kv_heads, window + 1, head_dim)
# = n_layers, window = self.keys.shape[0], self.keys.shape[3] => n_layers, window = self.keys.shape[0], self.keys.shape[3] - 1

# fails the_newest_tokens_lie_in_their_slots a_long_prompt_leaves_its_newest_tokens

# %% the newest tokens stand in the order of their age
# of: keeps the newest tokens in order and rolls them into place
# = torch.roll(newest[part], end % self.window, dims=2) for => newest[part] for

# %% the newest tokens begin in slot 0
# of: keeps the newest tokens in order and rolls them into place
# = torch.roll(newest[part], end % self.window, dims=2) for => torch.roll(newest[part], min(end, self.window), dims=2) for

# %% keeps all tokens
class RingCache:
    def __init__(self, n_layers, batch, n_kv_heads, head_dim, window, dtype=torch.float32):
        self.keys = torch.zeros(n_layers, batch, n_kv_heads, 64, head_dim, dtype=dtype)
        self.values = torch.zeros_like(self.keys)
        self.length, self.window = 0, window

    def append(self, layer, keys, values):
        start, end = self.length, self.length + keys.shape[2]
        self.keys[layer, :, :, start:end] = keys
        self.values[layer, :, :, start:end] = values
        if layer == len(self.keys) - 1:
            self.length = end
        mask = torch.ones(end, end, dtype=torch.bool).tril().triu(1 - self.window)[start:]
        return self.keys[layer, :, :, :end], self.values[layer, :, :, :end], mask

# fails a_long_prompt_leaves_its_newest_tokens

# %% keeps the oldest tokens of a long prompt
# - self.keys[layer, :, :, new[-window:] % window] = keys[:, :, -window:]
# - self.values[layer, :, :, new[-window:] % window] = values[:, :, -window:]
self.keys[layer, :, :, new[:window] % window] = keys[:, :, :window]
self.values[layer, :, :, new[:window] % window] = values[:, :, :window]

# %% keeps the oldest tokens of a long prompt in the slots of the newest
# - self.keys[layer, :, :, new[-window:] % window] = keys[:, :, -window:]
# - self.values[layer, :, :, new[-window:] % window] = values[:, :, -window:]
self.keys[layer, :, :, new[-window:] % window] = keys[:, :, :window]
self.values[layer, :, :, new[-window:] % window] = values[:, :, :window]

# %% keeps the oldest values of a long prompt
# = values[:, :, -window:] => values[:, :, :window]

# %% writes a long chunk from the slot of its first token on
# - self.keys[layer, :, :, new[-window:] % window] = keys[:, :, -window:]
# - self.values[layer, :, :, new[-window:] % window] = values[:, :, -window:]
self.keys[layer, :, :, new[:window] % window] = keys[:, :, -window:]
self.values[layer, :, :, new[:window] % window] = values[:, :, -window:]

# fails length_counts_all_tokens a_long_prompt_leaves_its_newest_tokens

# %% counts only the tokens that it kept
# - self.length = end
self.length = start + min(end - start, window)

# fails each_layer_has_its_own_tokens

# %% all layers store their values in layer 0
# = self.values[layer, :, :, new[-window:] % window] => self.values[0, :, :, new[-window:] % window]

# %% the layers lie in reverse order
# of: keeps the newest tokens in order and rolls them into place
# - layers = zip(self.newest, self.ends)
layers = zip(self.newest[::-1], self.ends)

# %% all layers read the tokens of layer 0
# = torch.cat([ring[layer, :, :, old], part], dim=2) => torch.cat([ring[0, :, :, old], part], dim=2)

# fails each_layer_has_its_own_tokens length_counts_all_tokens

# %% length moves with every layer
# - if layer == n_layers - 1:
# -     self.length = end
self.length = end

# fails a_new_token_sees_its_window each_token_of_a_chunk_sees_its_window
#   the_newest_tokens_lie_in_their_slots a_long_prompt_leaves_its_newest_tokens
#   length_counts_all_tokens

# %% length does not move
# - if layer == n_layers - 1:
# -     self.length = end

# fails length_counts_all_tokens

# %% length moves with the first layer
# = self.length = 0 => self.length, self.lengths = 0, [0] * n_layers
# = start, end = self.length, self.length + keys.shape[2] => start, end = self.lengths[layer], self.lengths[layer] + keys.shape[2]

# - if layer == n_layers - 1:
# -     self.length = end
self.lengths[layer] = end
self.length = max(self.lengths)

# %% length is the number of filled slots
# of: keeps the newest tokens in order and rolls them into place
# = self.ends[-1]) => min(self.ends[-1], self.window))
