"""Right answers to `tokens_per_s`, written differently."""

# %% sorts, and takes the mean of the two in the middle
def tokens_per_s(batch_size, n_new, samples_s):
    times, n = sorted(samples_s), len(samples_s)
    if not times:
        raise ValueError("no samples")
    return batch_size * n_new * 2 / (times[n // 2] + times[(n - 1) // 2])

# %% lets statistics refuse
def tokens_per_s(batch_size, n_new, samples_s):
    return batch_size * n_new / statistics.median(samples_s)

# %% torch
def tokens_per_s(batch_size, n_new, samples_s):
    if len(list(samples_s)) < 1:
        raise ValueError("no samples")
    return torch.tensor(float(batch_size * n_new), dtype=torch.float64) / torch.tensor(
        samples_s, dtype=torch.float64
    ).quantile(0.5)
