"""Wrong answers to `flash_flops`: edits of the reference, or the whole answer."""

# fails pairs_cost_the_same_in_any_tiles

# %% five for each score
# = 4 * n_rows**2 => 5 * n_rows**2

# %% no softmax
# = scores + softmax + output => scores + output

# %% D additions for D products
# = n_rows**2 * (2 * head_dim - 1) => n_rows**2 * 2 * head_dim

# %% one product
# = scores + softmax + output + merging => scores + softmax + merging

# %% multiplications alone
# - merging = n_turns * n_rows * (4 * head_dim + 7)
merging = n_turns * n_rows * (4 * head_dim + 7)
scores //= 2

# fails every_turn_merges_every_row

# %% sums over all keys
# = n_turns * n_rows * head_dim => n_rows * head_dim

# %% merging once for a row
# = n_turns * n_rows * (4 * head_dim + 7) => n_rows * (4 * head_dim + 7)

# %% as many additions as products
# = scores + softmax + output => scores + n_rows**2 + softmax + 2 * n_rows**2 * head_dim

# %% merging is free
# = scores + softmax + output + merging => scores + softmax + output

# %% O merged, l and m not
# = n_turns * n_rows * (4 * head_dim + 7) => n_turns * n_rows * 4 * head_dim

# fails pairs_cost_the_same_in_any_tiles every_turn_merges_every_row
#   a_tile_not_full_is_merged_too

# %% as the standard does
# = scores + softmax + output + merging => standard_flops(n_rows, head_dim)

# fails a_tile_not_full_is_merged_too

# %% turns rounded down
# = ceil(n_rows / tile_kv) => n_rows // tile_kv

# fails every_turn_merges_every_row

# %% one turn has no merging
# = n_turns * n_rows * (4 * head_dim + 7) => n_turns * n_rows * (4 * head_dim + 7) * (n_turns > 1)
