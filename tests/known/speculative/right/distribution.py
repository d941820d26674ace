"""Right answers to `distribution`, written differently."""

# %% masks on the logits, ranks by a double argsort
def distribution(logits, temperature=1.0, top_k=None, top_p=None):
    check_sampling(temperature, top_k, top_p)
    x = logits if logits.dtype == torch.float64 else logits.to(torch.float32)
    best = x.max(dim=-1, keepdim=True).values
    if torch.isnan(best).any() or torch.isinf(best).any():
        raise ValueError("each row of logits needs a finite largest one")
    if temperature == 0:
        return torch.nn.functional.one_hot(x.argmax(dim=-1), x.shape[-1]).to(x.dtype)
    x = x / temperature
    order = torch.argsort(x, dim=-1, descending=True, stable=True)
    if top_k is not None:
        rank = torch.argsort(order, dim=-1)
        x = torch.where(rank < top_k, x, torch.full_like(x, -torch.inf))
    if top_p is not None:
        ranked = torch.softmax(x.gather(-1, order), dim=-1)
        cut = torch.roll(ranked.cumsum(-1) >= top_p, 1, dims=-1)
        cut[..., 0] = False
        x = x.masked_fill(torch.zeros_like(cut).scatter(-1, order, cut), -torch.inf)
    return torch.softmax(x, dim=-1)

# %% row by row in Python, double precision inside
import math

def one_row(row, temperature, top_k, top_p):
    largest = max(row) if not any(math.isnan(value) for value in row) else math.nan
    if not math.isfinite(largest):
        raise ValueError("no finite largest logit")
    if temperature == 0:
        return [float(i == row.index(largest)) for i in range(len(row))]
    weights = [math.exp((value - largest) / temperature) for value in row]
    ranking = sorted(range(len(row)), key=lambda i: -weights[i])[:top_k]
    kept, mass, total = [], 0.0, sum(weights[i] for i in ranking)
    for i in ranking:
        if top_p is not None and mass >= top_p * total:
            break
        kept.append(i)
        mass += weights[i]
    return [weights[i] / mass if i in kept else 0.0 for i in range(len(row))]


def distribution(logits, temperature=1.0, top_k=None, top_p=None):
    check_sampling(temperature, top_k, top_p)
    rows = logits.double().reshape(-1, logits.shape[-1]).tolist()
    found = torch.tensor([one_row(row, temperature, top_k, top_p) for row in rows])
    found = torch.tensor(
        [one_row(row, temperature, top_k, top_p) for row in rows], dtype=torch.float64
    )
    dtype = torch.float64 if logits.dtype is torch.float64 else torch.float32
    return found.reshape(logits.shape).to(dtype)

# %% NumPy
import numpy as np

def distribution(logits, temperature=1.0, top_k=None, top_p=None):
    check_sampling(temperature, top_k, top_p)
    x = (logits if logits.dtype == torch.float64 else logits.float()).numpy().copy()
    top = x.max(axis=-1, keepdims=True)
    if not np.isfinite(top).all():
        raise ValueError("logits without a finite maximum")
    if temperature == 0:
        probs = np.zeros_like(x)
        np.put_along_axis(probs, x.argmax(axis=-1)[..., None], 1, axis=-1)
        return torch.from_numpy(probs)
    probs = np.exp((x - top) / temperature)
    probs /= probs.sum(axis=-1, keepdims=True)
    order = np.argsort(-probs, axis=-1, kind="stable")
    for limit in (top_k, top_p):
        if limit is None:
            continue
        ranked = np.take_along_axis(probs, order, axis=-1)
        if limit is top_k and top_k is not None:
            ranked[..., top_k:] = 0
            top_k = None
        else:
            ranked[np.cumsum(ranked, axis=-1) - ranked >= limit] = 0
        ranked /= ranked.sum(axis=-1, keepdims=True)
        np.put_along_axis(probs, order, ranked, axis=-1)
    return torch.from_numpy(probs)

# %% log-probabilities, a very small temperature for none
def distribution(logits, temperature=1.0, top_k=None, top_p=None):
    check_sampling(temperature, top_k, top_p)
    scores = logits.clone() if logits.dtype == torch.float64 else logits.float().clone()
    if not scores.amax(dim=-1).isfinite().all():
        raise ValueError(f"cannot make probabilities of {logits}")
    if temperature < 1e-6:
        first = scores.argmax(dim=-1, keepdim=True)
        return torch.zeros_like(scores).scatter_(-1, first, 1)
    scores = torch.log_softmax(scores / temperature, dim=-1)
    order = scores.sort(dim=-1, descending=True, stable=True).indices
    if top_k is not None and top_k < scores.shape[-1]:
        scores.scatter_(-1, order[..., top_k:], -torch.inf)
        scores = scores.log_softmax(dim=-1)
    if top_p is not None and top_p < 1:
        ranked = scores.gather(-1, order).exp()
        outside = torch.cumsum(ranked, dim=-1) - ranked >= top_p
        scores[torch.zeros_like(outside).scatter(-1, order, outside)] = -torch.inf
        scores = scores.log_softmax(dim=-1)
    return scores.exp()

# %% the package's cut, by the largest logit's own scale
def distribution(logits, temperature=1.0, top_k=None, top_p=None):
    check_sampling(temperature, top_k, top_p)
    x = logits if logits.dtype == torch.float64 else logits.float()
    if not torch.isfinite(x.amax(-1)).all():
        raise ValueError("no finite largest logit")
    if temperature == 0:
        return torch.nn.functional.one_hot(x.argmax(-1), x.shape[-1]).to(x.dtype)
    return keep_top(top_k=top_k, top_p=top_p, probs=(x / temperature).softmax(-1))
