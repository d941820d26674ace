"""Right answers to `RingCache`, written differently."""

# %% token by token, with a counter and a list of positions
class RingCache:
    def __init__(self, batch, n_kv_heads, head_dim, window, dtype=torch.float32):
        self.keys = torch.empty(batch, n_kv_heads, window, head_dim, dtype=dtype)
        self.values = torch.empty(batch, n_kv_heads, window, head_dim, dtype=dtype)
        self.positions = [-1] * window
        self.n_seen = 0

    def append(self, keys, values):
        for i in range(keys.shape[2]):
            slot = self.n_seen % len(self.positions)
            self.keys[:, :, slot], self.values[:, :, slot] = keys[:, :, i], values[:, :, i]
            self.positions[slot] = self.n_seen
            self.n_seen += 1

    def mask(self, query_positions):
        window = len(self.positions)
        return torch.tensor(
            [
                [p != -1 and q - window < p <= q for p in self.positions]
                for q in query_positions.tolist()
            ]
        )

# %% makes a new tensor of the newest tokens and rolls it into place
class RingCache:
    def __init__(self, batch, n_kv_heads, head_dim, window, dtype=torch.float32):
        self.newest = torch.zeros(2, batch, n_kv_heads, window, head_dim, dtype=dtype)
        self.window, self.end = window, 0

    def append(self, keys, values):
        new = torch.stack([keys, values]).to(self.newest.dtype)
        self.newest = torch.cat([self.newest, new], dim=3)[:, :, :, -self.window :]
        self.end += keys.shape[2]

    @property
    def keys(self):
        return torch.roll(self.newest[0], self.end % self.window, dims=2)

    @property
    def values(self):
        return torch.roll(self.newest[1], self.end % self.window, dims=2)

    @property
    def positions(self):
        newest = torch.arange(self.end - self.window, self.end).clamp(min=-1)
        return torch.roll(newest, self.end % self.window).int()

    def mask(self, query_positions):
        q, p = query_positions.reshape(-1, 1), self.positions.reshape(1, -1)
        return torch.logical_not((p < 0) | (p > q) | (p <= q - self.window))

# %% two slices for a chunk that crosses the end, positions from the counter
class RingCache:
    def __init__(self, batch, n_kv_heads, head_dim, window, dtype=torch.float32):
        self.keys = torch.zeros((batch, n_kv_heads, window, head_dim), dtype=dtype)
        self.values = torch.zeros((batch, n_kv_heads, window, head_dim), dtype=dtype)
        self.positions = -torch.ones(window, dtype=torch.int64)
        self.next = 0

    def append(self, keys, values):
        window = self.keys.shape[2]
        dropped = max(0, keys.shape[2] - window)
        self.next += dropped
        keys, values = keys[:, :, dropped:], values[:, :, dropped:]
        start, n_new = self.next % window, keys.shape[2]
        first = min(n_new, window - start)
        positions = torch.arange(self.next, self.next + n_new)
        for place, part in (
            (slice(start, start + first), slice(0, first)),
            (slice(0, n_new - first), slice(first, n_new)),
        ):
            self.keys[:, :, place] = keys[:, :, part]
            self.values[:, :, place] = values[:, :, part]
            self.positions[place] = positions[part]
        self.next += n_new

    def mask(self, query_positions):
        seen = torch.zeros(len(query_positions), len(self.positions), dtype=torch.bool)
        for i, query in enumerate(query_positions):
            for slot, position in enumerate(self.positions):
                seen[i, slot] = position >= 0 and 0 <= query - position < len(self.positions)
        return seen

# %% all slots at once, by index
class RingCache:
    def __init__(self, batch, n_kv_heads, head_dim, window, dtype=torch.float32):
        self.keys = torch.zeros(batch, n_kv_heads, window, head_dim, dtype=dtype)
        self.values = torch.zeros(batch, n_kv_heads, window, head_dim, dtype=dtype)
        self.positions = torch.full((window,), -1)
        self.n_seen, self.window = 0, window

    def append(self, keys, values):
        keep = min(self.window, keys.shape[2])
        self.n_seen += keys.shape[2]
        positions = torch.arange(self.n_seen - keep, self.n_seen)
        slots = positions % self.window
        self.keys[:, :, slots] = keys[:, :, -keep:]
        self.values[:, :, slots] = values[:, :, -keep:]
        self.positions[slots] = positions

    def mask(self, query_positions):
        p, q = self.positions[None], query_positions[:, None]
        return (p >= 0) & (p <= q) & (p > q - self.window)
