"""Right answers to `leaves_launch_floor_at`, written differently."""

# %% one length after the other
def leaves_launch_floor_at(machine, work, launch_s, n_context, dtype="float16"):
    for length in range(1, n_context + 1):
        if pass_floor(machine, work, length, dtype=dtype).seconds > launch_s:
            return length
    return None

# %% halving by hand
def leaves_launch_floor_at(machine, work, launch_s, n_context, dtype="float16"):
    def is_over(length):
        return pass_floor(machine, work, length, 0, 1, dtype).seconds > launch_s

    if not is_over(n_context):
        return None
    low, high = 0, n_context
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_over(middle) else (middle, high)
    return float(high)

# %% arrays, without pass_floor
import numpy as np

def leaves_launch_floor_at(machine, work, launch_s, n_context, dtype="float16"):
    width = 4 if dtype == "float32" else 2
    lengths = np.arange(1, n_context + 1)
    moving = np.array([work.moved_bytes(int(n), 1, width) for n in lengths]) / machine.bandwidth
    computing = np.array([work.flops(int(n), 0, 1) for n in lengths]) / machine.peak(dtype)
    over = np.maximum(moving, computing) > launch_s
    return int(lengths[over.argmax()]) if over.any() else None
