"""Right answers to `PagedCache`, written differently."""

# %% one owner per block, tables read off them
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

# %% lists of blocks, the free ones in a set, a plain counter
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

# %% a tensor as table, tokens scattered by index
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
        table, n_kept = self.tables[sequence_id], (length - 1) // self.keys.shape[2] + 1
        self.is_free[table[n_kept:]] = True
        self.tables[sequence_id], self.lengths[sequence_id] = table[:n_kept], length

    def free(self, sequence_id):
        self.is_free[self.tables.pop(sequence_id)] = True
        self.lengths.pop(sequence_id)

# %% all tokens at once, by index
class PagedCache:
    def __init__(self, n_blocks, block_size, n_kv_heads, head_dim, dtype=torch.float32):
        self.keys = torch.zeros(n_blocks, n_kv_heads, block_size, head_dim, dtype=dtype)
        self.values = torch.zeros(n_blocks, n_kv_heads, block_size, head_dim, dtype=dtype)
        self.block_size, self.unused = block_size, list(range(n_blocks))
        self.table, self.length = {}, {}

    @property
    def n_free_blocks(self):
        return len(self.unused)

    def append(self, sequence_id, keys, values):
        start, n_new = self.length.get(sequence_id, 0), keys.shape[1]
        table = self.table.get(sequence_id, [])
        n_more = (start + n_new + self.block_size - 1) // self.block_size - len(table)
        if n_more > len(self.unused):
            raise MemoryError("no room")
        table = table + [self.unused.pop() for _ in range(n_more)]
        positions = torch.arange(start, start + n_new)
        blocks = torch.tensor(table)[positions // self.block_size]
        places = positions % self.block_size
        self.keys[blocks, :, places] = keys.transpose(0, 1)
        self.values[blocks, :, places] = values.transpose(0, 1)
        self.table[sequence_id], self.length[sequence_id] = table, start + n_new

    def gather(self, sequence_id):
        n, table = self.length[sequence_id], self.table[sequence_id]
        parts = (store[table].transpose(0, 1) for store in (self.keys, self.values))
        return tuple(part.reshape(part.shape[0], -1, part.shape[-1])[:, :n] for part in parts)

    def block_table(self, sequence_id):
        return self.table[sequence_id]

    def rewind(self, sequence_id, n_tokens):
        if n_tokens < 0 or n_tokens > self.length[sequence_id]:
            raise ValueError("too far")
        self.length[sequence_id] -= n_tokens
        n_kept = (self.length[sequence_id] + self.block_size - 1) // self.block_size
        self.unused += self.table[sequence_id][n_kept:]
        self.table[sequence_id] = self.table[sequence_id][:n_kept]

    def free(self, sequence_id):
        self.unused += self.table.pop(sequence_id)
        del self.length[sequence_id]
