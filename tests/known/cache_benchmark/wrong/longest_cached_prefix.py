"""Wrong answers to `longest_cached_prefix`: edits of the reference, or the whole answer."""

# fails cached_blocks_are_counted_in_tokens the_first_miss_ends_it one_token_is_left_to_compute

# %% always a block fewer
# = min(n_hits, (n_tokens - 1) // block_size) => max(0, n_hits - 1)

# %% one block at least
# = min(n_hits, (n_tokens - 1) // block_size) => max(1, min(n_hits, (n_tokens - 1) // block_size))

# fails cached_blocks_are_counted_in_tokens one_token_is_left_to_compute

# %% a block fewer where all are found
# = min(n_hits, (n_tokens - 1) // block_size) => (n_hits - (0 < n_hits == len(hashes)))

# fails cached_blocks_are_counted_in_tokens the_first_miss_ends_it one_token_is_left_to_compute
#   any_container_will_do

# %% one block, whatever is cached
# = min(n_hits, (n_tokens - 1) // block_size) * block_size => block_size

# %% blocks
# - return min(n_hits, (n_tokens - 1) // block_size) * block_size
return min(n_hits, (n_tokens - 1) // block_size)

# %% asks for the block
# = block_hash not in cached => cached[block_hash] is None

# fails cached_blocks_are_counted_in_tokens the_first_miss_ends_it

# %% the missing block too
# - break
n_hits += 1
break

# fails cached_blocks_are_counted_in_tokens

# %% a short prompt is found whole
# - return min(n_hits, (n_tokens - 1) // block_size) * block_size
return min(n_hits, (n_tokens - 1) // block_size) * block_size if hashes else n_tokens

# fails cached_blocks_are_counted_in_tokens the_first_miss_ends_it any_container_will_do

# %% all or nothing
# - return min(n_hits, (n_tokens - 1) // block_size) * block_size
return min(n_hits, (n_tokens - 1) // block_size) * block_size * (n_hits == len(hashes))

# fails the_first_miss_ends_it

# %% all hits, wherever they are
# = break => continue

# fails one_token_is_left_to_compute

# %% nothing left to compute
# = min(n_hits, (n_tokens - 1) // block_size) => n_hits

# %% all but one token
# = min(n_hits, (n_tokens - 1) // block_size) * block_size => min(n_hits * block_size, n_tokens - 1)

# fails any_container_will_do

# %% sets alone
# = block_hash not in cached => not cached & {block_hash}

# fails cached_blocks_are_counted_in_tokens the_first_miss_ends_it one_token_is_left_to_compute
#   any_container_will_do

# %% a hash of 0 is not found
# = if block_hash not in cached: => if not block_hash or block_hash not in cached:
