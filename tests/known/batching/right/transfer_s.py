"""Right answers to `transfer_s`, written differently."""

# %% tokens per second first
def transfer_s(n_tokens, bytes_per_token, bandwidth, latency_s):
    tokens_per_s = bandwidth / bytes_per_token
    return n_tokens / tokens_per_s + latency_s

# %% single precision
import numpy as np

def transfer_s(n_tokens, bytes_per_token, bandwidth, latency_s):
    n_bytes = np.float32(n_tokens) * np.float32(bytes_per_token)
    return np.float32(latency_s) + n_bytes / np.float32(bandwidth)

# %% a tensor
def transfer_s(n_tokens, bytes_per_token, bandwidth, latency_s):
    import torch

    return torch.tensor([latency_s, n_tokens * bytes_per_token / bandwidth]).sum()
