"""Wrong answers to `ArenaCache`: edits of the reference, or the whole answer."""

# fails views_show_the_arena_itself

# %% returns copies
# - return self.keys[layer, :, :, :end], self.values[layer, :, :, :end], mask
return self.keys[layer, :, :, :end].clone(), self.values[layer, :, :, :end].clone(), mask

# %% allocates a new arena when the old one is rewound
# - self.length -= n_tokens
self.length -= n_tokens
self.keys, self.values = self.keys.clone(), self.values.clone()

# fails views_show_the_arena_itself a_full_arena_refuses_and_keeps_what_it_has

# %% concatenates, and calls it an arena
class ArenaCache:
    def __init__(self, n_layers, batch, n_kv_heads, head_dim, capacity, dtype=torch.float32):
        empty = torch.zeros(batch, n_kv_heads, 0, head_dim, dtype=dtype)
        self.layers = [(empty, empty)] * n_layers
        self.length, self.capacity, self.dtype = 0, capacity, dtype

    keys = property(lambda self: torch.stack([keys for keys, _ in self.layers]))
    values = property(lambda self: torch.stack([values for _, values in self.layers]))

    def append(self, layer, keys, values):
        if self.length + keys.shape[2] > self.capacity:
            raise MemoryError("full")
        pairs = zip(self.layers[layer], (keys, values))
        joined = [torch.cat([o[:, :, : self.length], n.to(self.dtype)], 2) for o, n in pairs]
        self.layers[layer] = tuple(joined)
        self.length += keys.shape[2] * (layer == len(self.layers) - 1)
        mask = torch.ones(keys.shape[2], joined[0].shape[2], dtype=torch.bool)
        return *joined, mask.tril(joined[0].shape[2] - keys.shape[2])

    def rewind(self, n_tokens):
        if not 0 <= n_tokens <= self.length:
            raise ValueError("out of range")
        self.length -= n_tokens

# fails append_returns_everything_cached

# %% stores everything in 32 bits
# - self.keys = torch.zeros(shape, dtype=dtype, device=device)
# - self.values = torch.zeros(shape, dtype=dtype, device=device)
self.keys, self.values = torch.zeros(shape), torch.zeros(shape)

# fails append_returns_everything_cached a_life_of_appends_and_rewinds_equals_concatenation
#   views_show_the_arena_itself

# %% returns the whole arena
# - return self.keys[layer, :, :, :end], self.values[layer, :, :, :end], mask
return self.keys[layer], self.values[layer], mask

# fails append_returns_everything_cached a_life_of_appends_and_rewinds_equals_concatenation

# %% returns the values of layer 0
# = self.values[layer, :, :, :end] => self.values[0, :, :, :end]

# fails length_moves_once_per_step append_returns_everything_cached
#   the_mask_shows_what_is_not_later a_life_of_appends_and_rewinds_equals_concatenation

# %% length grows with every layer's append
# - if layer == n_layers - 1:
# -     self.length = end
self.length = end

# fails length_moves_once_per_step

# %% length moves with the first layer
# = self.length = 0 => self.lengths = [0] * n_layers
# = self.length, self.length + keys.shape[2] => self.lengths[layer], self.lengths[layer] + keys.shape[2]
# = self.length -= n_tokens => self.lengths = [length - n_tokens for length in self.lengths]

# - if layer == n_layers - 1:
# -     self.length = end
self.lengths[layer] = end

# - def rewind(self, n_tokens: int) -> None:
# -     """Forget the last `n_tokens` by lowering `length`; the arenas stay.
# -
# -     Raises: ValueError, with nothing changed, unless 0 <= n_tokens <= length.
# -     """
length = property(lambda self: max(self.lengths))
def rewind(self, n_tokens):
    """Forget the last `n_tokens` by lowering `length`; the arenas stay.
    Raises: ValueError, with nothing changed, unless 0 <= n_tokens <= length.
    """

# fails length_moves_once_per_step append_returns_everything_cached
#   the_mask_shows_what_is_not_later a_life_of_appends_and_rewinds_equals_concatenation
#   views_show_the_arena_itself rewind_moves_only_the_pointer
#   a_full_arena_refuses_and_keeps_what_it_has a_rewind_out_of_range_is_refused

# %% length does not move
# - if layer == n_layers - 1:
# -     self.length = end

# fails rewind_moves_only_the_pointer

# %% zeroes what is rewound
# - self.length -= n_tokens
self.length -= n_tokens
self.keys[:, :, :, self.length :] = 0
self.values[:, :, :, self.length :] = 0

# fails rewind_moves_only_the_pointer a_life_of_appends_and_rewinds_equals_concatenation
#   a_rewind_out_of_range_is_refused views_show_the_arena_itself

# %% rewinds to n_tokens instead of by n_tokens
# = self.length -= n_tokens => self.length = n_tokens

# fails a_life_of_appends_and_rewinds_equals_concatenation

# %% rewind(0) forgets everything
# = self.length -= n_tokens => self.length = len(list(range(self.length))[:-n_tokens])

# %% returns what was rewound as well
# - return self.keys[layer, :, :, :end], self.values[layer, :, :, :end], mask
self.most = most = max(end, getattr(self, "most", 0))
return self.keys[layer, :, :, :most], self.values[layer, :, :, :most], mask

# fails a_full_arena_refuses_and_keeps_what_it_has

# %% lets PyTorch complain when the arena is full
# = end > capacity => False

# %% writes what fits before it refuses the rest
# - if end > capacity:
if end > capacity:
    self.keys[layer, :, :, start:] = keys[:, :, : capacity - start]
    self.values[layer, :, :, start:] = values[:, :, : capacity - start]
    self.length = capacity

# %% forgets everything to make room
# - raise ValueError(f"{end - start} tokens do not fit: {start} of {capacity} cached")
self.length = 0
raise ValueError(f"{end - start} tokens do not fit: {start} of {capacity} cached")

# fails a_full_arena_refuses_and_keeps_what_it_has
#   a_life_of_appends_and_rewinds_equals_concatenation

# %% keeps the last place empty
# = end > capacity => end >= capacity

# fails a_rewind_out_of_range_is_refused

# %% rewinds below zero
# = not 0 <= n_tokens <= self.length => n_tokens < 0

# %% rewinds forward
# = not 0 <= n_tokens <= self.length => n_tokens > self.length

# fails views_show_the_arena_itself rewind_moves_only_the_pointer
#   a_life_of_appends_and_rewinds_equals_concatenation a_rewind_out_of_range_is_refused

# %% never rewinds the first token
# = 0 <= n_tokens <= self.length => 0 <= n_tokens < self.length

# fails views_show_the_arena_itself

# %% makes its views contiguous
# - return self.keys[layer, :, :, :end], self.values[layer, :, :, :end], mask
views = self.keys[layer, :, :, :end], self.values[layer, :, :, :end]
return *(view.contiguous() for view in views), mask

# fails views_show_the_arena_itself a_full_arena_refuses_and_keeps_what_it_has

# %% room for the tokens of all layers in each
# = capacity, head_dim) => capacity * n_layers, head_dim)

# fails the_mask_shows_what_is_not_later

# %% the first rows of the mask
# = positions <= positions[start:, None] => positions <= positions[: end - start, None]

# %% new tokens see later ones
# = positions <= positions[start:, None] => torch.ones(end - start, end, dtype=torch.bool)

# %% a token does not see itself
# = positions <= positions[start:, None] => positions < positions[start:, None]

# %% a mask for the new tokens alone
# = positions <= positions[start:, None] => positions[start:] <= positions[start:, None]

# %% the mask is made after length has moved
# = positions <= positions[start:, None] => positions <= positions[self.length :, None]

# %% True where a token sees nothing
# = positions <= positions[start:, None] => positions > positions[start:, None]

# %% a mask of numbers
# = positions <= positions[start:, None] => (positions <= positions[start:, None]).float()

# %% the rows begin after all that was ever appended
# - mask = positions <= positions[start:, None]
most = getattr(self, "most", 0) if layer == 0 else self.most_before
self.most_before, self.most = most, most + end - start if layer == n_layers - 1 else most
mask = positions <= positions[start:, None] + (most - start)
