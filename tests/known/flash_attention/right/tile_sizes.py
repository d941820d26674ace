"""Right answers to `tile_sizes`, written differently."""

# %% checked first, in numbers
def tile_sizes(sram_bytes, head_dim, bytes_per_number):
    n_numbers = sram_bytes // bytes_per_number
    if n_numbers < 4 * head_dim:
        raise ValueError("too small")
    tile_kv = n_numbers // 4 // head_dim
    return (tile_kv if tile_kv < head_dim else head_dim), tile_kv

# %% floats rounded down, a list
def tile_sizes(sram_bytes: int, head_dim: int, bytes_per_number: int) -> tuple[int, int]:
    tile_kv = math.floor(sram_bytes / bytes_per_number / (4 * head_dim))
    if not tile_kv:
        raise ValueError(f"{sram_bytes} bytes")
    return [min(head_dim, tile_kv), tile_kv]

# %% NumPy integers, an error of its own kind
import numpy as np

class ChipTooSmall(ValueError):
    pass

def tile_sizes(sram_bytes, head_dim, bytes_per_number):
    tile_kv = np.int64(sram_bytes) // (4 * head_dim * bytes_per_number)
    if tile_kv == 0:
        raise ChipTooSmall(sram_bytes)
    return np.minimum(tile_kv, head_dim), tile_kv
