"""Speculation on a GPU at a given acceptance: real steps, timed; how many tokens stay is scripted.

Models of random weights take as long as trained ones, but their drafts are never right. So each
block is told how many of its drafted tokens to keep, at the rates that trained pairs were
published with, and everything else happens: drafting, verifying, drawing, taking back.
"""

import random
from collections.abc import Callable, Iterator, Sequence

import torch

from labkit.engine.captured import Autoregression, Speculation
from labkit.engine.decoder import Decoder
from labkit.engine.sampling import Warp
from labkit.engine.weights import random_weights
from labkit.labs.speculative.records import ALONE, N_CACHED, alpha_of_ratio, counts_of
from labkit.measuring.device import forget_peak, peak_bytes
from labkit.measuring.profiles import PAIRS, Profile
from labkit.measuring.records import IsDone, Row, measured
from labkit.measuring.timing import time_in_turns
from labkit.models.sampling import Block
from labkit.zoo.shape import config_of

PUBLISHED = {  # accepted / drafted of three pairs at each gamma, as the homework's tables have it
    "qwen3-8b-0.6b": {2: 0.685, 3: 0.62, 5: 0.525, 7: 0.467},
    "qwen3-8b-1.7b": {2: 0.752, 3: 0.709, 5: 0.591, 7: 0.536},
    "llama-8b-1b": {2: 0.7, 3: 0.68, 5: 0.581, 7: 0.531},
}
N_POSITIONS = 1024
N_BLOCKS = 80
N_ALONE = 200  # tokens of a run without a draft


def scripted(profile: Profile, pair: str, n_samples: int, is_done: IsDone) -> Iterator[Row]:
    """The rows of the experiment speculation for a pair: alone, and at each published gamma.

    Where that cannot be, there is one row, which says why.
    """
    point, words = ("speculation", pair, 1, N_CACHED), {"use_cache": True, "outcome": "-"}
    if reason := _why_not(pair):
        yield Row(*point, 0, use_cache=True, outcome=reason)
        return
    rows = {0: Row(*point, N_ALONE, setting=ALONE, note="random weights", **words)}
    kept = {
        gamma: kept_in_blocks(gamma, ratio, N_BLOCKS) for gamma, ratio in PUBLISHED[pair].items()
    }
    for gamma, numbers in kept.items():
        counts = {"runs": 1} | counts_of([Block(gamma, n) for n in numbers])
        words |= {"setting": f"gamma {gamma}", "counts": counts}
        words["note"] = "random weights, acceptance scripted"
        rows[gamma] = Row(*point, N_BLOCKS + sum(numbers), **words)
    if all(is_done(row.key) for row in rows.values()):
        return
    forget_peak()
    models = ScriptedPair(pair, profile.dtype, N_CACHED)
    runs = {rows[0].setting: models.alone(N_ALONE)}
    runs |= {rows[gamma].setting: models.blocks(gamma, kept[gamma]) for gamma in kept}
    timings = time_in_turns(runs, n_samples)
    for row in rows.values():
        yield measured(row, timings[row.setting].samples_s, row.counts, peak_bytes())


def _why_not(pair: str) -> str:
    if pair not in PUBLISHED:
        return "no published rates to script"
    if torch.cuda.is_available() and torch.cuda.get_device_capability() < (9, 0):
        return "the engine's graphs need a GPU of compute capability 9.0 or more"
    return ""


def kept_in_blocks(gamma: int, ratio: float, n_blocks: int) -> list[int]:
    """How many drafted tokens each block keeps, so that this part of all drafted ones is kept.

    The numbers are evenly spaced quantiles of the law of `alpha_of_ratio`, in a fixed random order.
    """
    alpha = alpha_of_ratio(ratio, gamma)
    tails = [alpha**n for n in range(1, gamma + 1)]
    shares = [(i + 0.5) / n_blocks for i in range(n_blocks)]
    kept = [sum(share < tail for tail in tails) for share in shares]
    random.Random(0).shuffle(kept)
    return kept


class ScriptedPair:
    """A pair of `PAIRS` with random weights on a GPU, ready to be timed."""

    def __init__(self, pair: str, dtype: str, n_cached: int, device: str = "cuda") -> None:
        """Both models, with room for a text that begins with n_cached tokens."""
        self.target, self.draft = (
            Decoder(
                random_weights(config_of(name), N_POSITIONS, device, getattr(torch, dtype)),
                N_POSITIONS,
            )
            for name in PAIRS[pair]
        )
        self._n_cached, self._device = n_cached, device

    def alone(self, n_new: int) -> Callable[[], None]:
        """A run in which the target makes n_new tokens by itself."""
        sampler = Autoregression(self.target, Warp(1.0), n_new)

        def run() -> None:
            self._rewind()
            sampler.run(1, n_new)

        return run

    def blocks(self, gamma: int, kept: Sequence[int]) -> Callable[[], None]:
        """A run of as many blocks as `kept` has numbers."""
        script = torch.tensor(kept, device=self._device)
        sampler = Speculation(self.target, self.draft, gamma, Warp(1.0), script)

        def run() -> None:
            self._rewind()
            sampler.begin(1)
            for _ in kept:
                sampler.block()

        return run

    def _rewind(self) -> None:
        for decoder in (self.target, self.draft):
            decoder.arena.rewind(self._n_cached)
