"""Right answers to `best_gamma`, written differently."""

# %% the first maximum of an array
import numpy as np

def best_gamma(alpha, draft_s, target_s, verify_s, max_gamma=64):
    gained = [1.0] + [speedup(alpha, gamma, draft_s, target_s, verify_s(gamma)) for gamma in range(1, max_gamma + 1)]
    return np.argmax(gained)

# %% a tensor in single precision
def best_gamma(alpha, draft_s, target_s, verify_s, max_gamma=64):
    gained = torch.tensor([speedup(alpha, gamma, draft_s, target_s, verify_s(gamma)) for gamma in range(1, max_gamma + 1)])
    if gained.max() <= 1:
        return 0
    return (gained == gained.max()).nonzero()[0] + 1

# %% the least time of a token, and sorting
def best_gamma(alpha, draft_s, target_s, verify_s, max_gamma=64):
    def token_s(gamma):
        if gamma == 0:
            return target_s
        return target_s / speedup(alpha, gamma, draft_s, target_s, verify_s(gamma))

    return sorted(range(max_gamma + 1), key=lambda gamma: (token_s(gamma), gamma))[0]
