"""Right answers to `standard_traffic`, written differently."""

# %% step by step, a plain pair
def standard_traffic(n_rows, head_dim):
    nd, nn = n_rows * head_dim, n_rows * n_rows
    reads = writes = 0
    for read, written in ((2 * nd, nn), (nn, nn), (nn + nd, nd)):
        reads += read
        writes += written
    return reads, writes

# %% counted by the memory
def standard_traffic(n_rows, head_dim):
    memory = lab.attention_memory(*torch.zeros(3, n_rows, head_dim))
    standard_attention(memory)
    return Traffic(memory.n_read, memory.n_written)

# %% floats in an array
import numpy as np

def standard_traffic(n_rows, head_dim):
    return np.array([3.0, 1.0]) * n_rows * head_dim + 2.0 * n_rows**2
