"""Right answers to `kv_cache_bytes`, written differently."""

# %% without the other function
def kv_cache_bytes(shape, n_tokens, batch_size=1, bytes_per_number=2):
    numbers = 2 * shape.n_layers * shape.n_kv_heads * shape.head_dim * n_tokens * batch_size
    return numbers * bytes_per_number

# %% sequence by sequence
def kv_cache_bytes(shape, n_tokens, batch_size=1, bytes_per_number=2):
    token = kv_bytes_per_token(shape, bytes_per_number=bytes_per_number)
    return sum(n_tokens * token for _ in range(batch_size))

# %% a NumPy float
import numpy as np

def kv_cache_bytes(shape, n_tokens, batch_size=1, bytes_per_number=2):
    factors = [n_tokens, batch_size, kv_bytes_per_token(shape, bytes_per_number)]
    return np.prod(factors, dtype=float)
