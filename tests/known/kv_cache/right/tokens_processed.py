"""Right answers to `tokens_processed`, written differently."""

# %% adds up the forwards
def tokens_processed(n_prompt, n_new, cached):
    fed = [n_prompt + i if not cached else (n_prompt if i == 0 else 1) for i in range(n_new)]
    return sum(fed)

# %% a float from the mean length
def tokens_processed(n_prompt, n_new, cached):
    if cached:
        return float(n_prompt + n_new - 1) if n_new > 0 else 0.0
    return n_new * (n_prompt + (n_prompt + n_new - 1)) / 2

# %% a tensor of lengths
def tokens_processed(n_prompt, n_new, cached):
    lengths = torch.arange(n_new, dtype=torch.int64) + n_prompt
    if cached:
        lengths[1:] = 1
    return lengths.sum()
