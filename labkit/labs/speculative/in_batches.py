"""Lab 6's experiments with several texts at once: those that write, and steps of a batch alone.

A step over B texts takes as long with any weights. So `verify_by_batch` needs no sampler and no
acceptance, and `labkit.speculative.speedup` predicts from it.
"""

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch
from torch import Generator

from labkit.engine.cached import EngineBatch
from labkit.engine.decoder import Decoder
from labkit.engine.sampling import warped
from labkit.engine.serving.decoder import PagedDecoder
from labkit.engine.serving.pages import PAGE
from labkit.engine.weights import weights_of
from labkit.labs.speculative.batched import speculative_batch
from labkit.labs.speculative.records import ALONE
from labkit.labs.speculative.sampled import (
    Played,
    SampledPair,
    Task,
    Text,
    Way,
    feeds_s_of,
    texts_of,
    written,
)
from labkit.measuring.device import free_device_memory, rows_in_room
from labkit.measuring.profiles import PAIRS, MachineProfile
from labkit.measuring.records import IsDone, Row, measured
from labkit.measuring.timing import time_in_turns
from labkit.models.sampling import Block
from labkit.zoo.shape import build

SIZES = {  # by profile: the pair, numbers of texts, cached tokens of each
    "cpu": ("tiny", (1, 2, 4), (64,)),
    "t4": ("qwen3-1.7b-0.6b", (1, 2, 4, 8, 16, 32), (512,)),
    "gpu80": ("qwen3-8b-0.6b", (1, 2, 4, 8, 16, 32, 64, 128, 256), (512, 4096, 16_384)),
}
FED = tuple(range(1, 9))  # gamma + 1 tokens of each text, for the target; the draft takes one
MOST_FED = 1024  # tokens of all texts together
MOST_CACHED = 2**19  # likewise: their keys and values are 77 GB in Qwen3-8B
N_STEPS = 5  # of a sample: waiting for it counts for little
SPARE = N_STEPS * FED[-1] + 8  # positions after the cached ones


def batch_sweep(
    profile: MachineProfile,
    pair: str = "tiny",
    gamma: int = 3,
    sizes: Sequence[int] = (1, 2, 4),
    *,
    is_done: IsDone = lambda key: False,
    **task: Any,
) -> Iterator[Row]:
    """The target alone and with its draft, in batches of several sizes; a pair as for `regimes`.

    n_new: of a row of the batch, over all batches. Texts that do not fill a batch are left out, so
    sizes that divide their number compare the same texts.
    """
    each = Task(**task)
    texts = texts_of(pair, each.n_per_source)
    ways = [Way(ALONE, 0), Way(f"gamma {gamma}", gamma)]
    for size in sizes:
        batches = _batched([texts[i : i + size] for i in range(0, len(texts) - size + 1, size)])
        sizes_of = {"batch_size": size, "n_new": each.n_new * len(batches)}
        rows = [
            replace(each.row("batch_sweep", pair, texts, way.setting), **sizes_of) for way in ways
        ]

        def make_play(size: int = size) -> Callable[..., None]:
            return partial(play_batch, SampledPair(pair, profile).decoders(size))

        yield from written(rows, make_play, batches, ways, each, is_done)


def batch_groups(
    profile: MachineProfile,
    pair: str = "tiny",
    gamma: int = 3,
    *,
    is_done: IsDone = lambda key: False,
    **task: Any,
) -> Iterator[Row]:
    """The same texts in batches of one source each, and in mixed batches of the same size.

    Texts of one source are accepted alike. A batch needs as many calls of the target as its slowest
    row, so counts has target_calls of a run. A pair as for `batch_sweep`.
    """
    each = Task(**task)
    texts = texts_of(pair, each.n_per_source)
    n_sources = len(dict.fromkeys(text.source for text in texts))
    size, way = len(texts) // n_sources, Way(f"gamma {gamma}", gamma)
    groupings = {
        "one source": [texts[i * size : (i + 1) * size] for i in range(n_sources)],
        "mixed": [texts[i::n_sources] for i in range(n_sources)],
    }
    for name, groups in groupings.items():
        row = each.row("batch_groups", pair, texts, f"{way.setting}, {name}")
        row = replace(row, batch_size=len(groups[0]), n_new=each.n_new * len(groups))

        def make_play(n_rows: int = row.batch_size) -> Callable[..., None]:
            return partial(play_batch, SampledPair(pair, profile).decoders(n_rows))

        yield from written([row], make_play, _batched(groups), [way], each, is_done)


def _batched(groups: Sequence[Sequence[Text]]) -> list[Text]:
    return [
        Text(f"batch {i}", "", tuple(text.tokens for text in group))
        for i, group in enumerate(groups)
    ]


def play_batch(
    decoders: Sequence[Decoder],
    batch: Text,
    n_new: int,
    way: Way,
    played: Played,
    *,
    temperature: float,
    rng: Generator,
) -> None:
    """Write n_new tokens after each prompt of a batch, as `SampledPair.play` does after one."""
    blocks: list[Block] = []
    fed: list[list[int]] = [list(prompt) for prompt in batch.tokens]
    models = [EngineBatch(decoder) for decoder in decoders[: 2 if way.gamma else 1]]
    start_s = time.perf_counter()
    if way.gamma:
        words = {"temperature": temperature, "rng": rng, "blocks": blocks}
        speculative_batch(*models, fed, n_new, way.gamma, **words)
    for _ in range(0 if way.gamma else n_new):
        ends = torch.tensor([len(row) - 1 for row in fed])
        last = models[0].feed(fed)[torch.arange(len(fed)), ends]
        fed = torch.multinomial(warped(last, temperature).softmax(-1), 1, generator=rng).tolist()
    played.add(batch.id, time.perf_counter() - start_s, blocks, feeds_s_of(models))


def verify_by_batch(
    profile: MachineProfile, *, n_samples: int = 10, is_done: IsDone = lambda key: False
) -> Iterator[Row]:
    """Seconds of a step of target and draft, for B texts with 1 to 8 new tokens each.

    n_input: tokens of each text. Settings name the context, as "512 cached"; counts has n_cached.
    Passes of the serving engine without the host's part, captured on a GPU; random weights.
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
    """The rows of one model: those of a batch and a context in turns."""
    longest = max(int(row.counts["n_cached"]) for row in rows) + SPARE
    weights = weights_of(build(name, profile.device, getattr(torch, profile.dtype)), longest)
    n_pages = max(row.batch_size * pages_for(row) for row in rows)
    n_slots = max(row.batch_size for row in rows)
    decoder = PagedDecoder(weights, n_pages, n_slots, longest)
    for each in (decoder.pages.keys, decoder.pages.values):
        each.normal_()
    for place in dict.fromkeys((row.batch_size, row.setting) for row in rows):
        some = [row for row in rows if (row.batch_size, row.setting) == place]
        yield from _in_turns(decoder, some, n_samples)


def pages_for(row: Row) -> int:
    """Pages of one text, whose lengths grow while it is timed."""
    return -(-(int(row.counts["n_cached"]) + SPARE) // PAGE)


def _in_turns(decoder: PagedDecoder, rows: list[Row], n_samples: int) -> Iterator[Row]:
    n_texts, n_cached = rows[0].batch_size, int(rows[0].counts["n_cached"])
    pages, lengths = decoder.pages, dict.fromkeys(range(n_texts), n_cached)
    for slot in lengths:
        pages.reserve(slot, pages_for(rows[0]) * PAGE)

    def runs(n_fed: int) -> Callable[[], None]:
        pages.rewind_all(lengths)
        step = decoder.repeated(dict.fromkeys(lengths, [1] * n_fed))

        def run() -> None:
            pages.rewind_all(lengths)
            for _ in range(N_STEPS):
                step()

        return run

    timings = time_in_turns({row.key: runs(row.n_input) for row in rows}, n_samples, n_warmup=2)
    for slot in lengths:
        pages.release(slot)
    for row in rows:
        samples_s = [sample / N_STEPS for sample in timings[row.key].samples_s]
        yield measured(row, samples_s, {**row.counts, "step_bytes": decoder.weights.step_bytes})
