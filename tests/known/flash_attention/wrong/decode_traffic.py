"""Wrong answers to `decode_traffic`: edits of the reference, or the whole answer."""

# fails a_group_reads_each_key_once

# %% each head reads the cache
# = 2 * n_tokens * head_dim => group_size * 2 * n_tokens * head_dim

# %% keys alone
# = 2 * n_tokens * head_dim => n_tokens * head_dim

# %% the queries of one part are left out
# = n_parts * queries => (n_parts - 1) * queries

# fails one_part_stores_its_outputs

# %% the output of one head
# = writes=queries + states => writes=head_dim + states

# %% no outputs
# = writes=queries + states => writes=states

# fails a_group_reads_each_key_once one_part_stores_its_outputs
#   parts_read_queries_and_all_states_are_read each_part_stores_its_state

# %% bytes of 16 bits
# = Traffic(reads=reads, writes=queries + states) => Traffic(2 * reads, 2 * (queries + states))

# %% writes first
# = Traffic(reads=reads, writes=queries + states) => (queries + states, reads)

# fails a_group_reads_each_key_once one_part_stores_its_outputs
#   parts_read_queries_and_all_states_are_read each_part_stores_its_state

# %% one part stores its state, too
# = n_parts * group_size * (head_dim + 2) if n_parts > 1 else 0 => n_parts * group_size * (head_dim + 2)

# fails parts_read_queries_and_all_states_are_read

# %% the queries are read once
# = n_parts * queries => queries

# %% states are not read
# = n_parts * queries + states => n_parts * queries

# %% each part reads the whole cache
# = 2 * n_tokens * head_dim => n_parts * 2 * n_tokens * head_dim

# fails each_part_stores_its_state

# %% states are not stored
# = writes=queries + states => writes=queries

# %% outputs of each part, too
# = writes=queries + states => writes=n_parts * queries + states

# fails parts_read_queries_and_all_states_are_read each_part_stores_its_state

# %% no maxima and totals
# = (head_dim + 2) => head_dim

# %% the last part keeps its state on the chip
# = n_parts * group_size => (n_parts - 1) * group_size

# %% one state for the whole group
# = n_parts * group_size * (head_dim + 2) => n_parts * (head_dim + 2)
