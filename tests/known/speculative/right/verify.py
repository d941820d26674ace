"""Right answers to `verify`, written differently."""

# %% all at once, with cumprod
def verify(drafted, draft_probs, target_probs, rng=None):
    check_rows(drafted, draft_probs, target_probs)
    k = len(drafted)
    index = torch.tensor(drafted, dtype=torch.long).reshape(k, 1)
    p = target_probs[:k].gather(1, index).squeeze(1)
    q = draft_probs.gather(1, index).squeeze(1)
    accepted = torch.rand(k, generator=rng, dtype=p.dtype) * q < p
    n = int(accepted.int().cumprod(0).sum())
    rows = torch.cat([draft_probs, torch.zeros_like(target_probs[:1])])
    return n, int(torch.multinomial(residual(target_probs[n], rows[n]), 1, generator=rng))

# %% a token of every kind drawn for all positions, most of them for nothing
def verify(drafted, draft_probs, target_probs, rng=None):
    check_rows(drafted, draft_probs, target_probs)
    k = len(drafted)
    nobody = torch.zeros_like(target_probs[:1])
    left = residual(target_probs, torch.cat([draft_probs, nobody]))
    instead = torch.multinomial(left, 1, generator=rng).squeeze(1)
    steps = torch.arange(k)
    ratio = target_probs[steps, drafted] / draft_probs[steps, drafted]
    is_rejected = (torch.rand(k, generator=rng) >= ratio).nonzero().flatten().tolist()
    n = is_rejected[0] if is_rejected else k
    return n, int(instead[n])

# %% an inverse CDF, single precision
def verify(drafted, draft_probs, target_probs, rng=None):
    check_rows(drafted, draft_probs, target_probs)
    p, q = target_probs.float(), draft_probs.float()
    n = 0
    for row, guess, token in zip(p, q, drafted):
        if not bool(torch.rand((), generator=rng) <= row[token] / guess[token]):
            break
        n += 1
    probs = p[n] if n == len(drafted) else residual(p[n], q[n])
    sums = probs.cumsum(-1)
    u = torch.rand((), generator=rng)
    token = next((i for i in range(len(sums)) if bool(u < sums[i] / sums[-1])), len(sums) - 1)
    return n, token

# %% log space, uniforms in advance, an exponential race
def verify(drafted, draft_probs, target_probs, rng=None):
    def race(probs):
        return int((probs / torch.empty_like(probs).exponential_(1, generator=rng)).argmax())

    check_rows(drafted, draft_probs, target_probs)
    log_u = torch.rand(len(drafted), generator=rng).log()
    for i, x in enumerate(drafted):
        if log_u[i] >= target_probs[i, x].log() - draft_probs[i, x].log():
            return i, race(residual(target_probs[i], draft_probs[i]))
    return len(drafted), race(target_probs[-1])
