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
        return tuple(self.data[:, layer, :, :, : start + n_new])

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
        return [arena[layer].narrow(2, 0, end) for arena in (self.keys, self.values)]

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
        return self.keys[layer][:, :, : place.stop], self.values[layer][:, :, : place.stop]

    def rewind(self, n_tokens):
        if not 0 <= n_tokens <= self.length:
            raise ValueError(f"{n_tokens} of {self.length}")
        self.length -= n_tokens
