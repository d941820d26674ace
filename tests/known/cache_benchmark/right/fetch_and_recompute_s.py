"""Right answers to `fetch_and_recompute_s`, written differently."""

# %% the bytes from the shape
def fetch_and_recompute_s(
    machine, work, n_tokens, link_bandwidth, factor=1.0, width=2, dtype="float16"
):
    if link_bandwidth <= 0 or n_tokens <= 0:
        raise ValueError("nothing to fetch, or no way")
    shape = work.shape
    token_bytes = 2 * width * shape.n_layers * shape.n_kv_heads * shape.head_dim
    floor = pass_floor(machine, work, n_tokens, 0, 1, dtype)
    return [token_bytes / link_bandwidth * n_tokens, floor.seconds * factor]

# %% the longer of two times, in tensors
import torch

def fetch_and_recompute_s(
    machine, work, n_tokens, link_bandwidth, factor=1.0, width=2, dtype="float16"
):
    if not (n_tokens >= 1 and link_bandwidth > 0):
        raise ValueError(f"{n_tokens} tokens, {link_bandwidth} bytes per second")
    floor = pass_floor(machine, work, n_tokens, dtype=dtype)
    compute = factor * max(floor.moving_s, floor.computing_s)
    fetch = kv_bytes_per_token(work.shape, width) * n_tokens / link_bandwidth
    return torch.tensor([fetch, compute], dtype=torch.float64)
