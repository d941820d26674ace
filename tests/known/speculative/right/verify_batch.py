"""Right answers to `verify_batch`, written differently."""

# %% a loop over the rows
def verify_batch(drafted, n_drafted, draft_probs, target_probs, rng=None):
    found = []
    for row in range(len(drafted)):
        k = int(n_drafted[row])
        tokens = drafted[row, :k].tolist()
        found.append(verify(tokens, draft_probs[row, :k], target_probs[row, : k + 1], rng))
    kept, after = zip(*found)
    return torch.tensor(kept), torch.tensor(after)

# %% the first rejection by argmax, the two laws by where
def verify_batch(drafted, n_drafted, draft_probs, target_probs, rng=None):
    n_rows, k = drafted.shape
    rows = torch.arange(n_rows)
    p = target_probs[:, :k].gather(-1, drafted.unsqueeze(-1)).squeeze(-1)
    q = draft_probs.gather(-1, drafted.unsqueeze(-1)).squeeze(-1)
    rejected = torch.rand(n_rows, k, generator=rng) * q >= p
    rejected |= torch.arange(k) >= n_drafted.unsqueeze(1)
    rejected = torch.cat([rejected, torch.ones(n_rows, 1, dtype=torch.bool)], dim=1)
    n_kept = rejected.int().argmax(dim=1)
    target = target_probs[rows, n_kept]
    guess = torch.cat([draft_probs, torch.zeros_like(target_probs[:, :1])], dim=1)[rows, n_kept]
    is_bonus = (n_kept == n_drafted).unsqueeze(1)
    probs = torch.where(is_bonus, target, residual(target, guess))
    return n_kept, torch.multinomial(probs, 1, generator=rng).squeeze(1)

# %% lists of numbers, an inverse CDF
def verify_batch(drafted, n_drafted, draft_probs, target_probs, rng=None):
    kept, after = [], []
    rows = zip(drafted.tolist(), n_drafted.tolist(), draft_probs, target_probs)
    for tokens, k, draft, target in rows:
        n = 0
        while n < k and torch.rand((), generator=rng) < target[n, tokens[n]] / draft[n, tokens[n]]:
            n += 1
        probs = target[n] if n == k else residual(target[n], draft[n])
        kept.append(n)
        after.append(int((probs.cumsum(0)[:-1] <= torch.rand((), generator=rng)).sum()))
    return torch.tensor(kept), torch.tensor(after)
