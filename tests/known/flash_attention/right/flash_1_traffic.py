"""Right answers to `flash_1_traffic`, written differently."""

# %% tile by tile
def flash_1_traffic(n_rows, head_dim, tile_kv):
    reads, writes = 0, n_rows * head_dim + 2 * n_rows
    for first, last in tiles(n_rows, tile_kv):
        reads += 2 * (last - first) * head_dim
        reads += 2 * n_rows * head_dim + 2 * n_rows
        writes += n_rows * head_dim + 2 * n_rows
    return Traffic(reads, writes)

# %% counted by the memory
def flash_1_traffic(n_rows, head_dim, tile_kv):
    memory = lab.attention_memory(*torch.zeros(3, n_rows, head_dim))
    flash_attention_1(memory, n_rows, tile_kv)
    return Traffic(writes=memory.n_written, reads=memory.n_read)

# %% floats
import numpy as np

def flash_1_traffic(n_rows, head_dim, tile_kv):
    turns = np.ceil(n_rows / tile_kv)
    state = n_rows * (head_dim + 2.0)
    return Traffic(turns * (state + n_rows * head_dim) + 2 * n_rows * head_dim,
                   (turns + 1) * state)
