"""Right answers to `run_times`, written differently."""

# %% a comparison, a list
def run_times(n_flops, n_bytes, flops_per_s, bytes_per_s):
    computing_s = n_flops / flops_per_s
    moving_s = n_bytes / bytes_per_s
    slower_s = computing_s if computing_s > moving_s else moving_s
    return [moving_s + computing_s, slower_s]

# %% single precision
def run_times(n_flops, n_bytes, flops_per_s, bytes_per_s):
    seconds = torch.tensor([n_flops, n_bytes]) / torch.tensor([flops_per_s, bytes_per_s])
    return torch.stack([seconds.sum(), seconds.max()])

# %% NumPy, through the intensity
import numpy as np

def run_times(n_flops, n_bytes, flops_per_s, bytes_per_s):
    times_s = np.array([n_flops / flops_per_s, n_bytes / bytes_per_s])
    is_moving = n_flops / n_bytes < flops_per_s / bytes_per_s
    return times_s.sum(), times_s[int(is_moving)]
