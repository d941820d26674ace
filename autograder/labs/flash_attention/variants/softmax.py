"""Right answers to the softmax in pieces and to standard attention, written otherwise."""

from autograder.labs.variants import Variant

SOFTMAX = [
    Variant(
        "online_softmax",
        "powers of two, double precision",
        """\
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
""",
    ),
    Variant(
        "online_softmax",
        "query by query, key by key",
        """\
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
            output[row] += weight * value
    return maximum, total, output
""",
    ),
    Variant(
        "online_softmax",
        "what is no number becomes 0, a list comes back",
        """\
def online_softmax(maximum, total, output, scores, values):
    m = torch.cat([maximum[:, None], scores], dim=1).amax(1, keepdim=True)
    rescale = torch.nan_to_num(torch.exp(maximum[:, None] - m), nan=1.0)
    p = torch.nan_to_num(torch.exp(scores - m), nan=0.0)
    total = (rescale * total[:, None] + p.sum(1, keepdim=True)).squeeze(1)
    return [m.squeeze(1), total, rescale * output + torch.einsum("qs,sd->qd", p, values)]
""",
    ),
    Variant(
        "online_softmax",
        "NumPy",
        """\
import numpy as np

def online_softmax(maximum, total, output, scores, values):
    m, l, o, s, v = (np.asarray(each) for each in (maximum, total, output, scores, values))
    new = np.maximum(m, s.max(axis=1))
    level = np.where(np.isneginf(new), 0, new)
    old, p = np.exp(m - level), np.exp(s - level[:, None])
    return new, old * l + p.sum(axis=1), old[:, None] * o + p @ v
""",
    ),
    Variant(
        "online_softmax",
        "two states merged: the tile's own softmax and logarithms of totals",
        """\
def online_softmax(maximum, total, output, scores, values):
    tile_maximum = scores.amax(1)
    new = torch.maximum(maximum, tile_maximum)
    lse = torch.logsumexp(scores, 1)
    level = torch.where(new == -torch.inf, 0.0, new)
    part = torch.exp(lse - level)
    own = torch.where(lse[:, None] == -torch.inf, 0.0, torch.softmax(scores, 1)) @ values
    old = torch.exp(maximum - level)
    return new, old * total + part, old[:, None] * output + part[:, None] * own
""",
    ),
    Variant(
        "online_softmax",
        "the logarithm of the sum carried on inside",
        """\
def online_softmax(maximum, total, output, scores, values):
    new = torch.maximum(maximum, scores.amax(1))
    before = torch.where(total > 0, maximum + total.log(), -torch.inf)
    level = torch.logaddexp(before, scores.logsumexp(1))
    safe = torch.where(level == -torch.inf, 0.0, level)
    mean = (before - safe).exp() / torch.where(total > 0, total, 1.0)
    mean = mean[:, None] * output + (scores - safe[:, None]).exp() @ values
    mean = torch.where(total[:, None] > 0, mean, (scores - safe[:, None]).exp() @ values)
    after = torch.where(new == -torch.inf, 0.0, (level - new).exp())
    return new, after, after[:, None] * mean
""",
    ),
]

STANDARD = [
    Variant(
        "standard_attention",
        "row by row, the formula written out",
        """\
def standard_attention(memory, is_causal=False):
    n, d = memory.n_rows, memory.head_dim
    k = memory.load("K")
    for i in range(n):
        s = memory.load("Q", i, i + 1) @ k.T / math.sqrt(d)
        if is_causal:
            s[:, i + 1 :] = float("-inf")
        memory.store("S", i, s)
    for i in range(n):
        s = memory.load("S", i, i + 1)
        e = torch.exp(s - s.max())
        memory.store("P", i, e / e.sum())
    v = memory.load("V")
    for i in range(n):
        memory.store("O", i, memory.load("P", i, i + 1) @ v)
""",
    ),
    Variant(
        "standard_attention",
        "NumPy, everything with its rows",
        """\
import numpy as np

def standard_attention(memory, is_causal=False):
    n = memory.n_rows
    q, k = memory.load("Q", 0, n).numpy(), memory.load("K", 0, n).numpy()
    s = (q / np.sqrt(memory.head_dim)) @ k.T
    if is_causal:
        s = np.where(np.tril(np.ones((n, n))) == 1, s, -np.inf)
    memory.store("S", 0, torch.from_numpy(s))
    s = memory.load("S", 0, n).numpy()
    p = np.exp(s - s.max(axis=1, keepdims=True))
    memory.store("P", 0, torch.from_numpy(p / p.sum(axis=1, keepdims=True)))
    memory.store("O", 0, memory.load("P").numpy() @ memory.load("V").numpy())
""",
    ),
    Variant(
        "standard_attention",
        "scale and mask in the second step, double precision",
        """\
def standard_attention(memory, is_causal=False):
    memory.store("S", start=0, rows=memory.load("Q") @ memory.load("K").T)
    scores = memory.load("S").double() / memory.head_dim**0.5
    if is_causal:
        scores += torch.full_like(scores, -torch.inf).triu(1)
    memory.store("P", start=0, rows=torch.softmax(scores, dim=1))
    p, v = memory.load(name="P"), memory.load(name="V", start=0)
    memory.store("O", start=0, rows=torch.einsum("ij,jd->id", p, v))
    return memory
""",
    ),
    Variant(
        "standard_attention",
        "V first, halves of rows",
        """\
def standard_attention(memory, is_causal=False):
    half = (memory.n_rows + 1) // 2
    parts = [(a, b) for a, b in ((0, half), (half, memory.n_rows)) if b > a]
    values = torch.cat([memory.load("V", a, b) for a, b in parts])
    keys = torch.cat([memory.load("K", a, b) for a, b in reversed(parts)][::-1])
    for a, b in parts:
        memory.store("S", a, tile_scores(memory.load("Q", a, b), keys, a, 0, is_causal))
    for a, b in parts:
        memory.store("P", a, memory.load("S", a, b).softmax(-1))
        memory.store("O", a, memory.load("P", a, b).mm(values))
""",
    ),
]
