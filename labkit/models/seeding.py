"""One seed for all that draws: Python, NumPy and PyTorch on every device.

Functions of this kit take an `rng`; this is for code that draws from the global generators, such as
a whole notebook or somebody's sampler. Where the environment variable LABKIT_SEED is set, two runs
of a program that calls `seed_from_environment` first draw the same numbers.
"""

import os
import random
import warnings

import numpy as np
import torch

VARIABLE = "LABKIT_SEED"
MOST = 2**32 - 1  # that NumPy takes


def seed_everything(seed: int) -> int:
    """Seed the global generators of Python, NumPy and PyTorch; returns the seed.

    Two runs then draw alike on one machine with one set of versions. Sums on a GPU may still be
    added up in another order.
    Raises: ValueError for a seed below 0 or above 2**32 - 1.
    """
    if not 0 <= seed <= MOST:
        raise ValueError(f"wanted a seed from 0 to {MOST}, got {seed}")
    random.seed(seed)
    np.random.seed(seed)
    torch.manual_seed(seed)
    return seed


def seed_from_environment() -> int | None:
    """Seed everything as LABKIT_SEED says; warns, and leaves all as it is, if it is not set.

    Raises: ValueError if it is no seed.
    """
    text = os.environ.get(VARIABLE, "")
    if not text:
        warnings.warn(
            f"{VARIABLE} is not set, so this run draws numbers that no other run will; "
            f"set {VARIABLE}=0, or another seed, to repeat it",
            stacklevel=2,
        )
        return None
    if not text.isascii() or not text.isdigit():
        raise ValueError(f"wanted a whole number in {VARIABLE}, got {text!r}")
    return seed_everything(int(text))
