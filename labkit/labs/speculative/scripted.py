"""Speculation at a given acceptance: real steps, timed; how many tokens stay is scripted.

Models of random weights take as long as trained ones, but their drafts are never right. So each
block gets the number of its drafted tokens to keep, at rates that trained pairs had. All else
happens: drafting, verifying, drawing, taking back. The engine plays it as CUDA graphs. Models that
the engine does not have are played by transformers, with the samplers that are given.
"""

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Tensor

from labkit import zoo
from labkit.engine.decoder import Decoder
from labkit.engine.samplers import Autoregression, Speculation
from labkit.engine.sampling import Warp
from labkit.engine.weights import KNOWN, weights_of
from labkit.labs.speculative.models import TransformersModel
from labkit.labs.speculative.records import ALONE, N_CACHED, alpha_of_ratio, counts_of
from labkit.labs.speculative.sampled import Player, Samplers, Task, Text, Way, written
from labkit.measuring.device import forget_peak, peak_bytes, rows_in_room
from labkit.measuring.profiles import PAIRS, MachineProfile
from labkit.measuring.records import IsDone, Row, measured
from labkit.measuring.timing import time_in_turns
from labkit.models.sampling import Block
from labkit.zoo.shape import build, config_of

Ratios = Mapping[int, float]  # accepted / drafted, by gamma
PUBLISHED: Mapping[str, Ratios] = {  # of three pairs, as the homework's tables have it
    "qwen3-8b-0.6b": {2: 0.685, 3: 0.62, 5: 0.525, 7: 0.467},
    "qwen3-8b-1.7b": {2: 0.752, 3: 0.709, 5: 0.591, 7: 0.536},
    "llama-8b-1b": {2: 0.7, 3: 0.68, 5: 0.581, 7: 0.531},
}
N_POSITIONS = 1024
N_BLOCKS = 80
N_ALONE = 200  # tokens of a run without a draft
N_EAGER = 12  # blocks of the script of a run by transformers, which takes longer
DRAFTED, OTHER = 1, 2  # the token that a scripted draft proposes; the target's, where it disagrees


def scripted(
    profile: MachineProfile,
    pair: str,
    ratios: Ratios,
    samplers: Samplers,
    n_samples: int,
    is_done: IsDone,
) -> Iterator[Row]:
    """The rows of the experiment speculation for a pair: alone, and at each gamma.

    ratios: accepted / drafted by gamma, where none are published for the pair.
    """
    ratios, note = script_of(pair, ratios)
    if is_engines(pair) and profile.device == "cuda":
        yield from _by_engine(profile, pair, ratios, note, n_samples, is_done)
    else:
        task = Task(n_new=2 * N_EAGER, n_samples=n_samples)
        yield from by_transformers("speculation", profile, pair, ratios, samplers, task, is_done)


def is_engines(pair: str) -> bool:
    """Whether the engine has the architecture of both models."""
    return all(config_of(name).model_type in KNOWN for name in PAIRS[pair])


def script_of(pair: str, ratios: Ratios) -> tuple[Ratios, str]:
    """The rates of a pair, published where there are some, and what a row says of them."""
    source = "published" if pair in PUBLISHED else "another pair's"
    return PUBLISHED.get(pair, ratios), f"random weights, {source} acceptance scripted"


def _by_engine(
    profile: MachineProfile, pair: str, ratios: Ratios, note: str, n_samples: int, is_done: IsDone
) -> Iterator[Row]:
    row = Row("speculation", pair, 1, N_CACHED, N_ALONE, True, outcome="-", setting=ALONE)
    rows = {0: replace(row, note="random weights")}
    kept = {gamma: kept_in_blocks(gamma, ratio, N_BLOCKS) for gamma, ratio in ratios.items()}
    for gamma, numbers in kept.items():
        counts = {"runs": 1} | counts_of([Block(gamma, n) for n in numbers])
        words = {"setting": f"gamma {gamma}", "counts": counts, "note": note}
        rows[gamma] = replace(row, n_new=N_BLOCKS + sum(numbers), **words)
    if all(is_done(row.key) for row in rows.values()):
        return

    def measure() -> Iterator[Row]:
        models = ScriptedPair(pair, profile.dtype, N_CACHED)
        forget_peak()
        runs = {rows[0].setting: models.alone(N_ALONE)}
        runs |= {rows[gamma].setting: models.blocks(gamma, kept[gamma]) for gamma in kept}
        timings = time_in_turns(runs, n_samples)
        for row in rows.values():
            yield measured(row, timings[row.setting].samples_s, row.counts, peak_bytes())

    yield from rows_in_room(list(rows.values()), measure)


def by_transformers(
    experiment: str,
    profile: MachineProfile,
    pair: str,
    ratios: Ratios,
    samplers: Samplers,
    task: Task,
    is_done: IsDone,
) -> Iterator[Row]:
    """As `scripted`, with eager steps. All ways make as many tokens, so a script may be cut."""
    note = script_of(pair, ratios)[1]
    text = Text("scripted", "", (DRAFTED,) * N_CACHED)
    ways = [Way(ALONE, 0), *(Way(f"gamma {gamma}", gamma) for gamma in ratios)]
    rows = [
        replace(task.row(experiment, pair, [text], way.setting), note=f"{note}, eager")
        for way in ways
    ]

    def make_play() -> Callable[..., None]:
        return partial(EagerPair(pair, profile, ratios).play, samplers)

    yield from written(rows, make_play, [text], ways, task, is_done)


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
                weights_of(build(name, device, getattr(torch, dtype)), N_POSITIONS), N_POSITIONS
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

    def blocks(
        self, gamma: int, kept: Sequence[int], make: Callable[..., Speculation] = Speculation
    ) -> Callable[[], None]:
        """A run of as many blocks as `kept` has numbers."""
        script = torch.tensor(kept, device=self._device)
        sampler = make(self.target, self.draft, gamma, Warp(1.0), script)

        def run() -> None:
            self._rewind()
            sampler.begin(1)
            for _ in kept:
                sampler.block()

        return run

    def _rewind(self) -> None:
        for decoder in (self.target, self.draft):
            decoder.arena.rewind(self._n_cached)


class EagerPair(Player):
    """A pair of transformers' models with random weights, which agree as scripted."""

    def __init__(self, pair: str, profile: MachineProfile, ratios: Ratios) -> None:
        """Both models, and how many drafted tokens each block of a gamma keeps."""
        self._models = [
            TransformersModel(zoo.load(name, "random", profile=profile).model)
            for name in PAIRS[pair]
        ]
        self._kept = {n: kept_in_blocks(n, ratio, N_EAGER) for n, ratio in ratios.items()}

    def models(self, way: Way) -> list[Any]:
        """Both with empty caches, at the beginning of the script."""
        for model in self._models:
            model.rewind(0)
        target, draft = self._models
        if not way.gamma:
            return [Saying(target)]
        return [Saying(target, self._kept[way.gamma]), Saying(draft)]


class Saying:
    """A model that computes each step, and then says what a script wants: one-hot rows.

    kept: how many of the drafted tokens the target of a pair keeps, call by call after the
    prompt's, over and over; without it, each row says DRAFTED. feeds_s: seconds of each call.
    """

    def __init__(self, model: TransformersModel, kept: Sequence[int] = ()) -> None:
        self.feeds_s: list[float] = []
        self._model, self._kept = model, kept

    def __getattr__(self, name: str) -> Any:
        return getattr(self._model, name)

    def feed(self, tokens: Sequence[int]) -> Tensor:
        """Cache the tokens; logits (T V) as the script has them."""
        start_s = time.perf_counter()
        logits = torch.full_like(self._model.feed(tokens), -torch.inf)
        logits[:, DRAFTED] = 0.0
        if self._kept and self.feeds_s:
            n_kept = self._kept[(len(self.feeds_s) - 1) % len(self._kept)]
            logits[n_kept:, [DRAFTED, OTHER]] = torch.tensor([-torch.inf, 0.0])
        self.feeds_s.append(time.perf_counter() - start_s)
        return logits
