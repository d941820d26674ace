"""Right answers to `flash_flops`, written differently."""

# %% collected
def flash_flops(n_rows, head_dim, tile_kv):
    turns = -(-n_rows // tile_kv)
    return n_rows**2 * (4 * head_dim + 3) + turns * n_rows * (3 * head_dim + 7)

# %% tile by tile
def flash_flops(n_rows, head_dim, tile_kv):
    total = 0
    for first, last in tiles(n_rows, tile_kv):
        rows = last - first
        total += n_rows * rows * (2 * head_dim - 1)
        total += 4 * n_rows * rows
        total += n_rows * head_dim * (2 * rows - 1)
        total += n_rows * (4 * head_dim + 7)
    return total

# %% NumPy over all tiles
import numpy as np

def flash_flops(n_rows, head_dim, tile_kv):
    rows = np.full(n_rows // tile_kv, tile_kv, dtype=float)
    if n_rows % tile_kv:
        rows = np.append(rows, n_rows % tile_kv)
    per_query = rows * (4 * head_dim + 3) - head_dim + 4 * head_dim + 7
    return n_rows * per_query.sum()
