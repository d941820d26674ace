"""Traffic of services as distributions: `data/traffic.json`, and how values are drawn from it."""

import json
import random
from collections.abc import Sequence
from functools import cache
from itertools import pairwise

from labkit.models.facts import data_path


@cache
def fitted() -> dict[str, dict]:
    """Parameters of traffic by kind, and what the traces themselves have."""
    return json.loads(data_path("traffic.json").read_text(encoding="utf-8"))


def by_shares(shares: Sequence[float], values: Sequence[float], rng: random.Random) -> float:
    """A value below which each share of all lies; its logarithm is linear between them."""
    drawn = rng.random()
    for (low, high), (a, b) in zip(pairwise(shares), pairwise(values), strict=True):
        if drawn <= high:
            return a * (b / a) ** ((drawn - low) / (high - low))
    raise ValueError(f"shares that end at 1 are wanted, got {shares}")
