# ---
# jupyter:
#   kernelspec:
#     display_name: Python 3
#     language: python
#     name: python3
# ---

# %% [markdown]
# # Lab 6: speculative decoding
#
# **16 points**, 2 of them for words.

# %% given="setup"
from collections.abc import Callable, Iterable, Sequence

import torch
from torch import Generator, Tensor

from labkit.checks import Checker
from labkit.machine import use_one_thread
from labkit.speculation.rules import check_rows, check_sampling, check_start, cut_after
from labkit.speculative import Block, CachedModel, sample

use_one_thread()  # two wait for each other, and a program beside us makes both late
check = Checker("speculative", globals())

# %% exercise="labkit.speculative:distribution" points=1

# %% exercise="labkit.speculative:residual" points=1

# %% exercise="labkit.speculative:verify" points=2

# %% exercise="labkit.speculative:autoregressive" points=1

# %% exercise="labkit.speculative:speculative" points=4

# %% exercise="labkit.speculation.drafts:ngram_draft" points=1

# %% exercise="labkit.speculation.gains:acceptance_rate" points=0.5

# %% exercise="labkit.speculation.gains:expected_tokens" points=0.5

# %% exercise="labkit.speculation.gains:speedup" points=0.5

# %% exercise="labkit.speculation.gains:best_gamma" points=0.5

# %% exercise="labkit.speculation.batched:verify_batch" points=0.5

# %% answer="notation" points=0.5
notation = {
    "Leviathan et al., Algorithm 1": {"target": "p", "draft": "q", "residual": "p - q"},
    "Chen et al., Algorithm 2": {"target": "q", "draft": "p", "residual": "q - p"},
}

# %% answer="published_alpha" points=0.5
published_alpha = {2: 0.773, 3: 0.779, 5: 0.793, 7: 0.809}

# %% answer="will_it_win" points=0.5
will_it_win = {
    "eager": {"best_gamma": 0, "speedup": 1.0},
    "captured": {"best_gamma": 4, "speedup": 1.697},
}
