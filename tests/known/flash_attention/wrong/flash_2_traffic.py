"""Wrong answers to `flash_2_traffic`: edits of the reference, or the whole answer."""

# fails second_order_reads_keys_in_every_turn second_order_takes_a_turn_for_a_tile_not_full

# %% everything once
# = n_turns * 2 => 2

# fails second_order_reads_keys_in_every_turn

# %% Q read in every turn
# = n_rows * head_dim + n_turns * 2 * n_rows * head_dim => n_turns * 3 * n_rows * head_dim

# %% Q not read
# = n_rows * head_dim + n_turns * 2 * n_rows * head_dim => n_turns * 2 * n_rows * head_dim

# %% V not read
# = n_turns * 2 * n_rows => n_turns * n_rows

# %% Q read in every turn, K and V once
# - reads=n_rows * head_dim + n_turns * 2 * n_rows * head_dim,
reads=2 * n_rows * head_dim + n_turns * n_rows * head_dim,

# fails second_order_writes_once

# %% L not written
# = n_rows * head_dim + n_rows => n_rows * head_dim

# %% l and m in place of L
# = n_rows * head_dim + n_rows => n_rows * (head_dim + 2)

# %% O written in every turn
# = n_rows * head_dim + n_rows => n_turns * n_rows * (head_dim + 1)

# %% a first writing of O
# = n_rows * head_dim + n_rows => 2 * n_rows * head_dim + n_rows

# fails second_order_takes_a_turn_for_a_tile_not_full

# %% turns rounded down
# = ceil(n_rows / tile_q) => n_rows // tile_q

# fails second_order_reads_keys_in_every_turn second_order_writes_once

# %% in bytes
# - n_turns = ceil(n_rows / tile_q)
n_turns = ceil(n_rows / tile_q)
n_rows *= 4

# %% the first order
# - n_turns = ceil(n_rows / tile_q)
return flash_1_traffic(n_rows, head_dim, tile_q)
n_turns = 1
