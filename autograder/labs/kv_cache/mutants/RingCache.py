"""Wrong answers to `RingCache`: edits of the reference, or the whole answer."""

# fails positions_name_the_token_in_each_slot decoding_past_the_end_keeps_the_window
#   a_chunk_may_cross_the_end a_long_prompt_leaves_its_newest_tokens the_mask_shows_the_window

# %% positions modulo the window
# - self.positions[slots] = positions
self.positions[slots] = positions % window

# %% wraps one slot early
# - slots = positions % window
slots = positions % (window - 1)

# fails positions_name_the_token_in_each_slot

# %% empty slots hold position 0
class RingCache:
    def __init__(self, batch, n_kv_heads, head_dim, window, dtype=torch.float32):
        self.keys = torch.zeros(batch, n_kv_heads, window, head_dim, dtype=dtype)
        self.values = torch.zeros(batch, n_kv_heads, window, head_dim, dtype=dtype)
        self.positions = torch.zeros(window, dtype=torch.int64)
        self.n_seen = 0

    def append(self, keys, values):
        window = len(self.positions)
        for i in range(keys.shape[2]):
            slot = self.n_seen % window
            self.keys[:, :, slot] = keys[:, :, i]
            self.values[:, :, slot] = values[:, :, i]
            self.positions[slot] = self.n_seen
            self.n_seen += 1

    def mask(self, query_positions):
        window = len(self.positions)
        filled = torch.arange(window) < self.n_seen
        distance = query_positions[:, None] - self.positions
        return filled & (distance >= 0) & (distance < window)

# fails decoding_past_the_end_keeps_the_window

# %% wraps one slot late for decoded values
# - self.values[:, :, slots] = values[:, :, n_new - n_kept :].to(self.values.dtype)
value_slots = slots if n_new > 1 else (slots + 1) % window
self.values[:, :, value_slots] = values[:, :, n_new - n_kept :].to(
    self.values.dtype
)

# fails decoding_past_the_end_keeps_the_window a_chunk_may_cross_the_end
#   a_long_prompt_leaves_its_newest_tokens

# %% keys for values
# - self.values[:, :, slots] = values[:, :, n_new - n_kept :].to(self.values.dtype)
self.values[:, :, slots] = keys[:, :, n_new - n_kept :].to(self.values.dtype)

# fails a_chunk_may_cross_the_end

# %% shifts a short chunk back to fit before the end
# - slots = positions % window
slots = positions % window
if n_new < window and int(slots[0]) + n_new > window:
    slots = torch.arange(window - n_new, window)

# fails a_long_prompt_leaves_its_newest_tokens

# %% keeps the oldest tokens of a long prompt
class RingCache:
    def __init__(self, batch, n_kv_heads, head_dim, window, dtype=torch.float32):
        self.keys = torch.zeros(batch, n_kv_heads, window, head_dim, dtype=dtype)
        self.values = torch.zeros(batch, n_kv_heads, window, head_dim, dtype=dtype)
        self.positions = torch.full((window,), -1)

    def append(self, keys, values):
        window = len(self.positions)
        keys, values = keys[:, :, :window], values[:, :, :window]
        start = int(self.positions.max()) + 1
        positions = torch.arange(start, start + keys.shape[2])
        self.keys[:, :, positions % window] = keys.to(self.keys.dtype)
        self.values[:, :, positions % window] = values.to(self.values.dtype)
        self.positions[positions % window] = positions

    def mask(self, query_positions):
        distance = query_positions[:, None] - self.positions
        return (self.positions >= 0) & (distance >= 0) & (distance < len(self.positions))

# %% counts only the tokens that it kept
# - end = int(self.positions.max()) + 1 + n_new
end = int(self.positions.max()) + 1 + n_kept

# fails the_mask_shows_the_window

# %% queries see their future
# - return (self.positions >= 0) & (distance >= 0) & (distance < len(self.positions))
return (self.positions >= 0) & (distance < len(self.positions))

# %% queries see empty slots
# - return (self.positions >= 0) & (distance >= 0) & (distance < len(self.positions))
return (distance >= 0) & (distance < len(self.positions))

# %% all that is stored counts as in the window
# - return (self.positions >= 0) & (distance >= 0) & (distance < len(self.positions))
return (self.positions >= 0) & (distance >= 0)

# %% the window is one token too long
# - return (self.positions >= 0) & (distance >= 0) & (distance < len(self.positions))
return (self.positions >= 0) & (distance >= 0) & (distance <= len(self.positions))

# %% a query does not see itself
# - return (self.positions >= 0) & (distance >= 0) & (distance < len(self.positions))
return (self.positions >= 0) & (distance > 0) & (distance < len(self.positions))
