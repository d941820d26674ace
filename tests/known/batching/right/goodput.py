"""Right answers to `goodput`, written differently."""

# %% misses left out
def goodput(served, ttft_s, tpot_s, seconds):
    missed = [pair for pair in served if pair[0] > ttft_s or pair[1] > tpot_s]
    return (len(served) - len(missed)) / seconds

# %% NumPy, single precision
import numpy as np

def goodput(served, ttft_s, tpot_s, seconds):
    times = np.array(served, dtype=np.float32).reshape(-1, 2)
    good = (times <= np.array([ttft_s, tpot_s], dtype=np.float32)).all(axis=1)
    return np.float32(good.sum()) / np.float32(seconds)

# %% added up by rate
def goodput(served, ttft_s, tpot_s, seconds):
    rate = 0.0
    for ttft, tpot in served:
        if max(ttft / ttft_s, tpot / tpot_s) <= 1:
            rate += 1 / seconds
    return rate
