"""Right answers to `longest_sequence`, written differently."""

# %% divided step by step
def longest_sequence(vram, model, token, batch_size=1, overhead_bytes=0):
    if batch_size < 1 or token < 1:
        raise ValueError("need a batch and a token size")
    room = vram - model - overhead_bytes
    if room < 0:
        return 0
    return room // token // batch_size

# %% keyword arguments, NumPy
import numpy as np

def longest_sequence(vram_bytes, model_bytes, token_bytes, batch_size=1, overhead_bytes=0):
    if min(batch_size, token_bytes) <= 0:
        raise ValueError(f"{batch_size=} {token_bytes=}")
    room = np.int64(vram_bytes) - np.int64(model_bytes) - np.int64(overhead_bytes)
    return np.maximum(room // (token_bytes * batch_size), 0)

# %% searched by halving
def longest_sequence(vram_bytes, model_bytes, token_bytes, batch_size=1, overhead_bytes=0
):
    if batch_size <= 0:
        raise ValueError("batch_size")
    if token_bytes <= 0:
        raise ValueError("token_bytes")
    low, high = 0, 2**64
    while high - low > 1:
        middle = (low + high) // 2
        used = model_bytes + overhead_bytes + middle * batch_size * token_bytes
        low, high = (middle, high) if used <= vram_bytes else (low, middle)
    return low
