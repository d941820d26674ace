"""Right answers to `flash_attention_1`, written differently."""

# %% as the paper writes it, with a softmax of the tile and two factors
def flash_attention_1(memory, tile_q, tile_kv, is_causal=False):
    N, d = memory.n_rows, memory.head_dim
    T_r, T_c = ceil(N / tile_q), ceil(N / tile_kv)
    for i in range(T_r):
        rows = min(tile_q, N - i * tile_q)
        memory.store("O", i * tile_q, torch.zeros(rows, d))
        memory.store("l", i * tile_q, torch.zeros(rows))
        memory.store("m", i * tile_q, torch.full((rows,), float("-inf")))
    for j in range(T_c):
        c0, c1 = j * tile_kv, min((j + 1) * tile_kv, N)
        K_j = memory.load("K", c0, c1)
        V_j = memory.load("V", c0, c1)
        for i in range(T_r):
            r0, r1 = i * tile_q, min((i + 1) * tile_q, N)
            if is_causal and c0 > r1 - 1:
                continue
            Q_i, O_i = memory.load("Q", r0, r1), memory.load("O", r0, r1)
            l_i, m_i = memory.load("l", r0, r1), memory.load("m", r0, r1)
            S = (Q_i @ K_j.T) / math.sqrt(d)
            if is_causal:
                later = torch.arange(c0, c1) > torch.arange(r0, r1)[:, None]
                S[later] = -1e30
            m_tile = S.max(dim=1).values
            P = torch.exp(S - m_tile[:, None])
            l_tile = P.sum(dim=1)
            m_new = torch.maximum(m_i, m_tile)
            a, b = torch.exp(m_i - m_new), torch.exp(m_tile - m_new)
            l_new = a * l_i + b * l_tile
            O_new = ((l_i * a)[:, None] * O_i + b[:, None] * (P @ V_j)) / l_new[:, None]
            memory.store("O", r0, O_new)
            memory.store("l", r0, l_new)
            memory.store("m", r0, m_new)

# %% nothing written first: a query's first turn begins with what is new
def flash_attention_1(memory, tile_q, tile_kv, is_causal=False):
    begun = set()
    for a, b in tiles(memory.n_rows, tile_kv):
        keys, values = memory.load("K", a, b), memory.load("V", a, b)
        for start, stop in tiles(memory.n_rows, tile_q):
            if is_causal and a >= stop:
                continue
            queries = memory.load("Q", start, stop)
            if start in begun:
                m, l = memory.load("m", start, stop), memory.load("l", start, stop)
                o = l[:, None] * memory.load("O", start, stop)
            else:
                begun.add(start)
                m, l = torch.full((stop - start,), -math.inf), torch.zeros(stop - start)
                o = torch.zeros(stop - start, memory.head_dim)
            scores = tile_scores(queries, keys, start, a, is_causal)
            m, l, o = online_softmax(m, l, o, scores, values)
            memory.store("m", start, m)
            memory.store("l", start, l)
            memory.store("O", start, o / l[:, None])

# %% NumPy, double precision, while loops
import numpy as np

def flash_attention_1(memory, tile_q, tile_kv, is_causal=False):
    n, d = memory.n_rows, memory.head_dim

    def load(name, a, b):
        return memory.load(name, a, min(b, n)).numpy().astype(np.float64)

    def store(name, a, rows):
        memory.store(name, a, torch.tensor(np.asarray(rows)))

    i = 0
    while i < n:
        size = min(tile_q, n - i)
        store("O", i, np.zeros((size, d)))
        store("l", i, np.zeros(size))
        store("m", i, np.full(size, -np.inf))
        i += tile_q
    j = 0
    while j < n:
        k, v = load("K", j, j + tile_kv), load("V", j, j + tile_kv)
        i = 0
        while i < n:
            if not is_causal or j < i + min(tile_q, n - i):
                q, o = load("Q", i, i + tile_q), load("O", i, i + tile_q)
                l, m = load("l", i, i + tile_q), load("m", i, i + tile_q)
                s = q @ k.T / np.sqrt(d)
                if is_causal:
                    s[np.arange(j, j + len(k)) > np.arange(i, i + len(q))[:, None]] = -np.inf
                new = np.maximum(m, s.max(axis=1))
                p = np.exp(s - new[:, None])
                a = np.exp(m - new) * l
                total = a + p.sum(axis=1)
                store("O", i, (a[:, None] * o + p @ v) / total[:, None])
                store("l", i, total)
                store("m", i, new)
            i += tile_q
        j += tile_kv

# %% halves of tiles, powers of two, helpers of its own
def halves(start, stop):
    middle = (start + stop) // 2
    return [(a, b) for a, b in ((start, middle), (middle, stop)) if b > a]

def fetch(memory, name, start, stop):
    return torch.cat([memory.load(name, a, b) for a, b in halves(start, stop)])

def put(memory, name, start, rows):
    for a, b in halves(start, start + len(rows)):
        memory.store(name, a, rows[a - start : b - start])

def flash_attention_1(memory, tile_q, tile_kv, is_causal=False):
    log2e = math.log2(math.e)
    for start, stop in tiles(memory.n_rows, tile_q):
        put(memory, "m", start, torch.full((stop - start,), -torch.inf))
        put(memory, "l", start, torch.zeros(stop - start))
        put(memory, "O", start, torch.zeros(stop - start, memory.head_dim))
    for first, last in tiles(memory.n_rows, tile_kv):
        keys, values = fetch(memory, "K", first, last), fetch(memory, "V", first, last)
        begin = first // tile_q * tile_q if is_causal else 0
        for start, stop in tiles(memory.n_rows, tile_q):
            if start < begin:
                continue
            queries = fetch(memory, "Q", start, stop)
            scores = tile_scores(queries, keys, start, first, is_causal)
            m, l = fetch(memory, "m", start, stop), fetch(memory, "l", start, stop)
            new = torch.maximum(m, scores.amax(1))
            old = torch.exp2((m - new) * log2e)
            weights = torch.exp2((scores - new.unsqueeze(1)) * log2e)
            l = old * l
            total = l + weights.sum(1)
            output = l.unsqueeze(1) * fetch(memory, "O", start, stop) + weights @ values
            put(memory, "O", start, output / total.unsqueeze(1))
            put(memory, "l", start, total)
            put(memory, "m", start, new)

# %% K and V come after the first tile of Q that needs them
def flash_attention_1(memory, tile_q, tile_kv, is_causal=False):
    for start, stop in tiles(memory.n_rows, tile_q):
        memory.store("O", start, torch.zeros(stop - start, memory.head_dim))
        memory.store("l", start, torch.zeros(stop - start))
        memory.store("m", start, torch.full((stop - start,), -torch.inf))
    for a, b in reversed(list(tiles(memory.n_rows, tile_kv))):
        keys = None
        for start, stop in reversed(list(tiles(memory.n_rows, tile_q))):
            if is_causal and a >= stop:
                break
            queries = memory.load("Q", start, stop)
            if keys is None:
                keys, values = memory.load("K", a, b), memory.load("V", a, b)
            o, l, m = (memory.load(name, start, stop) for name in "Olm")
            scores = tile_scores(queries, keys, start, a, is_causal)
            m, l, o = online_softmax(m, l, l[:, None] * o, scores, values)
            memory.store("m", start, m)
            memory.store("l", start, l)
            memory.store("O", start, o / l.clamp(min=1e-30)[:, None])

# %% logarithms of sums inside, from l and m as they are loaded
def flash_attention_1(memory, tile_q, tile_kv, is_causal=False):
    for start, stop in tiles(memory.n_rows, tile_q):
        memory.store("O", start, torch.zeros(stop - start, memory.head_dim))
        memory.store("l", start, torch.zeros(stop - start))
        memory.store("m", start, torch.full((stop - start,), -torch.inf))
    for a, b in tiles(memory.n_rows, tile_kv):
        keys, values = memory.load("K", a, b), memory.load("V", a, b)
        for start, stop in tiles(memory.n_rows, tile_q):
            if is_causal and a >= stop:
                continue
            queries = memory.load("Q", start, stop)
            o, l, m = (memory.load(name, start, stop) for name in "Olm")
            scores = tile_scores(queries, keys, start, a, is_causal)
            before = m + l.log()
            level = torch.logaddexp(before, scores.logsumexp(-1))
            weights = (scores - level[:, None]).exp()
            m = torch.maximum(m, scores.amax(-1))
            memory.store("O", start, (before - level).exp()[:, None] * o + weights @ values)
            memory.store("m", start, m)
            memory.store("l", start, (level - m).exp())
