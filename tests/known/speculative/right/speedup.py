"""Right answers to `speedup`, written differently."""

# %% seconds per token, one over the other
def speedup(alpha, gamma, draft_s, target_s, verify_s):
    per_token_s = (gamma * draft_s + verify_s) / expected_tokens(alpha, gamma)
    return target_s / per_token_s

# %% in steps of the target, as in the paper
def speedup(alpha, gamma, draft_s, target_s, verify_s):
    c, v = draft_s / target_s, verify_s / target_s
    return expected_tokens(alpha, gamma) / (gamma * c + v)

# %% draft steps one by one, in single precision
import numpy as np

def speedup(alpha, gamma, draft_s, target_s, verify_s):
    n_tokens = np.float32(expected_tokens(alpha, gamma))
    seconds = np.float32(verify_s)
    for _ in range(gamma):
        seconds += np.float32(draft_s)
    return n_tokens / seconds * np.float32(target_s)
