"""Right answers to `speedup`, written differently."""

# %% seconds per token, one over the other
def speedup(alpha, gamma, draft_s, target_s, verify_s):
    if not 0 <= alpha <= 1 or gamma < 0:
        raise ValueError("alpha is a probability, gamma a number of tokens")
    tokens = gamma + 1 if alpha == 1 else (1 - alpha ** (gamma + 1)) / (1 - alpha)
    per_token_s = (gamma * draft_s + verify_s) / tokens
    return target_s / per_token_s

# %% in steps of the target, as in the paper
def speedup(alpha, gamma, draft_s, target_s, verify_s):
    if gamma < 0 or alpha < 0 or alpha > 1:
        raise ValueError(f"{alpha}, {gamma}")
    c, v = draft_s / target_s, verify_s / target_s
    tokens = 1.0
    for _ in range(gamma):
        tokens = 1 + alpha * tokens
    return tokens / (gamma * c + v)

# %% draft steps one by one, in single precision
import numpy as np

def speedup(alpha, gamma, draft_s, target_s, verify_s):
    if not (0 <= alpha <= 1 and gamma >= 0):
        raise ValueError(f"no speedup for alpha {alpha} and gamma {gamma}")
    n_tokens = np.power(np.float32(alpha), np.arange(gamma + 1, dtype=np.float32)).sum()
    seconds = np.float32(verify_s)
    for _ in range(gamma):
        seconds += np.float32(draft_s)
    return n_tokens / seconds * np.float32(target_s)
