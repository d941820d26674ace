"""Right answers to `decode_traffic`, written differently."""

# %% part by part
def decode_traffic(n_tokens, head_dim, group_size, n_parts):
    reads = writes = 0
    for part in range(n_parts):
        reads += group_size * head_dim
        if n_parts > 1:
            writes += group_size * (1 + 1 + head_dim)
    reads += n_tokens * head_dim + n_tokens * head_dim + writes
    return reads, writes + group_size * head_dim

# %% a tensor of two numbers
def decode_traffic(n_tokens, head_dim, group_size, n_parts):
    G, D = group_size, head_dim
    if n_parts == 1:
        return torch.tensor([2 * n_tokens * D + G * D, G * D])
    states = n_parts * G * (D + 2)
    return torch.tensor([2 * n_tokens * D + n_parts * G * D + states, states + G * D])

# %% counted by a run
def decode_traffic(n_tokens, head_dim, group_size, n_parts):
    memory = lab.decode_memory(
        torch.zeros(group_size, head_dim), *torch.zeros(2, n_tokens, head_dim), n_parts
    )
    lab.flash_decode(memory, n_parts, n_tokens, online_softmax, merge)
    return Traffic(memory.n_read, memory.n_written)
