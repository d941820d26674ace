"""Wrong answers to `PagedCache`: edits of the reference, or the whole answer."""

# fails gather_returns_the_tokens_in_order

# %% gathers whole blocks
# = return keys[:, :length], values[:, :length] => return keys, values

# %% gathers blocks in the order of the storage
# - table, length = self.tables[sequence_id], self.lengths[sequence_id]
table, length = sorted(self.tables[sequence_id]), self.lengths[sequence_id]

# %% gathers the keys twice
# = values[:, :length] => keys[:, :length]

# %% gathers in the order of the storage, and frees at the end of the queue
class PagedCache:
    def __init__(
        self,
        n_blocks: int,
        block_size: int,
        n_kv_heads: int,
        head_dim: int,
        dtype: torch.dtype = torch.float32,
    ) -> None:
        self.keys = torch.zeros(n_blocks, n_kv_heads, block_size, head_dim, dtype=dtype)
        self.values = torch.zeros(n_blocks, n_kv_heads, block_size, head_dim, dtype=dtype)
        self.block_size = block_size
        self._free = list(range(n_blocks))
        self._tables = {}
        self._lengths = {}

    @property
    def n_free_blocks(self) -> int:
        return len(self._free)

    def append(self, sequence_id: int, keys: Tensor, values: Tensor) -> None:
        length = self._lengths.get(sequence_id, 0)
        table = self._tables.get(sequence_id, [])
        n_new = keys.shape[1]
        wanted = -(-(length + n_new) // self.block_size) - len(table)
        if wanted > len(self._free):
            raise MemoryError(f"{wanted} blocks wanted, {len(self._free)} free")
        table = table + [self._free.pop(0) for _ in range(wanted)]
        for t in range(n_new):
            block, place = divmod(length + t, self.block_size)
            self.keys[table[block], :, place] = keys[:, t]
            self.values[table[block], :, place] = values[:, t]
        self._tables[sequence_id] = table
        self._lengths[sequence_id] = length + n_new

    def gather(self, sequence_id: int) -> LayerCache:
        table, length = self._tables[sequence_id], self._lengths[sequence_id]
        keys = self.keys[sorted(table)].transpose(0, 1).flatten(1, 2)[:, :length]
        values = self.values[sorted(table)].transpose(0, 1).flatten(1, 2)[:, :length]
        return keys, values

    def block_table(self, sequence_id: int) -> list[int]:
        return list(self._tables[sequence_id])

    def rewind(self, sequence_id: int, n_tokens: int) -> None:
        length = self._lengths[sequence_id]
        if not 0 <= n_tokens <= length:
            raise ValueError(f"cannot rewind {n_tokens} of {length} tokens")
        length -= n_tokens
        table = self._tables[sequence_id]
        keep = -(-length // self.block_size)
        self._free.extend(table[keep:])
        self._tables[sequence_id] = table[:keep]
        self._lengths[sequence_id] = length

    def free(self, sequence_id: int) -> None:
        self._free.extend(self._tables.pop(sequence_id))
        del self._lengths[sequence_id]

# fails a_sequence_takes_just_enough_blocks

# %% a new block for every append
# = -(-end // block_size) - len(table) => -(-keys.shape[1] // block_size)

# fails a_sequence_takes_just_enough_blocks rewind_gives_emptied_blocks_back
#   running_out_of_blocks_changes_nothing

# %% takes the next block as soon as one is full
# = -(-end // block_size) - len(table) => max(0, end // block_size + 1 - len(table))

# fails the_block_table_says_where_tokens_lie

# %% stores everything in 32 bits
# = torch.zeros(shape, dtype=dtype, device=device) => torch.zeros(shape)

# fails gather_returns_the_tokens_in_order the_block_table_says_where_tokens_lie
#   running_out_of_blocks_changes_nothing every_block_has_one_owner_through_a_long_life

# %% fills blocks from the back
# = position % block_size => -1 - position % block_size

# fails gather_returns_the_tokens_in_order running_out_of_blocks_changes_nothing
#   every_block_has_one_owner_through_a_long_life

# %% all sequences share one table
# = self.tables.get(sequence_id, []) => next(iter(self.tables.values()), [])

# fails rewind_gives_emptied_blocks_back

# %% keeps a block that a rewind has emptied
# = -(-(length - n_tokens) // self.keys.shape[2]) => (length - n_tokens) // self.keys.shape[2] + 1

# %% a sequence without tokens is forgotten
# - self.lengths[sequence_id] = length - n_tokens
self.lengths[sequence_id] = length - n_tokens
if n_tokens == length:
    del self.tables[sequence_id], self.lengths[sequence_id]

# %% rewinds past the beginning
# - if not 0 <= n_tokens <= length:
# -     raise ValueError(f"cannot rewind {n_tokens} of {length} cached tokens")
n_tokens = min(n_tokens, length)
if False:
    raise ValueError(f"cannot rewind {n_tokens} of {length} cached tokens")

# fails rewind_gives_emptied_blocks_back gather_returns_the_tokens_in_order
#   every_block_has_one_owner_through_a_long_life

# %% frees a block too many
# = -(-(length - n_tokens) // self.keys.shape[2]) => (length - n_tokens) // self.keys.shape[2]

# fails rewind_gives_emptied_blocks_back every_block_has_one_owner_through_a_long_life

# %% a rewound block is free and still in the table
# = table[:n_kept_blocks] => table

# %% a rewound block is lost
# = table[n_kept_blocks:] => []

# %% frees the first blocks
# - self.free_blocks += table[n_kept_blocks:]
# - self.tables[sequence_id] = table[:n_kept_blocks]
n_rewound = len(table) - n_kept_blocks
self.free_blocks += table[:n_rewound]
self.tables[sequence_id] = table[n_rewound:]

# fails running_out_of_blocks_changes_nothing

# %% takes blocks until an IndexError
# = n_missing > self.n_free_blocks => False

# %% takes the last free blocks before it refuses
# - raise MemoryError(f"{n_missing} blocks are needed, {self.n_free_blocks} are free")
self.tables[sequence_id] = table + self.free_blocks
self.lengths.setdefault(sequence_id, start)
self.free_blocks = []
raise MemoryError(f"{n_missing} blocks are needed, {self.n_free_blocks} are free")

# %% leaves the last block unused
# = n_missing > self.n_free_blocks => n_missing >= self.n_free_blocks

# %% counts the tokens before it refuses them
# - n_missing = -(-end // block_size) - len(table)
n_missing = -(-end // block_size) - len(table)
self.lengths[sequence_id] = end

# fails every_block_has_one_owner_through_a_long_life

# %% freed blocks are lost
# = self.free_blocks += self.tables.pop(sequence_id) => self.tables.pop(sequence_id)

# %% frees only the first block
# = self.tables.pop(sequence_id) => self.tables.pop(sequence_id)[:1]

# %% an id that is used anew starts at its old length
# = del self.lengths[sequence_id] => pass

# fails a_sequence_takes_just_enough_blocks rewind_gives_emptied_blocks_back
#   running_out_of_blocks_changes_nothing every_block_has_one_owner_through_a_long_life

# %% the count of free blocks is no number
# - return len(self.free_blocks)
return type('Blocks', (__import__('fractions').Fraction,), {})(len(self.free_blocks))

# fails rewind_gives_emptied_blocks_back

# %% rewinds forward
# = not 0 <= n_tokens <= length => n_tokens > length

# fails the_block_table_says_where_tokens_lie

# %% a new storage when a sequence is freed
# - self.free_blocks += self.tables.pop(sequence_id)
self.free_blocks += self.tables.pop(sequence_id)
self.values = self.values.clone()
