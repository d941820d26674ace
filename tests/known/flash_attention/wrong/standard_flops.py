"""Wrong answers to `standard_flops`: edits of the reference, or the whole answer."""

# fails each_score_costs_its_softmax

# %% the matrix products alone
# = scores + softmax + output => scores + output

# %% D additions for D products
# = n_rows**2 * (2 * head_dim - 1) => n_rows**2 * 2 * head_dim

# %% four for each score
# = 5 * n_rows**2 => 4 * n_rows**2

# %% six for each score, with a scale
# = 5 * n_rows**2 => 6 * n_rows**2

# %% softmax of a row
# = 5 * n_rows**2 => 5 * n_rows

# %% softmax of D numbers
# = 5 * n_rows**2 => 5 * n_rows * head_dim

# fails wider_rows_cost_two_products

# %% N additions for N products
# = n_rows * head_dim * (2 * n_rows - 1) => n_rows * head_dim * 2 * n_rows

# %% one product
# = scores + softmax + output => scores + softmax

# %% additions up to the last product
# = scores + softmax + output => 4 * n_rows**2 * head_dim + softmax

# %% multiplications alone
# = scores + softmax + output => 2 * n_rows**2 * head_dim + softmax

# %% a multiplication with its addition is one
# = scores + softmax + output => (scores + output) // 2 + softmax
