"""Wrong answers to `flash_1_traffic`: edits of the reference, or the whole answer."""

# fails first_order_reads_its_state_in_every_turn first_order_writes_its_state_in_every_turn
#   first_order_writes_before_it_reads first_order_takes_a_turn_for_a_tile_not_full

# %% the slide: everything once
# - n_turns = ceil(n_rows / tile_kv)
return Traffic(n_rows * (4 * head_dim + 2), n_rows * (head_dim + 2))
n_turns = 1

# %% rows of a tile for turns
# = ceil(n_rows / tile_kv) => tile_kv

# %% turns of head_dim rows
# = n_rows / tile_kv => n_rows / min(head_dim, n_rows - 1)

# fails first_order_reads_its_state_in_every_turn

# %% reads without the turns
# = n_turns * n_rows => n_rows

# %% l and m not read
# = n_turns * n_rows * (2 * head_dim + 2) => n_turns * n_rows * 2 * head_dim

# %% one of l and m
# = 2 * head_dim + 2 => 2 * head_dim + 1

# %% O not read
# = 2 * head_dim => head_dim

# %% K and V read in every turn
# - reads=2 * n_rows * head_dim + n_turns * n_rows * (2 * head_dim + 2),
reads=n_turns * n_rows * (4 * head_dim + 2),

# %% K and V not read
# - reads=2 * n_rows * head_dim + n_turns * n_rows * (2 * head_dim + 2),
reads=n_turns * n_rows * (2 * head_dim + 2),

# %% V not read
# = 2 * n_rows => n_rows

# fails first_order_writes_its_state_in_every_turn

# %% writes without the turns
# = (n_turns + 1) * n_rows => 2 * n_rows

# fails first_order_writes_its_state_in_every_turn first_order_writes_before_it_reads

# %% l and m not written
# = (n_turns + 1) * n_rows * (head_dim + 2) => (n_turns + 1) * n_rows * head_dim

# %% O written once
# = (n_turns + 1) * n_rows * (head_dim + 2) => (n_turns + 1) * n_rows * 2 + n_rows * head_dim

# fails first_order_writes_before_it_reads

# %% the first writing missed
# = (n_turns + 1) * n_rows => n_turns * n_rows

# %% the first writing of l and m missed
# = (n_turns + 1) * n_rows * (head_dim + 2) => n_turns * n_rows * (head_dim + 2) + n_rows * head_dim

# fails first_order_takes_a_turn_for_a_tile_not_full

# %% turns rounded down
# = ceil(n_rows / tile_kv) => n_rows // tile_kv

# fails first_order_reads_its_state_in_every_turn first_order_writes_before_it_reads
#   first_order_takes_a_turn_for_a_tile_not_full

# %% a turn too many
# = ceil(n_rows / tile_kv) => n_rows // tile_kv + 1

# fails first_order_reads_its_state_in_every_turn first_order_writes_its_state_in_every_turn
#   first_order_writes_before_it_reads

# %% in bytes
# - n_turns = ceil(n_rows / tile_kv)
n_turns = ceil(n_rows / tile_kv)
n_rows *= 4

# %% reads and writes swapped
# - n_turns = ceil(n_rows / tile_kv)
n_turns = ceil(n_rows / tile_kv)
Traffic = lambda reads, writes: (writes, reads)

# %% the other order
# - n_turns = ceil(n_rows / tile_kv)
return flash_2_traffic(n_rows, head_dim, tile_kv)
n_turns = 1

# fails first_order_takes_a_turn_for_a_tile_not_full

# %% wide tiles are refused
# = n_turns = ceil(n_rows / tile_kv) => n_turns = ceil(n_rows / tile_kv) if tile_kv <= n_rows else 0
