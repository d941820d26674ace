"""Right answers to `flash_2_traffic`, written differently."""

# %% tile by tile
def flash_2_traffic(n_rows, head_dim, tile_q):
    reads = writes = 0
    for first, last in tiles(n_rows, tile_q):
        reads += (last - first) * head_dim + 2 * n_rows * head_dim
        writes += (last - first) * (head_dim + 1)
    return Traffic(reads, writes)

# %% counted by the memory
def flash_2_traffic(n_rows, head_dim, tile_q):
    memory = lab.attention_memory(*torch.zeros(3, n_rows, head_dim))
    flash_attention_2(memory, tile_q, n_rows)
    return Traffic(memory.n_read, memory.n_written)

# %% a tensor
def flash_2_traffic(N, D, B_r):
    T_r = -(-N // B_r)
    return torch.tensor([(1 + 2 * T_r) * N * D, N * (D + 1)])
