"""Right answers to `residual`, written differently."""

# %% what both have is taken off
def residual(target_probs, draft_probs):
    surplus = target_probs - torch.minimum(target_probs, draft_probs)
    total = surplus.sum(dim=-1, keepdim=True)
    is_same = (total <= 0).expand(surplus.shape)
    return torch.where(is_same, target_probs, surplus / torch.where(total > 0, total, 1.0))

# %% one row alone, several by recursion
def residual(target_probs, draft_probs):
    if target_probs.ndim > 1:
        pairs = zip(target_probs, draft_probs)
        return torch.stack([residual(target, draft) for target, draft in pairs])
    difference = torch.nn.functional.relu(target_probs - draft_probs)
    if difference.sum() == 0:
        return target_probs.clone()
    return difference / difference.sum()

# %% NumPy, single precision
import numpy as np

def residual(target_probs, draft_probs):
    target = target_probs.numpy().astype(np.float32)
    left = np.maximum(0, target - draft_probs.numpy().astype(np.float32))
    total = left.sum(axis=-1, keepdims=True)
    scaled = np.divide(left, total, out=target.copy(), where=np.broadcast_to(total > 0, left.shape))
    return torch.from_numpy(scaled)
