"""Right answers to `longest_cached_prefix`, written differently."""

# %% takewhile
from itertools import takewhile

def longest_cached_prefix(hashes, cached, n_tokens, block_size):
    n_hits = sum(1 for _ in takewhile(lambda one: one in cached, hashes))
    if n_hits * block_size >= n_tokens:
        n_hits -= 1
    return n_hits * block_size

# %% stops before the last token
def longest_cached_prefix(hashes, cached, n_tokens, block_size):
    n_saved = 0
    for one in hashes:
        if one not in cached or n_saved + block_size > n_tokens - 1:
            return n_saved
        n_saved += block_size
    return n_saved

# %% an array of hits
import numpy as np

def longest_cached_prefix(hashes, cached, n_tokens, block_size):
    hits = np.array([one in cached for one in hashes] + [False])
    n_blocks = min(int(hits.argmin()), (n_tokens - 1) // block_size)
    return np.int64(n_blocks * block_size)
