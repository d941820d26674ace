"""Right answers to `flash_kernel`, written differently."""

# %% powers of two, whole tiles first
def flash_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, n_rows, scale,
    IS_CAUSAL: tl.constexpr, HEAD_DIM: tl.constexpr,
    TILE_Q: tl.constexpr, TILE_KV: tl.constexpr,
):
    i = tl.program_id(0)
    q = i * TILE_Q + tl.arange(0, TILE_Q)
    d = tl.arange(0, HEAD_DIM)
    at = q[:, None] * HEAD_DIM + d
    Q = tl.load(q_ptr + at, mask=q[:, None] < n_rows, other=0)
    m = tl.zeros((TILE_Q,), tl.float32) - float("inf")
    l = tl.zeros((TILE_Q,), tl.float32)
    acc = tl.zeros((TILE_Q, HEAD_DIM), tl.float32)
    whole = n_rows // TILE_KV * TILE_KV
    end = n_rows
    if IS_CAUSAL:
        whole = (i * TILE_Q) // TILE_KV * TILE_KV
        end = tl.minimum((i + 1) * TILE_Q, n_rows)
    for j in range(0, whole, TILE_KV):
        k = j + tl.arange(0, TILE_KV)
        K = tl.load(k_ptr + d[:, None] + k[None, :] * HEAD_DIM)
        V = tl.load(v_ptr + k[:, None] * HEAD_DIM + d)
        S = tl.dot(Q, K) * (scale * 1.44269504)
        new = tl.maximum(m, tl.max(S, 1))
        P = tl.exp2(S - new[:, None])
        a = tl.exp2(m - new)
        l = l * a + tl.sum(P, 1)
        acc = tl.dot(P.to(V.dtype), V, acc * a[:, None])
        m = new
    for j in range(whole, end, TILE_KV):
        k = j + tl.arange(0, TILE_KV)
        K = tl.load(k_ptr + d[:, None] + k[None, :] * HEAD_DIM, mask=k[None, :] < n_rows, other=0)
        V = tl.load(v_ptr + k[:, None] * HEAD_DIM + d, mask=k[:, None] < n_rows, other=0)
        S = tl.dot(Q, K) * (scale * 1.44269504)
        S = tl.where(k[None, :] < n_rows, S, float("-inf"))
        if IS_CAUSAL:
            S = tl.where(q[:, None] >= k[None, :], S, float("-inf"))
        new = tl.maximum(m, tl.max(S, 1))
        P = tl.exp2(S - new[:, None])
        a = tl.exp2(m - new)
        l = l * a + tl.sum(P, 1)
        acc = tl.dot(P.to(V.dtype), V, acc * a[:, None])
        m = new
    tl.store(o_ptr + at, acc / l[:, None], mask=q[:, None] < n_rows)

# %% a condition in the loop, the last queries first, float32 weights
def flash_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, n_rows, scale,
    IS_CAUSAL: tl.constexpr, HEAD_DIM: tl.constexpr,
    TILE_Q: tl.constexpr, TILE_KV: tl.constexpr,
):
    tile = tl.num_programs(0) - 1 - tl.program_id(0)
    rows = tile * TILE_Q + tl.arange(0, TILE_Q)
    cols = tl.arange(0, HEAD_DIM)
    ok = (rows < n_rows)[:, None] & (cols >= 0)[None, :]
    q = tl.load(q_ptr + rows[:, None] * HEAD_DIM + cols[None, :], mask=ok, other=0.0).to(tl.float32)
    q = q * scale
    m = tl.full([TILE_Q], -1e38, tl.float32)
    l = tl.full([TILE_Q], 0.0, tl.float32)
    o = tl.full([TILE_Q, HEAD_DIM], 0.0, tl.float32)
    for tile_kv in range(0, tl.cdiv(n_rows, TILE_KV)):
        first = tile_kv * TILE_KV
        if (not IS_CAUSAL) or first < (tile + 1) * TILE_Q:
            key = first + tl.arange(0, TILE_KV)
            here = (key < n_rows)[:, None]
            k = tl.load(k_ptr + key[:, None] * HEAD_DIM + cols[None, :], mask=here, other=0.0).to(tl.float32)
            v = tl.load(v_ptr + key[:, None] * HEAD_DIM + cols[None, :], mask=here, other=0.0).to(tl.float32)
            s = tl.dot(q, tl.trans(k), input_precision="ieee")
            bias = tl.where(key[None, :] < n_rows, 0.0, -1e38)
            if IS_CAUSAL:
                bias = tl.where(key[None, :] <= rows[:, None], bias, -1e38)
            s = s + bias
            top = tl.maximum(m, tl.max(s, 1))
            p = tl.exp(s - top[:, None])
            keep = tl.exp(m - top)
            l = keep * l + tl.sum(p, 1)
            o = keep[:, None] * o + tl.dot(p, v, input_precision="ieee")
            m = top
    out = o / l[:, None]
    tl.store(o_ptr + rows[:, None] * HEAD_DIM + cols[None, :], out, mask=ok)

# %% decorated, with a helper, the output divided in each turn
import triton
import triton.language as tl

@triton.jit
def place_of(first, TILE: tl.constexpr, HEAD_DIM: tl.constexpr):
    row = first + tl.arange(0, TILE)
    return row[:, None] * HEAD_DIM + tl.arange(0, HEAD_DIM)[None, :]

@triton.jit
def flash_kernel(
    q_ptr, k_ptr, v_ptr, o_ptr, n_rows, scale,
    IS_CAUSAL: tl.constexpr, HEAD_DIM: tl.constexpr,
    TILE_Q: tl.constexpr, TILE_KV: tl.constexpr,
):
    first = tl.program_id(0) * TILE_Q
    query = first + tl.arange(0, TILE_Q)
    size = n_rows * HEAD_DIM
    spots = place_of(first, TILE_Q, HEAD_DIM)
    q = tl.load(q_ptr + spots, spots < size, 0.0)
    lse = tl.full((TILE_Q,), float("-inf"), tl.float32)
    o = tl.zeros((TILE_Q, HEAD_DIM), tl.float32)
    start = 0
    end = n_rows
    if IS_CAUSAL:
        end = min(n_rows, first + TILE_Q)
    while start < end:
        at = place_of(start, TILE_KV, HEAD_DIM)
        k = tl.load(k_ptr + at, at < size, 0.0)
        v = tl.load(v_ptr + at, at < size, 0.0)
        key = start + tl.arange(0, TILE_KV)
        seen = key[None, :] < n_rows
        if IS_CAUSAL:
            seen &= query[:, None] >= key[None, :]
        s = tl.where(seen, tl.dot(q, k.T) * scale, float("-inf"))
        top = tl.max(s, 1)
        level = tl.where(top == float("-inf"), 0.0, top)
        part = tl.sum(tl.exp(s - level[:, None]), 1)
        own = level + tl.log(part)
        high = tl.maximum(lse, own)
        new = high + tl.log(tl.exp(lse - high) + tl.exp(own - high))
        p = tl.exp(s - new[:, None])
        o = o * tl.exp(lse - new)[:, None] + tl.dot(p.to(tl.float16), v)
        lse = new
        start += TILE_KV
    tl.store(o_ptr + spots, o.to(tl.float16), spots < size)
