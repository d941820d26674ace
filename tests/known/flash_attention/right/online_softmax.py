"""Right answers to `online_softmax`, written differently."""

# %% powers of two, double precision
def online_softmax(maximum, total, output, scores, values):
    log2e = 1 / math.log(2)
    scores = scores.double() * log2e
    old = maximum.double() * log2e
    new = torch.maximum(old, scores.max(dim=1).values)
    safe = torch.where(torch.isinf(new), torch.zeros_like(new), new)
    factor = torch.exp2(old - safe)
    weights = torch.exp2(scores - safe.unsqueeze(1))
    total = factor * total + weights.sum(1)
    output = factor.unsqueeze(1) * output + weights @ values.double()
    return new * math.log(2), total, output

# %% query by query, key by key
def online_softmax(maximum, total, output, scores, values):
    maximum, total, output = maximum.clone(), total.clone(), output.clone()
    for row in range(len(scores)):
        for score, value in zip(scores[row], values):
            if score == -math.inf:
                continue
            if score > maximum[row]:
                factor = torch.exp(maximum[row] - score)
                total[row] *= factor
                output[row] *= factor
                maximum[row] = score
            weight = torch.exp(score - maximum[row])
            total[row] += weight
            output[row] += weight * value.float()
    return maximum, total, output

# %% NumPy
import numpy as np

def online_softmax(maximum, total, output, scores, values):
    m, l, o, s, v = (np.asarray(each) for each in (maximum, total, output, scores, values))
    new = np.maximum(m, s.max(axis=1))
    level = np.where(np.isneginf(new), 0, new)
    old, p = np.exp(m - level), np.exp(s - level[:, None])
    return new, old * l + p.sum(axis=1), old[:, None] * o + p @ v

# %% two states merged: the tile's own softmax and logarithms of totals
def online_softmax(maximum, total, output, scores, values):
    tile_maximum = scores.amax(1)
    new = torch.maximum(maximum, tile_maximum)
    lse = torch.logsumexp(scores, 1)
    level = torch.where(new == -torch.inf, 0.0, new)
    part = torch.exp(lse - level)
    own = torch.where(lse[:, None] == -torch.inf, 0.0, torch.softmax(scores, 1)) @ values.float()
    old = torch.exp(maximum - level)
    return new, old * total + part, old[:, None] * output + part[:, None] * own
