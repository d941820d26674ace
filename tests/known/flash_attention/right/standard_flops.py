"""Right answers to `standard_flops`, written differently."""

# %% collected
def standard_flops(n_rows, head_dim):
    return n_rows**2 * (4 * head_dim + 4) - n_rows * head_dim

# %% multiplications and additions apart, as a float
def standard_flops(N, d):
    multiplications = N * N * d + N * d * N
    additions = N * N * (d - 1) + N * d * (N - 1)
    maxima, differences, exponentials, sums, quotients = (float(N * N),) * 5
    softmax = maxima + differences + exponentials + sums + quotients
    return multiplications + additions + softmax

# %% row by row
def standard_flops(n_rows, head_dim):
    total = 0
    for _ in range(n_rows):
        total += n_rows * (head_dim + head_dim - 1)
        total += 5 * n_rows
        total += head_dim * (n_rows + n_rows - 1)
    return total
