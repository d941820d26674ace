"""Wrong answers to `flash_flops`: edits of the reference, or the whole answer."""

# fails pairs_cost_the_same_in_any_tiles

# %% five for each score
# - softmax = 4 * n_rows**2
softmax = 5 * n_rows**2

# %% no softmax
# - return scores + softmax + output + merging
return scores + output + merging

# %% D additions for D products
# - scores = n_rows**2 * (2 * head_dim - 1)
scores = n_rows**2 * 2 * head_dim

# %% one product
# - return scores + softmax + output + merging
return scores + softmax + merging

# %% multiplications alone
# - merging = n_turns * n_rows * (4 * head_dim + 7)
merging = n_turns * n_rows * (4 * head_dim + 7)
scores //= 2

# fails every_turn_merges_every_row

# %% sums over all keys
# - output = 2 * n_rows**2 * head_dim - n_turns * n_rows * head_dim
output = 2 * n_rows**2 * head_dim - n_rows * head_dim

# %% merging once for a row
# - merging = n_turns * n_rows * (4 * head_dim + 7)
merging = n_rows * (4 * head_dim + 7)

# %% as many additions as products
# - return scores + softmax + output + merging
return scores + n_rows**2 + softmax + 2 * n_rows**2 * head_dim + merging

# %% merging is free
# - return scores + softmax + output + merging
return scores + softmax + output

# %% O merged, l and m not
# - merging = n_turns * n_rows * (4 * head_dim + 7)
merging = n_turns * n_rows * 4 * head_dim

# fails pairs_cost_the_same_in_any_tiles every_turn_merges_every_row
#   a_tile_not_full_is_merged_too

# %% as the standard does
# - return scores + softmax + output + merging
return standard_flops(n_rows, head_dim)

# fails a_tile_not_full_is_merged_too

# %% turns rounded down
# - n_turns = ceil(n_rows / tile_kv)
n_turns = n_rows // tile_kv
