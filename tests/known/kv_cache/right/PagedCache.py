"""Right answers to `PagedCache`, written differently."""

# %% no counts: a block is used if a table has it
class PagedCache:
    def __init__(self, n_blocks, block_size, n_kv_heads, head_dim, dtype=torch.float32):
        self.keys = torch.empty(n_blocks, n_kv_heads, block_size, head_dim, dtype=dtype)
        self.values = torch.empty(n_blocks, n_kv_heads, block_size, head_dim, dtype=dtype)
        self.sequences = {}
        self.hashes = {}

    def _free(self):
        used = {block for table, _ in self.sequences.values() for block in table}
        for block in [block for block in self.hashes if block not in used]:
            del self.hashes[block]
        return [block for block in range(len(self.keys)) if block not in used]

    @property
    def n_free_blocks(self):
        return len(self._free())

    def block_table(self, sequence_id):
        return self.sequences[sequence_id][0]

    def append(self, sequence_id, keys, values):
        size, free = self.keys.shape[2], self._free()
        table, length = self.sequences.get(sequence_id, ([], 0))
        table, last = list(table), None
        if length % size:
            last = table[-1]
            if any(last in other for one, (other, _) in self.sequences.items() if one != sequence_id):
                table.pop()
        n_needed = (length + keys.shape[1] + size - 1) // size
        if n_needed - len(table) > len(free):
            raise MemoryError("no block left")
        if last is not None and len(table) == length // size:
            self.keys[free[0]] = self.keys[last]
            self.values[free[0]] = self.values[last]
        elif last is not None:
            self.hashes.pop(last, None)
        table += free[: n_needed - len(table)]
        for i in range(keys.shape[1]):
            index, place = divmod(length + i, size)
            self.keys[table[index], :, place] = keys[:, i]
            self.values[table[index], :, place] = values[:, i]
        self.sequences[sequence_id] = (table, length + keys.shape[1])

    def gather(self, sequence_id):
        table, length = self.sequences[sequence_id]
        return [
            torch.cat([store[block] for block in table] or [store[0, :, :0]], dim=1)[:, :length]
            for store in (self.keys, self.values)
        ]

    def rewind(self, sequence_id, n_tokens):
        table, length = self.sequences[sequence_id]
        if n_tokens < 0 or n_tokens > length:
            raise ValueError("out of range")
        length -= n_tokens
        n_kept = (length + self.keys.shape[2] - 1) // self.keys.shape[2]
        self.sequences[sequence_id] = (table[:n_kept], length)
        self._free()

    def free(self, sequence_id):
        del self.sequences[sequence_id]
        self._free()

    def fork(self, sequence_id, new_id):
        if sequence_id not in self.sequences or new_id in self.sequences:
            raise ValueError("cannot fork")
        self.sequences[new_id] = self.sequences[sequence_id]

    def name_blocks(self, sequence_id, hashes):
        table, length = self.sequences[sequence_id]
        for one, block in zip(hashes, table[: length // self.keys.shape[2]]):
            if one not in self.hashes.values():
                self.hashes[block] = one

    def begin(self, new_id, hashes):
        if new_id in self.sequences:
            raise ValueError("the id is taken")
        table = []
        for one in hashes:
            block = next((block for block, name in self.hashes.items() if name == one), None)
            if block is None:
                break
            table.append(block)
        self.sequences[new_id] = (table, len(table) * self.keys.shape[2])
        return self.sequences[new_id][1]

# %% lists of blocks, the free ones in a set, sets of users
class PagedCache:
    def __init__(self, n_blocks, block_size, n_kv_heads, head_dim, dtype=torch.float32):
        shape = (n_kv_heads, block_size, head_dim)
        self.keys = [torch.zeros(shape, dtype=dtype) for _ in range(n_blocks)]
        self.values = [torch.zeros(shape, dtype=dtype) for _ in range(n_blocks)]
        self.block_size, self.n_free_blocks = block_size, n_blocks
        self.users = [set() for _ in range(n_blocks)]
        self.names = [set() for _ in range(n_blocks)]
        self.sequences = {}

    def _take(self, sequence_id):
        block = next(block for block, users in enumerate(self.users) if not users)
        self.users[block].add(sequence_id)
        self.n_free_blocks -= 1
        return block

    def _drop(self, sequence_id, block):
        self.users[block].remove(sequence_id)
        if not self.users[block]:
            self.names[block].clear()
            self.n_free_blocks += 1

    def append(self, sequence_id, keys, values):
        table, length = self.sequences.get(sequence_id, ([], 0))
        copies = length % self.block_size > 0 and len(self.users[table[-1]]) > 1
        room = (len(table) + self.n_free_blocks - copies) * self.block_size
        if length + keys.shape[1] > room or copies > self.n_free_blocks:
            raise MemoryError(f"room for {room - length} tokens")
        table = list(table)
        if copies:
            old, new = table[-1], self._take(sequence_id)
            self.keys[new][:], self.values[new][:] = self.keys[old], self.values[old]
            self._drop(sequence_id, old)
            table[-1] = new
        for i in range(keys.shape[1]):
            place = length % self.block_size
            if length == len(table) * self.block_size:
                table.append(self._take(sequence_id))
            self.names[table[-1]].clear()
            self.keys[table[-1]][:, place] = keys[:, i]
            self.values[table[-1]][:, place] = values[:, i]
            length += 1
        self.sequences[sequence_id] = (table, length)

    def gather(self, sequence_id):
        table, length = self.sequences[sequence_id]
        where = [divmod(i, self.block_size) for i in range(length)]
        if not where:
            return self.keys[0][:, :0], self.values[0][:, :0]
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
            self._drop(sequence_id, table.pop())
        self.sequences[sequence_id] = (table, length)

    def free(self, sequence_id):
        self.rewind(sequence_id, self.sequences[sequence_id][1])
        del self.sequences[sequence_id]

    def fork(self, sequence_id, new_id):
        if sequence_id not in self.sequences:
            raise ValueError(f"{sequence_id} is unknown")
        table, length = self.sequences[sequence_id]
        self._share(new_id, table, length)

    def _share(self, new_id, table, length):
        if new_id in self.sequences:
            raise ValueError(f"{new_id} is taken")
        for block in table:
            self.users[block].add(new_id)
        self.sequences[new_id] = (list(table), length)

    def name_blocks(self, sequence_id, hashes):
        table, length = self.sequences[sequence_id]
        for i in range(min(len(hashes), length // self.block_size)):
            self.names[table[i]].add(hashes[i])

    def begin(self, new_id, hashes):
        table = []
        for one in hashes:
            found = [block for block, names in enumerate(self.names) if one in names]
            if not found:
                break
            table.append(found[0])
        self._share(new_id, table, len(table) * self.block_size)
        return len(table) * self.block_size

# %% tensors as tables and counts, tokens scattered by index
class PagedCache:
    def __init__(self, n_blocks, block_size, n_kv_heads, head_dim, dtype=torch.float32):
        self.keys = torch.zeros(n_blocks, n_kv_heads, block_size, head_dim, dtype=dtype)
        self.values = torch.zeros(n_blocks, n_kv_heads, block_size, head_dim, dtype=dtype)
        self.counts = torch.zeros(n_blocks, dtype=torch.long)
        self.tables, self.lengths, self.found = {}, {}, {}

    @property
    def n_free_blocks(self):
        return (self.counts == 0).sum()

    def append(self, sequence_id, keys, values):
        size = self.keys.shape[2]
        table = self.tables.get(sequence_id, torch.empty(0, dtype=torch.long)).clone()
        start = self.lengths.get(sequence_id, 0)
        positions = torch.arange(start, start + keys.shape[1])
        n_missing = int(positions[-1]) // size + 1 - len(table)
        free = (self.counts == 0).nonzero()[:, 0]
        copies = bool(start % size) and int(self.counts[table[-1]]) > 1
        if n_missing + copies > len(free):
            raise MemoryError("out of blocks")
        if copies:
            self.keys[free[-1]] = self.keys[table[-1]]
            self.values[free[-1]] = self.values[table[-1]]
            self.counts[table[-1]] -= 1
            table[-1] = free[-1]
            self.counts[free[-1]] = 1
        if n_missing > 0:
            table = torch.cat([table, free[:n_missing]])
            self.counts[free[:n_missing]] = 1
        blocks = table[positions // size]
        self.found = {h: b for h, b in self.found.items() if b not in blocks.tolist()}
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

    def _leave(self, blocks):
        self.counts[blocks] -= 1
        self.found = {h: b for h, b in self.found.items() if self.counts[b] > 0}

    def rewind(self, sequence_id, n_tokens):
        length = self.lengths[sequence_id] - n_tokens
        if n_tokens < 0 or length < 0:
            raise ValueError("cannot rewind that far")
        table, n_kept = self.tables[sequence_id], (length - 1) // self.keys.shape[2] + 1
        self._leave(table[n_kept:])
        self.tables[sequence_id], self.lengths[sequence_id] = table[:n_kept], length

    def free(self, sequence_id):
        self._leave(self.tables.pop(sequence_id))
        self.lengths.pop(sequence_id)

    def fork(self, sequence_id, new_id):
        if sequence_id not in self.lengths or new_id in self.lengths:
            raise ValueError("no such fork")
        self.tables[new_id] = self.tables[sequence_id].clone()
        self.lengths[new_id] = self.lengths[sequence_id]
        self.counts[self.tables[new_id]] += 1

    def name_blocks(self, sequence_id, hashes):
        n_full = self.lengths[sequence_id] // self.keys.shape[2]
        for one, block in zip(hashes, self.tables[sequence_id][:n_full].tolist()):
            self.found.setdefault(one, block)

    def begin(self, new_id, hashes):
        if new_id in self.lengths:
            raise ValueError("begin with an id that is not used")
        blocks = []
        while len(blocks) < len(hashes) and hashes[len(blocks)] in self.found:
            blocks.append(self.found[hashes[len(blocks)]])
        self.tables[new_id] = torch.tensor(blocks, dtype=torch.long)
        self.counts[self.tables[new_id]] += 1
        self.lengths[new_id] = len(blocks) * self.keys.shape[2]
        return self.lengths[new_id]

# %% as vLLM: blocks with a count and a hash, a queue of free ones, one write by slots
class PagedCache:
    class Block:
        def __init__(self, number):
            self.number, self.ref_cnt, self.block_hash = number, 0, None

    def __init__(self, n_blocks, block_size, n_kv_heads, head_dim, dtype=torch.float32):
        self.keys = torch.zeros(n_blocks, n_kv_heads, block_size, head_dim, dtype=dtype)
        self.values = torch.zeros(n_blocks, n_kv_heads, block_size, head_dim, dtype=dtype)
        self.block_size = block_size
        self.queue = [self.Block(i) for i in range(n_blocks)]
        self.hash_to_block, self.table, self.length = {}, {}, {}

    @property
    def n_free_blocks(self):
        return len(self.queue)

    def _allocate(self):
        block = self.queue.pop(0)
        block.ref_cnt = 1
        return block

    def _uncache(self, block):
        if block.block_hash is not None:
            del self.hash_to_block[block.block_hash]
            block.block_hash = None

    def _release(self, blocks):
        for block in reversed(blocks):
            block.ref_cnt -= 1
            if block.ref_cnt == 0:
                self._uncache(block)
                self.queue.append(block)

    def append(self, sequence_id, keys, values):
        start, n_new = self.length.get(sequence_id, 0), keys.shape[1]
        table = list(self.table.get(sequence_id, []))
        n_more = (start + n_new + self.block_size - 1) // self.block_size - len(table)
        is_partial = start < len(table) * self.block_size
        must_copy = is_partial and table[-1].ref_cnt > 1
        if n_more + must_copy > len(self.queue):
            raise MemoryError("no room")
        if must_copy:
            source, table[-1] = table[-1], self._allocate()
            for store in (self.keys, self.values):
                store[table[-1].number].copy_(store[source.number])
            self._release([source])
        elif is_partial:
            self._uncache(table[-1])
        table += [self._allocate() for _ in range(n_more)]
        slots = torch.tensor(
            [
                table[i // self.block_size].number * self.block_size + i % self.block_size
                for i in range(start, start + n_new)
            ]
        )
        for store, new in ((self.keys, keys), (self.values, values)):
            store[slots // self.block_size, :, slots % self.block_size] = new.transpose(0, 1)
        self.table[sequence_id], self.length[sequence_id] = table, start + n_new

    def gather(self, sequence_id):
        n, table = self.length[sequence_id], self.block_table(sequence_id)
        parts = (store[table].transpose(0, 1) for store in (self.keys, self.values))
        return tuple(part.flatten(1, 2)[:, :n] for part in parts)

    def block_table(self, sequence_id):
        return [block.number for block in self.table[sequence_id]]

    def rewind(self, sequence_id, n_tokens):
        if n_tokens < 0 or n_tokens > self.length[sequence_id]:
            raise ValueError("too far")
        self.length[sequence_id] -= n_tokens
        n_kept = (self.length[sequence_id] + self.block_size - 1) // self.block_size
        self._release(self.table[sequence_id][n_kept:])
        del self.table[sequence_id][n_kept:]

    def free(self, sequence_id):
        self._release(self.table.pop(sequence_id))
        del self.length[sequence_id]

    def fork(self, sequence_id, new_id):
        if sequence_id not in self.table or new_id in self.table:
            raise ValueError("fork a living sequence to a new id")
        self._touch(new_id, self.table[sequence_id], self.length[sequence_id])

    def _touch(self, new_id, blocks, length):
        for block in blocks:
            block.ref_cnt += 1
        self.table[new_id], self.length[new_id] = list(blocks), length

    def name_blocks(self, sequence_id, hashes):
        n_full = self.length[sequence_id] // self.block_size
        for block_hash, block in zip(hashes, self.table[sequence_id][:n_full]):
            if block_hash not in self.hash_to_block and block.block_hash is None:
                block.block_hash = block_hash
                self.hash_to_block[block_hash] = block

    def begin(self, new_id, hashes):
        if new_id in self.table:
            raise ValueError("this id is in use")
        blocks = []
        for block_hash in hashes:
            block = self.hash_to_block.get(block_hash)
            if block is None:
                break
            blocks.append(block)
        self._touch(new_id, blocks, len(blocks) * self.block_size)
        return self.length[new_id]
