"""Right answers to `acceptance_rate`, written differently."""

# %% examined tokens by hand, one pass
def acceptance_rate(blocks):
    accepted = examined = 0
    for block in blocks:
        accepted += block.n_accepted
        examined += block.n_accepted + (block.n_accepted < block.n_drafted)
    if not examined:
        raise ValueError("nothing was examined")
    return accepted / examined

# %% one minus the rejected
def acceptance_rate(blocks):
    examined = rejected = 0
    for block in blocks:
        examined += min(block.n_drafted, block.n_accepted + 1)
        rejected += block.n_accepted < block.n_drafted
    if examined == 0:
        raise ValueError("nothing was examined")
    return 1 - rejected / examined

# %% a mean of coins, in single precision
def acceptance_rate(blocks):
    coins = []
    for block in blocks:
        coins += [1.0] * block.n_accepted
        coins += [0.0] if block.n_accepted < block.n_drafted else []
    if len(coins) == 0:
        raise ValueError("no coins")
    return torch.tensor(coins).mean()
