"""Right answers to `does_fit`, written differently."""

# %% what is left
def does_fit(size, in_memory, capacity):
    for other in in_memory:
        capacity -= other
    return capacity >= size

# %% NumPy, single precision
import numpy as np

def does_fit(size, in_memory, capacity):
    return np.float32(size) + np.array(in_memory, dtype=np.float32).sum() <= capacity

# %% a sum that starts with it, not too much
def does_fit(size, in_memory, capacity):
    return not sum(in_memory, start=size) > capacity
