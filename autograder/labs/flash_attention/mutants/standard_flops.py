"""Wrong answers to `standard_flops`: edits of the reference, or the whole answer."""

# fails each_score_costs_its_softmax

# %% the matrix products alone
# - return scores + softmax + output
return scores + output

# %% D additions for D products
# - scores = n_rows**2 * (2 * head_dim - 1)
scores = n_rows**2 * 2 * head_dim

# %% four for each score
# - softmax = 5 * n_rows**2
softmax = 4 * n_rows**2

# %% six for each score, with a scale
# - softmax = 5 * n_rows**2
softmax = 6 * n_rows**2

# %% softmax of a row
# - softmax = 5 * n_rows**2
softmax = 5 * n_rows

# %% softmax of D numbers
# - softmax = 5 * n_rows**2
softmax = 5 * n_rows * head_dim

# fails wider_rows_cost_two_products

# %% N additions for N products
# - output = n_rows * head_dim * (2 * n_rows - 1)
output = n_rows * head_dim * 2 * n_rows

# %% one product
# - return scores + softmax + output
return scores + softmax

# %% additions up to the last product
# - return scores + softmax + output
return 4 * n_rows**2 * head_dim + softmax

# %% multiplications alone
# - return scores + softmax + output
return 2 * n_rows**2 * head_dim + softmax

# %% a multiplication with its addition is one
# - return scores + softmax + output
return (scores + output) // 2 + softmax
