"""Right answers of lab 4, written otherwise: the arena, the ring and the pages."""

from autograder.labs.variants import Variant

ARENA = [
    Variant(
        "ArenaCache",
        "one tensor for keys and values, a length per layer, uninitialised memory",
        """\
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
""",
    ),
    Variant(
        "ArenaCache",
        "tokens first in memory, a length that is a tensor",
        """\
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
""",
    ),
    Variant(
        "ArenaCache",
        "counts the layers that have appended, length from NumPy",
        """\
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
""",
    ),
]

RING = [
    Variant(
        "RingCache",
        "token by token, with a counter and a list of positions",
        """\
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
""",
    ),
    Variant(
        "RingCache",
        "makes a new tensor of the newest tokens and rolls it into place",
        """\
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
""",
    ),
    Variant(
        "RingCache",
        "two slices for a chunk that crosses the end, positions from the counter",
        """\
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
""",
    ),
]

PAGED = [
    Variant(
        "PagedCache",
        "one owner per block, tables read off them",
        """\
class PagedCache:
    def __init__(self, n_blocks, block_size, n_kv_heads, head_dim, dtype=torch.float32):
        self.keys = torch.empty(n_blocks, n_kv_heads, block_size, head_dim, dtype=dtype)
        self.values = torch.empty(n_blocks, n_kv_heads, block_size, head_dim, dtype=dtype)
        self.owners = [None] * n_blocks
        self.lengths = {}

    @property
    def n_free_blocks(self):
        return sum(owner is None for owner in self.owners)

    def block_table(self, sequence_id):
        mine = [(o[1], b) for b, o in enumerate(self.owners) if o and o[0] == sequence_id]
        return [block for _, block in sorted(mine)]

    def append(self, sequence_id, keys, values):
        size, length = self.keys.shape[2], self.lengths.get(sequence_id, 0)
        table = self.block_table(sequence_id)
        n_needed = (length + keys.shape[1] + size - 1) // size
        free = [block for block, owner in enumerate(self.owners) if owner is None]
        if n_needed - len(table) > len(free):
            raise MemoryError("no block left")
        for index in range(len(table), n_needed):
            self.owners[free[index - len(table)]] = (sequence_id, index)
        table = self.block_table(sequence_id)
        for i in range(keys.shape[1]):
            index, place = divmod(length + i, size)
            self.keys[table[index], :, place] = keys[:, i]
            self.values[table[index], :, place] = values[:, i]
        self.lengths[sequence_id] = length + keys.shape[1]

    def gather(self, sequence_id):
        table, length = self.block_table(sequence_id), self.lengths[sequence_id]
        return [
            torch.cat([store[block] for block in table], dim=1)[:, :length]
            for store in (self.keys, self.values)
        ]

    def rewind(self, sequence_id, n_tokens):
        if n_tokens < 0 or n_tokens > self.lengths[sequence_id]:
            raise ValueError("out of range")
        self.lengths[sequence_id] -= n_tokens
        n_kept = (self.lengths[sequence_id] + self.keys.shape[2] - 1) // self.keys.shape[2]
        for block in self.block_table(sequence_id)[n_kept:]:
            self.owners[block] = None

    def free(self, sequence_id):
        for block in self.block_table(sequence_id):
            self.owners[block] = None
        self.lengths.pop(sequence_id)
""",
    ),
    Variant(
        "PagedCache",
        "lists of blocks, the free ones in a set, a plain counter",
        """\
class PagedCache:
    def __init__(self, n_blocks, block_size, n_kv_heads, head_dim, dtype=torch.float32):
        shape = (n_kv_heads, block_size, head_dim)
        self.keys = [torch.zeros(shape, dtype=dtype) for _ in range(n_blocks)]
        self.values = [torch.zeros(shape, dtype=dtype) for _ in range(n_blocks)]
        self.block_size, self.n_free_blocks = block_size, n_blocks
        self.spare = set(range(n_blocks))
        self.sequences = {}

    def append(self, sequence_id, keys, values):
        table, length = self.sequences.get(sequence_id, ([], 0))
        room = (len(table) + len(self.spare)) * self.block_size
        if length + keys.shape[1] > room:
            raise MemoryError(f"room for {room - length} tokens")
        table = list(table)
        for i in range(keys.shape[1]):
            place = length % self.block_size
            if length == len(table) * self.block_size:
                table.append(min(self.spare))
                self.spare.remove(table[-1])
            self.keys[table[-1]][:, place] = keys[:, i]
            self.values[table[-1]][:, place] = values[:, i]
            length += 1
        self.sequences[sequence_id] = (table, length)
        self.n_free_blocks = len(self.spare)

    def gather(self, sequence_id):
        table, length = self.sequences[sequence_id]
        where = [divmod(i, self.block_size) for i in range(length)]
        keys = torch.stack([self.keys[table[i]][:, j] for i, j in where], dim=1)
        return keys, torch.stack([self.values[table[i]][:, j] for i, j in where], dim=1)

    def block_table(self, sequence_id):
        return self.sequences[sequence_id][0]

    def rewind(self, sequence_id, n_tokens):
        table, length = self.sequences[sequence_id]
        if not 0 <= n_tokens <= length:
            raise ValueError(f"{n_tokens} of {length}")
        length -= n_tokens
        while length <= (len(table) - 1) * self.block_size and table:
            self.spare.add(table.pop())
        self.sequences[sequence_id] = (table, length)
        self.n_free_blocks = len(self.spare)

    def free(self, sequence_id):
        self.rewind(sequence_id, self.sequences[sequence_id][1])
        del self.sequences[sequence_id]
""",
    ),
    Variant(
        "PagedCache",
        "a tensor as table, tokens scattered by index, empty sequences forgotten",
        """\
class PagedCache:
    def __init__(self, n_blocks, block_size, n_kv_heads, head_dim, dtype=torch.float32):
        self.keys = torch.zeros(n_blocks, n_kv_heads, block_size, head_dim, dtype=dtype)
        self.values = torch.zeros(n_blocks, n_kv_heads, block_size, head_dim, dtype=dtype)
        self.is_free = torch.ones(n_blocks, dtype=torch.bool)
        self.tables = {}
        self.lengths = {}

    @property
    def n_free_blocks(self):
        return self.is_free.sum()

    def append(self, sequence_id, keys, values):
        size = self.keys.shape[2]
        table = self.tables.get(sequence_id, torch.empty(0, dtype=torch.long))
        start = self.lengths.get(sequence_id, 0)
        positions = torch.arange(start, start + keys.shape[1])
        n_missing = int(positions[-1]) // size + 1 - len(table)
        free = self.is_free.nonzero()[:, 0]
        if n_missing > len(free):
            raise MemoryError("out of blocks")
        if n_missing > 0:
            table = torch.cat([table, free[:n_missing]])
            self.is_free[free[:n_missing]] = False
        blocks = table[positions // size]
        self.keys[blocks, :, positions % size] = keys.transpose(0, 1).to(self.keys.dtype)
        self.values[blocks, :, positions % size] = values.transpose(0, 1).to(self.values.dtype)
        self.tables[sequence_id], self.lengths[sequence_id] = table, start + keys.shape[1]

    def gather(self, sequence_id):
        positions = torch.arange(self.lengths[sequence_id])
        blocks = self.tables[sequence_id][positions // self.keys.shape[2]]
        places = positions % self.keys.shape[2]
        return tuple(s[blocks, :, places].transpose(0, 1) for s in (self.keys, self.values))

    def block_table(self, sequence_id):
        return self.tables[sequence_id]

    def rewind(self, sequence_id, n_tokens):
        length = self.lengths[sequence_id] - n_tokens
        if n_tokens < 0 or length < 0:
            raise ValueError("cannot rewind that far")
        if length == 0:
            return self.free(sequence_id)
        table, n_kept = self.tables[sequence_id], (length - 1) // self.keys.shape[2] + 1
        self.is_free[table[n_kept:]] = True
        self.tables[sequence_id], self.lengths[sequence_id] = table[:n_kept], length

    def free(self, sequence_id):
        self.is_free[self.tables.pop(sequence_id)] = True
        self.lengths.pop(sequence_id)
""",
    ),
]

STORES = [*ARENA, *RING, *PAGED]
