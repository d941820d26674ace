"""Right answers to `RingCache`, written differently."""

# %% one token: the ring itself; a chunk: all slots, and the chunk after them
class RingCache:
    def __init__(self, n_layers, batch, n_kv_heads, head_dim, window, dtype=torch.float32):
        self.keys = torch.empty(n_layers, batch, n_kv_heads, window, head_dim, dtype=dtype)
        self.values = torch.empty(n_layers, batch, n_kv_heads, window, head_dim, dtype=dtype)
        self.positions = [[-1] * window for _ in range(n_layers)]
        self.length, self.window = 0, window

    def append(self, layer, keys, values):
        held, start, n_new = self.positions[layer], self.length, keys.shape[2]
        before = self.keys[layer].clone(), self.values[layer].clone(), list(held)
        for i in range(n_new):
            slot = (start + i) % self.window
            self.keys[layer, :, :, slot] = keys[:, :, i]
            self.values[layer, :, :, slot] = values[:, :, i]
            held[slot] = start + i
        if layer == len(self.positions) - 1:
            self.length = start + n_new
        if n_new == 1:
            return self.keys[layer], self.values[layer], torch.tensor([[p >= 0 for p in held]])
        seen = before[2] + list(range(start, start + n_new))
        mask = [
            [p >= 0 and q - self.window < p <= q for p in seen] for q in range(start, start + n_new)
        ]
        keys, values = (torch.cat([a, b], 2) for a, b in zip(before[:2], (keys, values)))
        return keys, values, torch.tensor(mask)

# %% returns all slots as they were, with a mask of the empty ones, and the chunk
class RingCache:
    def __init__(
        self, n_layers, batch, n_kv_heads, head_dim, window, dtype=torch.float32, device="cpu"
    ):
        shape = (2, n_layers, batch, n_kv_heads, window, head_dim)
        self.data = torch.zeros(shape, dtype=dtype, device=device)
        self.length, self.n_layers, self.window = 0, n_layers, window

    keys = property(lambda self: self.data[0])
    values = property(lambda self: self.data[1])

    def append(self, layer, keys, values):
        new, window = torch.stack([keys, values]), self.window
        seen = torch.cat([self.data[:, layer], new], dim=4 - 1)
        slots = torch.arange(window)
        last = self.length - 1 - (self.length - 1 - slots) % window  # the newest of each slot
        own = torch.arange(self.length, self.length + keys.shape[2])
        p, q = torch.cat([last, own]), own[:, None]
        mask = torch.logical_not((p < 0) | (p > q) | (p <= q - window))
        for i in range(max(0, len(own) - window), len(own)):
            self.data[:, layer, :, :, own[i] % window] = new[:, :, :, i]
        self.length += len(own) * (layer + 1 == self.n_layers)
        return seen[0], seen[1], mask

# %% keeps the newest tokens in order and rolls them into place
class RingCache:
    def __init__(self, n_layers, batch, n_kv_heads, head_dim, window, dtype=torch.float32):
        shape = (2, batch, n_kv_heads, window, head_dim)
        self.newest = [torch.zeros(shape, dtype=dtype) for _ in range(n_layers)]
        self.ends, self.window = [0] * n_layers, window

    length = property(lambda self: self.ends[-1])
    keys = property(lambda self: self._rolled(0))
    values = property(lambda self: self._rolled(1))

    def _rolled(self, part):
        layers = zip(self.newest, self.ends)
        return torch.stack(
            [torch.roll(newest[part], end % self.window, dims=2) for newest, end in layers]
        )

    def append(self, layer, keys, values):
        seen = torch.cat([self.newest[layer], torch.stack([keys, values])], dim=3)
        n_new, start = keys.shape[2], self.ends[layer]
        self.newest[layer] = seen[:, :, :, -self.window :]
        self.ends[layer] += n_new
        place = torch.arange(self.window + n_new)
        row = self.window + torch.arange(n_new)[:, None]
        is_filled = place >= self.window - start
        return [*seen, is_filled & (place <= row) & (place > row - self.window)]

# %% one token after the other, each with a copy of its own window; newest keys first
class RingCache:
    def __init__(self, n_layers, batch, n_kv_heads, head_dim, window, dtype=torch.float32):
        self.keys = torch.zeros(n_layers, batch, n_kv_heads, window, head_dim, dtype=dtype)
        self.values = self.keys.clone()
        self.length = torch.tensor(0)

    def append(self, layer, keys, values):
        n_layers, window, n_new = self.keys.size(0), self.keys.size(3), keys.size(2)
        found, lengths = [[], []], []
        for i in range(n_new):
            position = int(self.length) + i
            seen = [p % window for p in range(position, max(-1, position - window), -1)]
            for ring, part, copies in zip((self.keys, self.values), (keys, values), found):
                ring[layer, :, :, position % window] = part[:, :, i]
                copies.append(ring[layer, :, :, seen])
            lengths.append(len(seen))
        if layer == n_layers - 1:
            self.length = self.length + n_new
        blocks = [torch.ones(1, length, dtype=torch.bool) for length in lengths]
        return *(torch.cat(copies, dim=2) for copies in found), torch.block_diag(*blocks).bool()

# %% two slices for a chunk that crosses the end, and only the old keys that are in a window
class RingCache:
    def __init__(self, n_layers, batch, n_kv_heads, head_dim, window, dtype=torch.float32):
        self.keys = torch.zeros((n_layers, batch, n_kv_heads, window, head_dim), dtype=dtype)
        self.values = torch.zeros((n_layers, batch, n_kv_heads, window, head_dim), dtype=dtype)
        self.length = 0

    def append(self, layer, keys, values):
        window, start, n_new = self.keys.shape[3], self.length, keys.shape[2]
        oldest = max(0, start - window + 1)
        slots = [p % window for p in range(oldest, start)]
        old = self.keys[layer][:, :, slots], self.values[layer][:, :, slots]
        all_keys, all_values = torch.cat((old[0], keys), 2), torch.cat((old[1], values), 2)
        mask = torch.ones(start + n_new - oldest, start + n_new - oldest).tril().triu(1 - window)
        dropped = max(0, n_new - window)
        first_slot = (start + dropped) % window
        n_first = min(n_new - dropped, window - first_slot)
        for place, part in (
            (slice(first_slot, first_slot + n_first), slice(dropped, dropped + n_first)),
            (slice(0, n_new - dropped - n_first), slice(dropped + n_first, n_new)),
        ):
            self.keys[layer, :, :, place] = keys[:, :, part]
            self.values[layer, :, :, place] = values[:, :, part]
        if layer == self.keys.shape[0] - 1:
            self.length = start + n_new
        return all_keys, all_values, mask[start - oldest :] > 0
