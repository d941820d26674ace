"""Right answers to `latencies`, written differently."""

# %% the mean of the gaps
def latencies(arrival_s, token_times_s):
    gaps = [b - a for a, b in zip(token_times_s, token_times_s[1:])]
    return [token_times_s[0] - arrival_s, sum(gaps) / len(gaps) if gaps else 0]

# %% single precision, an array
import numpy as np

def latencies(arrival_s, token_times_s):
    times = np.array([arrival_s, *token_times_s], dtype=np.float32)
    gaps = np.diff(times)
    return np.array([gaps[0], gaps[1:].mean() if len(gaps) > 1 else 0], dtype=np.float32)

# %% PyTorch, a named tuple
from collections import namedtuple

import torch

Latencies = namedtuple("Latencies", "ttft_s tpot_s")

def latencies(arrival_s, token_times_s):
    first, *further = torch.tensor(token_times_s)
    total = further[-1] - first if further else torch.tensor(0.0)
    return Latencies(first - arrival_s, total / max(1, len(further)))
