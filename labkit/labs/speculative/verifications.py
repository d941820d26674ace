"""What verifying costs when many texts are decoded at once, and a draft's step beside it.

No text is written: a step over B texts and T tokens each takes as long with any weights. So this
needs no sampler and no acceptance, and `labkit.speculative.speedup` predicts from it.
"""

from collections.abc import Callable, Iterator
from functools import partial

import torch

from labkit.engine.captured import replayed
from labkit.engine.decoder import Decoder
from labkit.engine.weights import Weights, weights_of
from labkit.measuring.device import free_device_memory, rows_in_room
from labkit.measuring.profiles import PAIRS, MachineProfile
from labkit.measuring.records import IsDone, Row, measured
from labkit.measuring.timing import time_in_turns
from labkit.zoo.shape import build

SIZES = {  # by profile: the pair, numbers of texts, cached tokens of each
    "cpu": ("tiny", (1, 2, 4), (64,)),
    "t4": ("qwen3-1.7b-0.6b", (1, 2, 4, 8, 16, 32), (512,)),
    "gpu80": ("qwen3-8b-0.6b", (1, 2, 4, 8, 16, 32, 64, 128), (512, 4096, 16_384)),
}
FED = tuple(range(1, 9))  # gamma + 1 tokens of each text, for the target; the draft takes one
MOST_FED = 512  # tokens of all texts together
MOST_CACHED = 2**19  # likewise: their keys and values are 77 GB in Qwen3-8B
N_STEPS = 5  # of a sample: waiting for it counts for little


def verify_by_batch(
    profile: MachineProfile, *, n_samples: int = 10, is_done: IsDone = lambda key: False
) -> Iterator[Row]:
    """Seconds of a step of target and draft, for B texts with 1 to 8 new tokens each.

    n_input: tokens of each text. Settings name the context, as "512 cached"; counts has n_cached.
    The engine's steps, captured on a GPU, with random weights.
    """
    pair, batches, contexts = SIZES[profile.name]
    for name, fed in zip(PAIRS[pair], (FED, FED[:1]), strict=True):
        rows = [
            Row(
                "verify_by_batch", name, n_texts, n_fed, 0, True,
                outcome="-", setting=f"{n_cached} cached", counts={"n_cached": n_cached},
            )
            for n_texts in batches
            for n_cached in contexts
            for n_fed in fed
            if n_texts * n_fed <= MOST_FED and n_texts * n_cached <= MOST_CACHED
        ]  # fmt: skip
        left = [row for row in rows if not is_done(row.key)]
        if left:
            yield from rows_in_room(left, partial(_of_model, profile, name, left, n_samples))
            free_device_memory()


def _of_model(profile: MachineProfile, name: str, rows: list[Row], n_samples: int) -> Iterator[Row]:
    """The rows of one model, batch by batch: each has a cache of its own size."""
    longest = max(int(row.counts["n_cached"]) for row in rows) + FED[-1]
    weights = weights_of(build(name, profile.device, getattr(torch, profile.dtype)), longest)
    for n_texts in dict.fromkeys(row.batch_size for row in rows):
        some = [row for row in rows if row.batch_size == n_texts]
        yield from rows_in_room(some, partial(_of_batch, weights, some, n_samples))
        free_device_memory()


def _of_batch(weights: Weights, rows: list[Row], n_samples: int) -> Iterator[Row]:
    """A captured step holds for every length, so each number of tokens is captured once."""
    longest = max(int(row.counts["n_cached"]) for row in rows) + FED[-1]
    decoder = Decoder(weights, longest, rows[0].batch_size)
    steps = {}
    for n_fed in dict.fromkeys(row.n_input for row in rows):
        tokens = torch.ones(rows[0].batch_size, n_fed, dtype=torch.long, device=weights.device)
        steps[n_fed] = replayed(partial(decoder.forward, tokens), decoder)
    for n_cached in dict.fromkeys(int(row.counts["n_cached"]) for row in rows):
        decoder.arena.rewind(n_cached)
        some = [row for row in rows if row.counts["n_cached"] == n_cached]
        runs = {row.key: partial(_steps, steps[row.n_input]) for row in some}
        timings = time_in_turns(runs, n_samples, n_warmup=2)
        for row in some:
            samples_s = [sample / N_STEPS for sample in timings[row.key].samples_s]
            yield measured(row, samples_s, {**row.counts, "step_bytes": weights.step_bytes})


def _steps(step: Callable[[], None]) -> None:
    for _ in range(N_STEPS):
        step()
