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

# %% log space, torch.distributions, uniforms in advance
from torch.distributions import Categorical

def verify(drafted, draft_probs, target_probs, rng=None):
    check_rows(drafted, draft_probs, target_probs)
    log_u = torch.rand(len(drafted)).log()
    for i, x in enumerate(drafted):
        if log_u[i] >= target_probs[i, x].log() - draft_probs[i, x].log():
            return i, Categorical(probs=residual(target_probs[i], draft_probs[i])).sample().item()
    return len(drafted), Categorical(logits=target_probs[-1].log()).sample().item()

# %% NumPy
import numpy as np

def verify(drafted, draft_probs, target_probs, rng=None):
    check_rows(drafted, draft_probs, target_probs)
    p, q = target_probs.double().numpy(), draft_probs.double().numpy()
    for i, x in enumerate(drafted):
        if np.random.rand() > p[i, x] / q[i, x]:
            left = np.maximum(p[i] - q[i], 0)
            return i, np.random.choice(len(left), p=left / left.sum())
    last = p[len(drafted)]
    return len(drafted), np.random.choice(len(last), p=last / last.sum())

# %% Python's random, lists, the residual worked out here
import random

def verify(drafted, draft_probs, target_probs, rng=None):
    check_rows(drafted, draft_probs, target_probs)
    target, draft = target_probs.tolist(), draft_probs.tolist()
    for i, token in enumerate(drafted):
        if random.random() >= min(1, target[i][token] / draft[i][token]):
            weights = [max(0.0, p - q) for p, q in zip(target[i], draft[i])]
            return [i, random.choices(range(len(weights)), weights)[0]]
    return [len(drafted), random.choices(range(len(target[-1])), target[-1])[0]]

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
        if not bool(torch.rand(()) <= row[token] / guess[token]):
            break
        n += 1
    probs = p[n] if n == len(drafted) else residual(p[n], q[n])
    sums = probs.cumsum(-1)
    u = torch.rand(())
    token = next((i for i in range(len(sums)) if bool(u < sums[i] / sums[-1])), len(sums) - 1)
    return n, token

# %% normal noise, which cannot be followed: judged by samples
def verify(drafted, draft_probs, target_probs, rng=None):
    check_rows(drafted, draft_probs, target_probs)
    uniforms = 0.5 * (1 + torch.erf(torch.randn(len(drafted)) / 2**0.5))
    for i, token in enumerate(drafted):
        if uniforms[i] > target_probs[i, token] / draft_probs[i, token]:
            return i, sample(residual(target_probs[i], draft_probs[i]))
    return len(drafted), sample(target_probs[-1])
