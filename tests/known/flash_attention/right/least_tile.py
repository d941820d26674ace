"""Right answers to `least_tile`, written differently."""

# %% the least of a list
def least_tile(n_rows, head_dim):
    most = sum(standard_traffic(n_rows, head_dim))
    enough = [
        tile for tile in range(1, n_rows + 1)
        if sum(flash_1_traffic(n_rows, head_dim, tile)) < most
    ]
    return min(enough, default=None)

# %% halving, for more rows never move more
def least_tile(n_rows, head_dim):
    most = sum(standard_traffic(n_rows, head_dim))

    def is_enough(tile):
        return sum(flash_1_traffic(n_rows, head_dim, tile)) < most

    if not is_enough(n_rows):
        return None
    low, high = 0, n_rows
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_enough(middle) else (middle, high)
    return high

# %% solved for the turns
def least_tile(n_rows, head_dim):
    most_turns = ceil((4 * n_rows + head_dim - 2) / (3 * head_dim + 4)) - 1
    if most_turns < 1:
        return None
    return torch.tensor(-(-n_rows // most_turns))
