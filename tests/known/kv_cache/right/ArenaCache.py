"""Right answers to `ArenaCache`, written differently."""

# %% one tensor for keys and values, a length per layer, uninitialised memory
class ArenaCache:
    def __init__(self, n_layers, batch, n_kv_heads, head_dim, capacity, dtype=torch.float32):
        self.data = torch.empty(2, n_layers, batch, n_kv_heads, capacity, head_dim, dtype=dtype)
        self.filled = [0] * n_layers

    @property
    def keys(self):
        return self.data[0]

    @property
    def values(self):
        return self.data[1]

    @property
    def length(self):
        return min(self.filled)

    def append(self, layer, keys, values):
        start = self.filled[layer]
        n_new, room = keys.shape[2], self.data.shape[4] - start
        if n_new > room:
            raise ValueError(f"{n_new} tokens for {room} places")
        self.data[0, layer].narrow(2, start, n_new).copy_(keys)
        self.data[1, layer].narrow(2, start, n_new).copy_(values)
        self.filled[layer] = start + n_new
        mask = torch.ones(n_new, start + n_new, dtype=torch.bool).tril(start)
        return *self.data[:, layer, :, :, : start + n_new], mask

    def rewind(self, n_tokens):
        if n_tokens < 0 or n_tokens > self.length:
            raise ValueError(f"cannot go back {n_tokens} tokens")
        self.filled = [filled - n_tokens for filled in self.filled]

# %% tokens first in memory, a length that is a tensor
class ArenaCache:
    def __init__(self, n_layers, batch, n_kv_heads, head_dim, capacity, dtype=torch.float32):
        by_token = (capacity, n_layers, batch, n_kv_heads, head_dim)
        self.k, self.v = (torch.ones(by_token).to(dtype) for _ in range(2))
        self.keys, self.values = self.k.permute(1, 2, 3, 0, 4), self.v.permute(1, 2, 3, 0, 4)
        self.capacity, self.n_layers = capacity, n_layers
        self.length = torch.tensor(0)

    def append(self, layer, keys, values):
        new = keys.shape[-2]
        if self.length + new > self.capacity:
            raise ValueError("full")
        for arena, part in ((self.k, keys), (self.v, values)):
            for i in range(new):
                arena[int(self.length) + i, layer] = part[:, :, i]
        end = int(self.length) + new
        if layer + 1 == self.n_layers:
            self.length += new
        rows = [[i <= end - new + row for i in range(end)] for row in range(new)]
        views = [arena[layer].narrow(2, 0, end) for arena in (self.keys, self.values)]
        return [*views, torch.tensor(rows)]

    def rewind(self, n_tokens):
        if n_tokens not in range(int(self.length) + 1):
            raise ValueError("out of range")
        self.length = self.length - n_tokens

# %% counts the layers that have appended, length from NumPy
import numpy


class ArenaCache:
    def __init__(self, n_layers, batch, n_kv_heads, head_dim, capacity, dtype=torch.float32):
        self.keys = torch.zeros(n_layers, batch, n_kv_heads, capacity, head_dim, dtype=dtype)
        self.values = self.keys.clone()
        self.length = numpy.int64(0)
        self.waiting_for = n_layers

    def append(self, layer, keys, values):
        n_tokens = keys.size(2)
        if n_tokens > self.keys.size(3) - self.length:
            raise ValueError(f"{n_tokens} do not fit behind {self.length}")
        place = slice(int(self.length), int(self.length) + n_tokens)
        self.keys[layer][:, :, place].copy_(keys)
        self.values[layer][:, :, place].copy_(values)
        self.waiting_for -= 1
        if not self.waiting_for:
            self.waiting_for = len(self.keys)
            self.length += n_tokens
        hidden = torch.ones(n_tokens, place.stop).triu(place.start + 1)
        held = (each[layer][:, :, : place.stop] for each in (self.keys, self.values))
        return *held, hidden == 0

    def rewind(self, n_tokens):
        if not 0 <= n_tokens <= self.length:
            raise ValueError(f"{n_tokens} of {self.length}")
        self.length -= n_tokens

# %% a mask of the whole capacity, made once, and slices of it
class ArenaCache:
    def __init__(
        self, n_layers, batch, n_kv_heads, head_dim, capacity, dtype=torch.float32, device="cpu"
    ):
        sizes = (n_layers, batch, n_kv_heads, capacity, head_dim)
        self.keys = torch.full(sizes, float("nan"), dtype=dtype, device=device)
        self.values = torch.full_like(self.keys, float("nan"))
        self.causal = torch.ones(capacity, capacity, device=device).tril().bool()
        self.length, self.last_layer = 0, n_layers - 1

    def append(self, layer, keys, values):
        new = slice(self.length, self.length + keys.shape[2])
        if new.stop > len(self.causal):
            raise ValueError(f"there is room for {len(self.causal) - new.start} tokens")
        self.keys[layer, ..., new, :] = keys
        self.values[layer, ..., new, :] = values
        self.length = new.stop if layer == self.last_layer else new.start
        held = slice(new.stop)
        mask = self.causal[new, held]
        return self.keys[layer, ..., held, :], self.values[layer, ..., held, :], mask

    def rewind(self, n_tokens):
        if n_tokens < 0 or self.length < n_tokens:
            raise ValueError("out of range")
        self.length = self.length - n_tokens
