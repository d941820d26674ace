"""Wrong answers to `standard_traffic`: edits of the reference, or the whole answer."""

# fails standard_reads_five_matrices standard_writes_three_matrices

# %% in bytes
# = n_rows * head_dim, n_rows**2 => 4 * n_rows * head_dim, 4 * n_rows**2

# %% scores never leave the chip
# - return Traffic(reads=3 * matrices + 2 * squares, writes=matrices + 2 * squares)
return Traffic(3 * matrices, matrices)

# %% reads and writes swapped
# - return Traffic(reads=3 * matrices + 2 * squares, writes=matrices + 2 * squares)
return Traffic(matrices + 2 * squares, 3 * matrices + 2 * squares)

# %% scores as large as a row
# = n_rows**2 => n_rows * head_dim**2

# %% both ways together
# - return Traffic(reads=3 * matrices + 2 * squares, writes=matrices + 2 * squares)
return 4 * matrices + 4 * squares

# fails standard_reads_five_matrices

# %% S and P read once together
# = 3 * matrices + 2 * squares => 3 * matrices + squares

# %% S and P not read
# = 3 * matrices + 2 * squares => 3 * matrices

# %% Q, K and V not read
# = 3 * matrices + 2 * squares => 2 * squares

# %% O read too
# = 3 * matrices => 4 * matrices

# fails standard_writes_three_matrices

# %% P not written
# = writes=matrices + 2 * squares => writes=matrices + squares

# %% O not written
# = writes=matrices + 2 * squares => writes=2 * squares

# %% S and P not written
# = writes=matrices + 2 * squares => writes=matrices
