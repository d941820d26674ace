"""Right answers to `offload_step_s`, written differently."""

# %% both branches
def offload_step_s(
    moved_bytes, offloaded_bytes, bandwidth, link_bandwidth, overlap=False
):
    if offloaded_bytes < 0 or offloaded_bytes > moved_bytes:
        raise ValueError("more than there is")
    times = [(moved_bytes - offloaded_bytes) / bandwidth, offloaded_bytes / link_bandwidth]
    if overlap:
        return max(times)
    return sum(times)

# %% an array
import numpy as np

def offload_step_s(moved_bytes, offloaded_bytes, bandwidth, link_bandwidth, overlap=False):
    parts = np.array([moved_bytes - offloaded_bytes, offloaded_bytes], dtype=float)
    if (parts < 0).any():
        raise ValueError(f"cannot split {moved_bytes} into {parts}")
    seconds = parts / np.array([bandwidth, link_bandwidth])
    return seconds.max() if overlap else seconds.sum()

# %% by what the link adds
def offload_step_s(
    moved_bytes, offloaded_bytes, bandwidth, link_bandwidth, overlap=False
):
    if offloaded_bytes not in range(0, int(moved_bytes) + 1):
        raise ValueError("offload between nothing and everything")
    link_s = offloaded_bytes / link_bandwidth
    others_s = moved_bytes / bandwidth - offloaded_bytes / bandwidth
    return link_s + max(0.0, others_s - link_s) if overlap else link_s + others_s
