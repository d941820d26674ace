"""Wrong answers to `RingCache`: edits of the reference, or the whole answer."""

# fails positions_name_the_token_in_each_slot decoding_past_the_end_keeps_the_window
#   a_chunk_may_cross_the_end a_long_prompt_leaves_its_newest_tokens the_mask_shows_the_window
#   positions_and_mask_follow_a_chunk

# %% positions modulo the window
# = self.positions[slots] = positions => self.positions[slots] = positions % window

# %% never counts on
# = int(self.positions.max()) + 1 + n_new => n_new

# %% wraps one slot early
# = positions % window => positions % (window - 1)

# fails positions_name_the_token_in_each_slot the_mask_shows_the_window
#   positions_and_mask_follow_a_chunk

# %% the number of the slot for its position
# = self.positions[slots] = positions => self.positions[slots] = slots

# - end = int(self.positions.max()) + 1 + n_new
self.n_seen = end = getattr(self, "n_seen", 0) + n_new

# fails positions_name_the_token_in_each_slot

# %% empty slots hold position 0
# = end = int(self.positions.max()) + 1 + n_new => self.n_seen = end = self.n_seen + n_new

# - self.positions = torch.full((window,), -1)
self.positions, self.n_seen = torch.zeros(window, dtype=torch.int64), 0

# - return (self.positions >= 0) & (distance >= 0) & (distance < len(self.positions))
filled = torch.arange(len(self.positions)) < self.n_seen
return filled & (distance >= 0) & (distance < len(self.positions))

# fails decoding_past_the_end_keeps_the_window a_long_prompt_leaves_its_newest_tokens

# %% wraps one slot late for decoded values
# - self.values[:, :, slots] = values[:, :, n_new - n_kept :]
value_slots = slots if n_new > 1 else (slots + 1) % window
self.values[:, :, value_slots] = values[:, :, n_new - n_kept :]

# fails decoding_past_the_end_keeps_the_window a_chunk_may_cross_the_end
#   a_long_prompt_leaves_its_newest_tokens

# %% keys for values
# = values[:, :, n_new - n_kept :] => keys[:, :, n_new - n_kept :]

# fails a_chunk_may_cross_the_end positions_and_mask_follow_a_chunk

# %% shifts a short chunk back to fit before the end
# - slots = positions % window
slots = positions % window
if n_new < window and int(slots[0]) + n_new > window:
    slots = torch.arange(window - n_new, window)

# fails a_long_prompt_leaves_its_newest_tokens positions_and_mask_follow_a_chunk

# %% keeps the oldest tokens of a long prompt
# - window, n_new = len(self.positions), keys.shape[2]
window = len(self.positions)
keys, values = keys[:, :, :window], values[:, :, :window]
n_new = keys.shape[2]

# %% writes a long chunk from the slot of its first token on
# = positions % window => (positions - (n_new - n_kept)) % window

# %% counts only the tokens that it kept
# = int(self.positions.max()) + 1 + n_new => int(self.positions.max()) + 1 + n_kept

# fails a_chunk_may_cross_the_end

# %% values of a chunk that wraps go to the last slots
# - self.values[:, :, slots] = values[:, :, n_new - n_kept :]
wraps = 1 < n_new < window and int(slots[0]) + n_new > window
value_slots = torch.arange(window - n_kept, window) if wraps else slots
self.values[:, :, value_slots] = values[:, :, n_new - n_kept :]

# fails a_long_prompt_leaves_its_newest_tokens

# %% keeps the oldest tokens of a long prompt under the newest positions
# - self.keys[:, :, slots] = keys[:, :, n_new - n_kept :]
# - self.values[:, :, slots] = values[:, :, n_new - n_kept :]
self.keys[:, :, slots] = keys[:, :, :n_kept]
self.values[:, :, slots] = values[:, :, :n_kept]

# %% keeps the oldest values of a long prompt
# = values[:, :, n_new - n_kept :] => values[:, :, :n_kept]

# fails the_mask_shows_the_window

# %% queries see their future
# - return (self.positions >= 0) & (distance >= 0) & (distance < len(self.positions))
return (self.positions >= 0) & (distance < len(self.positions))

# %% queries see empty slots
# = (self.positions >= 0) & (distance >= 0) => (distance >= 0)

# %% all that is stored counts as in the window
# - return (self.positions >= 0) & (distance >= 0) & (distance < len(self.positions))
return (self.positions >= 0) & (distance >= 0)

# %% the window is one token too long
# = distance < len(self.positions) => distance <= len(self.positions)

# %% a query does not see itself
# = distance >= 0 => distance > 0

# %% the window is one token too short
# = distance < len(self.positions) => distance < len(self.positions) - 1

# fails positions_and_mask_follow_a_chunk

# %% positions of a chunk that wraps are one too low
# = int(self.positions.max()) + 1 => getattr(self, "n_seen", 0)

# - self.positions[slots] = positions
self.n_seen = end
wraps = n_new > 1 and int(slots[0]) + n_kept > window
self.positions[slots] = positions - int(wraps)

# %% positions of a long chunk count from its first token
# = int(self.positions.max()) + 1 => getattr(self, "n_seen", 0)

# - self.positions[slots] = positions
self.n_seen = end
self.positions[slots] = positions - (n_new - n_kept)

# %% a chunk that wraps leaves the old positions in the first slots
# = int(self.positions.max()) + 1 => getattr(self, "n_seen", 0)

# - self.positions[slots] = positions
self.n_seen = end
inside = slots >= slots[0]
self.positions[slots[inside]] = positions[inside]
