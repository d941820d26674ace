"""Right answers to `slopes`, written differently."""

# %% NumPy
import numpy as np

def slopes(n_new, times_s):
    lengths, times = np.asarray(n_new), np.asarray(times_s)
    if lengths.shape != times.shape or len(lengths) < 2 or len(np.unique(lengths)) < len(lengths):
        raise ValueError("no slopes")
    order = lengths.argsort()
    return np.diff(times[order]) / np.diff(lengths[order])

# %% tensors in single precision
import torch

def slopes(n_new, times_s):
    if len(n_new) != len(times_s) or len(set(n_new)) != len(n_new) or len(n_new) < 2:
        raise ValueError
    lengths, order = torch.tensor(n_new).sort()
    return torch.tensor(times_s)[order].diff() / lengths.diff()

# %% a dict in between, its own exception
class NoSlope(ValueError):
    pass

def slopes(n_new, times_s):
    times = dict(zip(n_new, times_s))
    if not len(times) == len(n_new) == len(times_s) or len(times) < 2:
        raise NoSlope("lengths and times do not fit")
    lengths = sorted(times)
    found = []
    for i in range(1, len(lengths)):
        short, long = lengths[i - 1 : i + 1]
        found.append((times[long] - times[short]) / (long - short))
    return tuple(found)
