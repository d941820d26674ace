"""Right answers to `flash_attention_2`, written differently."""

# %% as the paper writes it
def flash_attention_2(memory, tile_q, tile_kv, is_causal=False):
    N, d = memory.n_rows, memory.head_dim
    for i in range(ceil(N / tile_q)):
        r0, r1 = i * tile_q, min(N, (i + 1) * tile_q)
        Q_i = memory.load("Q", r0, r1)
        O_i = torch.zeros(r1 - r0, d)
        l_i = torch.zeros(r1 - r0, 1)
        m_i = torch.full((r1 - r0, 1), float("-inf"))
        for j in range(ceil(N / tile_kv)):
            c0, c1 = j * tile_kv, min(N, (j + 1) * tile_kv)
            if is_causal and c0 >= r1:
                continue
            K_j, V_j = memory.load("K", c0, c1), memory.load("V", c0, c1)
            S = Q_i @ K_j.T / d**0.5
            if is_causal:
                S = S + torch.where(
                    torch.arange(c0, c1)[None] > torch.arange(r0, r1)[:, None], -torch.inf, 0.0
                )
            m_new = torch.max(m_i, S.max(dim=1, keepdim=True).values)
            P = torch.exp(S - m_new)
            l_i = torch.exp(m_i - m_new) * l_i + P.sum(dim=1, keepdim=True)
            O_i = torch.exp(m_i - m_new) * O_i + P @ V_j
            m_i = m_new
        memory.store("O", r0, O_i / l_i)
        memory.store("L", r0, (m_i + torch.log(l_i)).squeeze(1))

# %% NumPy, double precision
import numpy as np

def flash_attention_2(memory, tile_q, tile_kv, is_causal=False):
    n, d = memory.n_rows, memory.head_dim
    for i in range(0, n, tile_q):
        q = memory.load("Q", i, min(i + tile_q, n)).numpy().astype(float) / np.sqrt(d)
        m, l = np.full(len(q), -np.inf), np.zeros(len(q))
        o = np.zeros((len(q), d))
        for j in range(0, i + len(q) if is_causal else n, tile_kv):
            stop = min(j + tile_kv, n)
            s = q @ memory.load("K", j, stop).numpy().T
            if is_causal:
                s = np.where(np.arange(j, stop) <= np.arange(i, i + len(q))[:, None], s, -np.inf)
            new = np.maximum(m, s.max(1))
            p = np.exp(s - new[:, None])
            scale = np.exp(m - new)
            o = scale[:, None] * o + p @ memory.load("V", j, stop).numpy()
            l, m = scale * l + p.sum(1), new
        memory.store("O", i, o / l[:, None])
        memory.store("L", i, m + np.log(l))

# %% the output divided in every step, the logarithm of the sum carried instead of two
def flash_attention_2(memory, tile_q, tile_kv, is_causal=False):
    for start, stop in tiles(memory.n_rows, tile_q):
        queries = memory.load("Q", start, stop)
        level = torch.full((stop - start,), -torch.inf)
        output = torch.zeros(stop - start, memory.head_dim)
        for first, last in tiles(memory.n_rows, tile_kv):
            if is_causal and first >= stop:
                break
            scores = tile_scores(queries, memory.load("K", first, last), start, first, is_causal)
            new = torch.logaddexp(level, scores.logsumexp(-1))
            weights = (scores - new[:, None]).exp()
            output = (level - new).exp()[:, None] * output
            output += weights @ memory.load("V", first, last)
            level = new
        memory.store("O", start, output)
        memory.store("L", start, level)

# %% halves of tiles, powers of two
def parts(start, stop):
    return [(a, min(a + 2, stop)) for a in range(start, stop, 2)]

def flash_attention_2(memory, tile_q, tile_kv, is_causal=False):
    log2e = 1.4426950408889634
    for start, stop in tiles(memory.n_rows, tile_q):
        queries = torch.cat([memory.load("Q", a, b) for a, b in parts(start, stop)])
        m, l, o = torch.tensor(-torch.inf), 0.0, 0.0
        for first, last in tiles(memory.n_rows, tile_kv):
            if is_causal and stop - 1 < first:
                break
            k = torch.cat([memory.load("K", a, b) for a, b in parts(first, last)])
            v = torch.cat([memory.load("V", a, b) for a, b in parts(first, last)])
            scores = tile_scores(queries, k, start, first, is_causal) * log2e
            new = torch.maximum(m, scores.amax(1))
            old, p = torch.exp2(m - new), torch.exp2(scores - new[:, None])
            l, o, m = old * l + p.sum(1), old[:, None] * o + p @ v, new
        for a, b in parts(start, stop):
            memory.store("O", a, (o / l[:, None])[a - start : b - start])
            memory.store("L", a, ((m + l.log2()) / log2e)[a - start : b - start])

# %% Q comes after the first tiles of K and V
def flash_attention_2(memory, tile_q, tile_kv, is_causal=False):
    for start, stop in reversed(list(tiles(memory.n_rows, tile_q))):
        queries = None
        m, l = torch.full((stop - start,), -torch.inf), torch.zeros(stop - start)
        o = torch.zeros(stop - start, memory.head_dim)
        for first, last in reversed(list(tiles(memory.n_rows, tile_kv))):
            if is_causal and first >= stop:
                continue
            keys, values = memory.load("K", first, last), memory.load("V", first, last)
            if queries is None:
                queries = memory.load("Q", start, stop)
            scores = tile_scores(queries, keys, start, first, is_causal)
            m, l, o = online_softmax(m, l, o, scores, values)
        memory.store("O", start, o / l[:, None])
        memory.store("L", start, m + l.log())

# %% the next tile of K comes while the softmax of this one is taken
def flash_attention_2(memory, tile_q, tile_kv, is_causal=False):
    for start, stop in tiles(memory.n_rows, tile_q):
        todo = [pair for pair in tiles(memory.n_rows, tile_kv) if not is_causal or pair[0] < stop]
        queries, keys = memory.load("Q", start, stop), memory.load("K", *todo[0])
        m, l = torch.full((stop - start,), -torch.inf), torch.zeros(stop - start)
        o = torch.zeros(stop - start, memory.head_dim)
        for now, coming in zip(todo, [*todo[1:], None]):
            scores = tile_scores(queries, keys, start, now[0], is_causal)
            if coming:
                keys = memory.load("K", *coming)
            m, l, o = online_softmax(m, l, o, scores, memory.load("V", *now))
        memory.store("O", start, o / l[:, None])
        memory.store("L", start, m + l.log())
