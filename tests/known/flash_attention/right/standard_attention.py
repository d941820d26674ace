"""Right answers to `standard_attention`, written differently."""

# %% row by row, the formula written out
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

# %% NumPy, everything with its rows
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

# %% scale and mask in the second step, double precision
def standard_attention(memory, is_causal=False):
    memory.store("S", start=0, rows=memory.load("Q") @ memory.load("K").T)
    scores = memory.load("S").double() / memory.head_dim**0.5
    if is_causal:
        scores += torch.full_like(scores, -torch.inf).triu(1)
    memory.store("P", start=0, rows=torch.softmax(scores, dim=1))
    p, v = memory.load(name="P"), memory.load(name="V", start=0)
    memory.store("O", start=0, rows=torch.einsum("ij,jd->id", p, v))
    return memory

# %% V first, halves of rows
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
