"""Right answers to `generation_passes`, written differently."""

# %% in one expression
def generation_passes(n_prompt, n_new, use_cache):
    if not use_cache:
        return [(n_prompt + i, 0) for i in range(n_new)]
    return ([(n_prompt, 0)] + [(1, n_prompt + i) for i in range(n_new - 1)])[:n_new]

# %% an array
import numpy as np

def generation_passes(n_prompt, n_new, use_cache):
    lengths = n_prompt + np.arange(n_new)
    cached = np.where(np.arange(n_new) > 0, lengths - 1, 0) if use_cache else 0 * lengths
    return np.stack([lengths - cached, cached], axis=1)

# %% played through, lists of two
def generation_passes(n_prompt, n_new, use_cache):
    passes, in_cache, waiting = [], 0, n_prompt
    while len(passes) < n_new:
        passes.append([waiting, in_cache])
        if use_cache:
            in_cache, waiting = in_cache + waiting, 1
        else:
            waiting += 1
    return passes
