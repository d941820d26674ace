"""Wrong answers to `PagedCache`: edits of the reference, or the whole answer."""

# fails gather_returns_the_tokens_in_order

# %% gathers whole blocks
# = return keys.flatten(1, 2)[:, :length], values.flatten(1, 2)[:, :length] => return keys.flatten(1, 2), values.flatten(1, 2)

# %% gathers blocks in the order of the storage
# - table, length = self.tables[sequence_id], self.lengths[sequence_id]
table, length = sorted(self.tables[sequence_id]), self.lengths[sequence_id]

# %% gathers the keys twice
# = values.flatten(1, 2)[:, :length] => keys.flatten(1, 2)[:, :length]

# %% gathers in the order of the storage, and takes the block that is free for longest
# = self.free_blocks.pop() => self.free_blocks.pop(0)
# - table, length = self.tables[sequence_id], self.lengths[sequence_id]
table, length = sorted(self.tables[sequence_id]), self.lengths[sequence_id]

# fails a_sequence_takes_just_enough_blocks a_write_into_a_shared_block_is_made_in_a_copy
#   a_copy_needs_a_free_block a_family_of_forks_keeps_its_tokens

# %% a new block for every append
# = -(-end // block_size) - len(table) => -(-keys.shape[1] // block_size)

# fails a_sequence_takes_just_enough_blocks rewind_gives_emptied_blocks_back
#   running_out_of_blocks_changes_nothing a_fork_has_the_tokens_and_takes_no_block
#   a_write_into_a_shared_block_is_made_in_a_copy a_shared_block_is_freed_by_its_last_sequence
#   a_copy_needs_a_free_block (a_family_of_forks_keeps_its_tokens)

# %% takes the next block as soon as one is full
# = -(-end // block_size) - len(table) => max(0, end // block_size + 1 - len(table))

# fails a_sequence_takes_just_enough_blocks the_block_table_says_where_tokens_lie
#   rewind_gives_emptied_blocks_back

# %% stores everything in 32 bits
# = torch.zeros(shape, dtype=dtype, device=device) => torch.zeros(shape)

# fails gather_returns_the_tokens_in_order the_block_table_says_where_tokens_lie
#   running_out_of_blocks_changes_nothing every_block_has_one_owner_through_a_long_life
#   a_fork_has_the_tokens_and_takes_no_block a_write_into_a_shared_block_is_made_in_a_copy
#   a_shared_block_is_freed_by_its_last_sequence a_fork_that_cannot_be_is_refused
#   a_copy_needs_a_free_block a_new_sequence_begins_with_the_blocks_found
#   a_family_of_forks_keeps_its_tokens a_name_ends_with_the_tokens_it_stands_for

# %% fills blocks from the back
# = self.keys[blocks, :, positions % block_size] => self.keys[blocks, :, -1 - positions % block_size]

# fails gather_returns_the_tokens_in_order running_out_of_blocks_changes_nothing
#   every_block_has_one_owner_through_a_long_life a_write_into_a_shared_block_is_made_in_a_copy
#   a_shared_block_is_freed_by_its_last_sequence a_fork_that_cannot_be_is_refused
#   a_copy_needs_a_free_block a_new_sequence_begins_with_the_blocks_found
#   a_family_of_forks_keeps_its_tokens a_name_ends_with_the_tokens_it_stands_for

# %% all sequences share one table
# = list(self.tables.get(sequence_id, [])) => next(iter(self.tables.values()), [])

# fails rewind_gives_emptied_blocks_back a_shared_block_is_freed_by_its_last_sequence
#   a_copy_needs_a_free_block a_family_of_forks_keeps_its_tokens

# %% keeps a block that a rewind has emptied
# = -(-(length - n_tokens) // self.keys.shape[2]) => (length - n_tokens) // self.keys.shape[2] + 1

# fails rewind_gives_emptied_blocks_back a_shared_block_is_freed_by_its_last_sequence
#   (a_family_of_forks_keeps_its_tokens a_copy_needs_a_free_block)

# %% a sequence without tokens is forgotten
# - self.lengths[sequence_id] = length - n_tokens
self.lengths[sequence_id] = length - n_tokens
if n_tokens == length:
    del self.tables[sequence_id], self.lengths[sequence_id]

# fails rewind_gives_emptied_blocks_back

# %% rewinds past the beginning
# - if not 0 <= n_tokens <= length:
# -     raise ValueError(f"cannot rewind {n_tokens} of {length} cached tokens")
n_tokens = min(n_tokens, length)
if False:
    raise ValueError(f"cannot rewind {n_tokens} of {length} cached tokens")

# %% rewinds forward
# = not 0 <= n_tokens <= length => n_tokens > length

# fails gather_returns_the_tokens_in_order rewind_gives_emptied_blocks_back
#   every_block_has_one_owner_through_a_long_life a_copy_needs_a_free_block
#   a_name_ends_with_the_tokens_it_stands_for a_family_of_forks_keeps_its_tokens

# %% frees a block too many
# = -(-(length - n_tokens) // self.keys.shape[2]) => (length - n_tokens) // self.keys.shape[2]

# fails rewind_gives_emptied_blocks_back every_block_has_one_owner_through_a_long_life
#   a_copy_needs_a_free_block a_family_of_forks_keeps_its_tokens

# %% a rewound block is free and still in the table
# = table[:n_kept_blocks] => table

# %% frees the first blocks
# - self._leave(table[n_kept_blocks:])
# - self.tables[sequence_id] = table[:n_kept_blocks]
n_rewound = len(table) - n_kept_blocks
self._leave(table[:n_rewound])
self.tables[sequence_id] = table[n_rewound:]

# fails rewind_gives_emptied_blocks_back every_block_has_one_owner_through_a_long_life
#   a_shared_block_is_freed_by_its_last_sequence a_copy_needs_a_free_block
#   a_family_of_forks_keeps_its_tokens

# %% a rewound block is lost
# = table[n_kept_blocks:] => []

# fails running_out_of_blocks_changes_nothing a_copy_needs_a_free_block

# %% takes blocks until an IndexError
# = (n_needed := n_missing + n_copies) > self.n_free_blocks => (n_needed := -1) >= 0

# %% counts the tokens before it refuses them
# - n_missing = -(-end // block_size) - len(table)
n_missing = -(-end // block_size) - len(table)
self.lengths[sequence_id] = end

# fails running_out_of_blocks_changes_nothing a_fork_that_cannot_be_is_refused
#   a_copy_needs_a_free_block

# %% takes the last free blocks before it refuses
# - raise MemoryError(f"{n_needed} blocks are needed, {self.n_free_blocks} are free")
self.tables[sequence_id] = table + self.free_blocks
self.lengths.setdefault(sequence_id, start)
self.free_blocks = []
raise MemoryError(f"{n_needed} blocks are needed, {self.n_free_blocks} are free")

# fails running_out_of_blocks_changes_nothing a_shared_block_is_freed_by_its_last_sequence
#   a_copy_needs_a_free_block (a_family_of_forks_keeps_its_tokens)

# %% leaves the last block unused
# = n_copies) > self.n_free_blocks => n_copies) >= self.n_free_blocks > -1

# fails every_block_has_one_owner_through_a_long_life a_shared_block_is_freed_by_its_last_sequence
#   a_fork_that_cannot_be_is_refused a_name_ends_with_the_tokens_it_stands_for
#   a_family_of_forks_keeps_its_tokens

# %% freed blocks are lost
# = self._leave(self.tables.pop(sequence_id)) => self.tables.pop(sequence_id)

# %% frees only the first block
# = self.tables.pop(sequence_id) => self.tables.pop(sequence_id)[:1]

# fails every_block_has_one_owner_through_a_long_life a_family_of_forks_keeps_its_tokens

# %% an id that is used anew starts at its old length
# = del self.lengths[sequence_id] => pass

# fails a_sequence_takes_just_enough_blocks rewind_gives_emptied_blocks_back
#   running_out_of_blocks_changes_nothing every_block_has_one_owner_through_a_long_life
#   a_fork_has_the_tokens_and_takes_no_block a_write_into_a_shared_block_is_made_in_a_copy
#   a_shared_block_is_freed_by_its_last_sequence a_fork_that_cannot_be_is_refused
#   a_copy_needs_a_free_block a_new_sequence_begins_with_the_blocks_found
#   a_family_of_forks_keeps_its_tokens

# %% the count of free blocks is no number
# - return len(self.free_blocks)
return type('Blocks', (__import__('fractions').Fraction,), {})(len(self.free_blocks))

# fails the_block_table_says_where_tokens_lie

# %% a new storage when a sequence is freed
# - self._leave(self.tables.pop(sequence_id))
self._leave(self.tables.pop(sequence_id))
self.values = self.values.clone()

# fails a_write_into_a_shared_block_is_made_in_a_copy a_copy_needs_a_free_block
#   a_family_of_forks_keeps_its_tokens

# %% copy on write forgotten
# = int(writes_last and self.n_references[table[-1]] > 1) => 0

# fails a_copy_needs_a_free_block a_family_of_forks_keeps_its_tokens

# %% the fork copies, the parent writes into the shared block
# = self.n_references[table[-1]] > 1) => self.n_references[table[-1]] > 1 and sequence_id != min(self.tables))

# fails a_write_into_a_shared_block_is_made_in_a_copy a_family_of_forks_keeps_its_tokens

# %% the block is copied, and the old one keeps its count
# = self._leave([shared]) => pass

# %% the copy has the keys and not the values
# - self.keys[table[-1]], self.values[table[-1]] = self.keys[shared], self.values[shared]
self.keys[table[-1]] = self.keys[shared]

# %% fork and parent have one table between them
# = list(table), length => table, length
# = list(self.tables.get(sequence_id, [])) => self.tables.get(sequence_id, [])

# fails a_write_into_a_shared_block_is_made_in_a_copy a_shared_block_is_freed_by_its_last_sequence
#   a_fork_that_cannot_be_is_refused a_copy_needs_a_free_block
#   a_name_ends_with_the_tokens_it_stands_for a_family_of_forks_keeps_its_tokens

# %% a block that was shared once is copied for ever
# - self.n_references[block] += 1
self.n_references[block] += 1000

# %% frees blocks that another sequence has
# = if self.n_references[block] == 0: => if True:

# fails a_copy_needs_a_free_block

# %% the free block for the copy is not counted
# = (n_needed := n_missing + n_copies) > self.n_free_blocks => (n_needed := n_missing) > self.n_free_blocks

# fails a_shared_block_is_freed_by_its_last_sequence a_fork_that_cannot_be_is_refused
#   a_name_ends_with_the_tokens_it_stands_for (a_family_of_forks_keeps_its_tokens)

# %% the count is not lowered when a sequence is freed
# - self._leave(self.tables.pop(sequence_id))
table = self.tables.pop(sequence_id)
self._leave([block for block in table if self.n_references[block] == 1])

# fails a_fork_has_the_tokens_and_takes_no_block a_write_into_a_shared_block_is_made_in_a_copy
#   a_copy_needs_a_free_block a_family_of_forks_keeps_its_tokens

# %% the fork copies every block
# - self._begin(new_id, self.tables[sequence_id], self.lengths[sequence_id])
self._begin(new_id, [], 0)
self.append(new_id, *self.gather(sequence_id))

# fails a_fork_that_cannot_be_is_refused

# %% a fork of a freed sequence is an empty one
# - raise ValueError(f"there is no sequence {sequence_id} to fork")
return self._begin(new_id, [], 0)

# %% a fork of a freed sequence is a KeyError
# - raise ValueError(f"there is no sequence {sequence_id} to fork")
raise KeyError(sequence_id)

# %% a fork takes the place of a sequence that exists
# = if new_id in self.tables: => if False:

# %% counts the blocks before it refuses the id
# - if new_id in self.tables:
# -     raise ValueError(f"there is a sequence {new_id} already")
# - for block in table:
# -     self.n_references[block] += 1
for block in table:
    self.n_references[block] += 1
if new_id in self.tables:
    raise ValueError(f"there is a sequence {new_id} already")

# fails a_new_sequence_begins_with_the_blocks_found

# %% goes on after an unknown hash
# - table = [self.named[name] for name in takewhile(self.named.__contains__, hashes)]
table = [self.named[name] for name in hashes if name in self.named]

# %% names the last block, which is not full
# = [:n_full] => [: n_full + 1]

# fails a_new_sequence_begins_with_the_blocks_found a_name_ends_with_the_tokens_it_stands_for

# %% returns the number of blocks
# = return self.lengths[new_id] => return len(table)

# fails a_name_ends_with_the_tokens_it_stands_for

# %% a free block keeps its name
# - if self.n_references[block] == 0:
# -     self._forget_name(block)
# -     self.free_blocks.append(block)
if self.n_references[block] == 0:
    self.free_blocks.append(block)

# %% a block that is written again keeps its name
# = elif writes_last: => elif False:

# %% the name of a block that was copied ends
# - self._leave([shared])
self._forget_name(shared)
self._leave([shared])

# %% the name goes to the copy
# - self._leave([shared])
self.named = {name: table[-1] if one == shared else one for name, one in self.named.items()}
self._leave([shared])

# %% a hash that names a block moves to another
# = self.named.setdefault(name, block) => self.named[name] = block

# %% one name of a free block ends, and others stay
# - self.named = {name: other for name, other in self.named.items() if other != block}
name = next((name for name, other in self.named.items() if other == block), None)
self.named.pop(name, None)

# fails a_write_into_a_shared_block_is_made_in_a_copy (a_family_of_forks_keeps_its_tokens)

# %% a full block that is shared is copied
# - writes_last = start % block_size > 0
writes_last = start > 0
# - n_copies = int(writes_last and self.n_references[table[-1]] > 1)
n_copies = int(writes_last and self.n_references[table[-1]] > 1 and bool(table))
# = elif writes_last: => elif start % block_size > 0:

# fails a_fork_that_cannot_be_is_refused

# %% a refused first append leaves an empty sequence
# = table = list(self.tables.get(sequence_id, [])) => table = list(self.tables.setdefault(sequence_id, []))
# = start = self.keys.shape[2], self.lengths.get(sequence_id, 0) => start = self.keys.shape[2], self.lengths.setdefault(sequence_id, 0)
