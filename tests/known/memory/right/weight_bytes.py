"""Right answers to `weight_bytes`, written differently."""

# %% other names, swapped factors
def weight_bytes(count, width=2):
    return width * count

# %% a NumPy integer
import numpy as np

def weight_bytes(n_params: int, bytes_per_param: int = 2) -> int:
    return np.int64(n_params) * np.int64(bytes_per_param)

# %% a tensor with one element
def weight_bytes(n_params, bytes_per_param=2):
    return torch.tensor(n_params) * bytes_per_param
