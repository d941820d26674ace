"""Right answers to `merge`, written differently."""

# %% logarithms of totals
def merge(state_a, state_b):
    (m_a, l_a, o_a), (m_b, l_b, o_b) = state_a, state_b
    m = torch.maximum(m_a, m_b)
    down = torch.where(m == -torch.inf, 0.0, m)
    lse = torch.logaddexp(m_a + l_a.log(), m_b + l_b.log())
    return m, (lse - down).exp(), (m_a - down).exp()[:, None] * o_a + (m_b - down).exp()[:, None] * o_b

# %% the tile of an online softmax: two states stacked
def merge(state_a, state_b):
    m, l, o = (torch.stack(pair) for pair in zip(state_a, state_b))
    top = m.amax(0)
    factors = torch.exp(m - torch.nan_to_num(top, neginf=0.0))
    return top, (factors * l).sum(0), torch.einsum("sq,sqd->qd", factors, o)

# %% query by query
def merge(state_a, state_b):
    maximum, total, output = (part.clone() for part in state_a)
    for row in range(len(maximum)):
        other = [part[row] for part in state_b]
        if other[0] == -math.inf:
            continue
        if maximum[row] == -math.inf:
            maximum[row], total[row], output[row] = other
            continue
        top = max(maximum[row].item(), other[0].item())
        down, up = math.exp(maximum[row] - top), math.exp(other[0] - top)
        total[row] = down * total[row] + up * other[1]
        output[row] = down * output[row] + up * other[2]
        maximum[row] = top
    return maximum, total, output

# %% NumPy, powers of two
import numpy as np

def merge(state_a, state_b):
    (m_a, l_a, o_a), (m_b, l_b, o_b) = [
        [np.asarray(part, dtype=np.float64) for part in state] for state in (state_a, state_b)
    ]
    m = np.maximum(m_a, m_b)
    level = np.where(np.isneginf(m), 0.0, m)
    f_a, f_b = (np.exp2((each - level) / np.log(2)) for each in (m_a, m_b))
    return m, f_a * l_a + f_b * l_b, f_a[:, None] * o_a + f_b[:, None] * o_b

# %% the smaller one is brought up to the larger one
def merge(state_a, state_b):
    is_b = state_b[0] > state_a[0]
    big = [b.where(is_b.view(-1, *[1] * (b.dim() - 1)), a) for a, b in zip(state_a, state_b)]
    low = [a.where(is_b.view(-1, *[1] * (b.dim() - 1)), b) for a, b in zip(state_a, state_b)]
    factor = torch.where(low[0].isinf(), torch.zeros_like(low[0]), (low[0] - big[0]).exp())
    return big[0], big[1] + factor * low[1], big[2] + factor.unsqueeze(1) * low[2]
