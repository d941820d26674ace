"""Right answers to `tokens_per_s`, written differently."""

# %% a generator of rates and their median
def tokens_per_s(batch_size, n_new, samples_s):
    rates = sorted(batch_size * n_new / each for each in samples_s)
    if not rates:
        raise ValueError("no samples")
    return rates[len(rates) // 2]

# %% lets statistics refuse
def tokens_per_s(batch_size, n_new, samples_s):
    return batch_size * n_new / statistics.median(samples_s)

# %% torch
def tokens_per_s(batch_size, n_new, samples_s):
    if len(list(samples_s)) < 1:
        raise ValueError("no samples")
    return torch.tensor(float(batch_size * n_new), dtype=torch.float64) / torch.tensor(
        samples_s, dtype=torch.float64
    ).median()
