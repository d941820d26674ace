"""Right answers to `verify` and `verify_batch`, written otherwise."""

from autograder.labs.variants import Variant

VERIFY = [
    Variant(
        "verify",
        "all at once, with cumprod",
        """\
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
""",
    ),
    Variant(
        "verify",
        "log space, torch.distributions, uniforms in advance",
        """\
from torch.distributions import Categorical

def verify(drafted, draft_probs, target_probs, rng=None):
    check_rows(drafted, draft_probs, target_probs)
    log_u = torch.rand(len(drafted)).log()
    for i, x in enumerate(drafted):
        if log_u[i] >= target_probs[i, x].log() - draft_probs[i, x].log():
            return i, Categorical(probs=residual(target_probs[i], draft_probs[i])).sample().item()
    return len(drafted), Categorical(logits=target_probs[-1].log()).sample().item()
""",
    ),
    Variant(
        "verify",
        "Gumbel noise, a while loop",
        """\
def draw(probs):
    return torch.argmax(probs.log() - torch.log(-torch.log(torch.rand_like(probs))), dim=-1)

def verify(drafted, draft_probs, target_probs, rng=None):
    check_rows(drafted, draft_probs, target_probs)
    n = 0
    while n < len(drafted):
        ratio = (target_probs[n][drafted[n]] / draft_probs[n][drafted[n]]).clamp(max=1)
        if torch.rand(1) > ratio:
            return n, draw(residual(target_probs[n], draft_probs[n])).item()
        n += 1
    return n, draw(target_probs[n]).item()
""",
    ),
    Variant(
        "verify",
        "exponential race, Bernoulli coins for the whole block",
        """\
def verify(drafted, draft_probs, target_probs, rng=None):
    check_rows(drafted, draft_probs, target_probs)
    k = len(drafted)
    pairs = [(target_probs[i, x], draft_probs[i, x]) for i, x in enumerate(drafted)]
    chances = torch.tensor([min(1.0, float(p / q)) for p, q in pairs], dtype=torch.float64)
    coins = torch.bernoulli(chances, generator=rng).tolist()
    n = coins.index(0.0) if 0.0 in coins else k
    probs = target_probs[n] if n == k else residual(target_probs[n], draft_probs[n])
    return n, (probs / torch.empty_like(probs).exponential_(1, generator=rng)).argmax().item()
""",
    ),
    Variant(
        "verify",
        "NumPy",
        """\
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
""",
    ),
    Variant(
        "verify",
        "Python's random, lists, the residual worked out here",
        """\
import random

def verify(drafted, draft_probs, target_probs, rng=None):
    check_rows(drafted, draft_probs, target_probs)
    target, draft = target_probs.tolist(), draft_probs.tolist()
    for i, token in enumerate(drafted):
        if random.random() >= min(1, target[i][token] / draft[i][token]):
            weights = [max(0.0, p - q) for p, q in zip(target[i], draft[i])]
            return [i, random.choices(range(len(weights)), weights)[0]]
    return [len(drafted), random.choices(range(len(target[-1])), target[-1])[0]]
""",
    ),
    Variant(
        "verify",
        "a token of every kind drawn for all positions, most of them for nothing",
        """\
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
""",
    ),
    Variant(
        "verify",
        "an inverse CDF, single precision",
        """\
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
""",
    ),
    Variant(
        "verify",
        "normal noise, which cannot be followed: judged by samples",
        """\
def verify(drafted, draft_probs, target_probs, rng=None):
    check_rows(drafted, draft_probs, target_probs)
    uniforms = 0.5 * (1 + torch.erf(torch.randn(len(drafted)) / 2**0.5))
    for i, token in enumerate(drafted):
        if uniforms[i] > target_probs[i, token] / draft_probs[i, token]:
            return i, sample(residual(target_probs[i], draft_probs[i]))
    return len(drafted), sample(target_probs[-1])
""",
    ),
]

BATCH = [
    Variant(
        "verify_batch",
        "a loop over the rows",
        """\
def verify_batch(drafted, n_drafted, draft_probs, target_probs, rng=None):
    found = []
    for row in range(len(drafted)):
        k = int(n_drafted[row])
        tokens = drafted[row, :k].tolist()
        found.append(verify(tokens, draft_probs[row, :k], target_probs[row, : k + 1], rng))
    kept, after = zip(*found)
    return torch.tensor(kept), torch.tensor(after)
""",
    ),
    Variant(
        "verify_batch",
        "the first rejection by argmax, the two laws by where",
        """\
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
""",
    ),
    Variant(
        "verify_batch",
        "log space, an exponential race, columns one by one",
        """\
def verify_batch(drafted, n_drafted, draft_probs, target_probs, rng=None):
    n_rows, k = drafted.shape
    n_kept = torch.zeros(n_rows, dtype=torch.int32)
    is_open = torch.ones(n_rows, dtype=torch.bool)
    every = torch.arange(n_rows)
    for i in range(k):
        tokens = drafted[:, i]
        gap = target_probs[every, i, tokens].log() - draft_probs[every, i, tokens].log()
        is_open = is_open & (i < n_drafted) & (torch.rand(n_rows, generator=rng).log() < gap)
        n_kept = n_kept + is_open.int()
    chosen = []
    for row, n in enumerate(n_kept.tolist()):
        probs = target_probs[row, n]
        if n < n_drafted[row]:
            probs = residual(probs, draft_probs[row, n])
        chosen.append((probs / torch.empty_like(probs).exponential_(generator=rng)).argmax())
    return n_kept, torch.stack(chosen)
""",
    ),
    Variant(
        "verify_batch",
        "NumPy's generator",
        """\
import numpy as np

def verify_batch(drafted, n_drafted, draft_probs, target_probs, rng=None):
    source = np.random.default_rng()
    kept, after = [], []
    rows = zip(drafted.tolist(), n_drafted.tolist(), draft_probs, target_probs)
    for tokens, k, draft, target in rows:
        n = 0
        while n < k and source.random() < float(target[n, tokens[n]] / draft[n, tokens[n]]):
            n += 1
        probs = (target[n] if n == k else residual(target[n], draft[n])).double().numpy()
        kept.append(n)
        after.append(source.choice(len(probs), p=probs / probs.sum()))
    return np.array(kept), np.array(after)
""",
    ),
]
