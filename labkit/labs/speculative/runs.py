"""The experiments that lab 6's notebook runs: steps of each model, and speculation on each pair.

Compared settings are timed in turns. The kit's own models really write. Larger ones have random
weights, so their acceptance is scripted (`labkit.labs.speculative.scripted`), which the rows say.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import torch

from labkit import zoo
from labkit.engine.captured import replayed
from labkit.engine.decoder import Decoder
from labkit.engine.weights import KNOWN, weights_of
from labkit.labs.speculative.models import TransformersModel
from labkit.labs.speculative.records import ALONE, N_CACHED, ratios_of
from labkit.labs.speculative.sampled import (
    Played,
    SampledPair,
    Samplers,
    Task,
    Text,
    Way,
    texts_of,
    written,
)
from labkit.labs.speculative.scripted import N_POSITIONS, scripted
from labkit.measuring.device import free_device_memory, rows_in_room
from labkit.measuring.machine.device_memory import available_memory_bytes
from labkit.measuring.profiles import PAIRS, MachineProfile
from labkit.measuring.records import IsDone, Row, measured, recorded_results
from labkit.measuring.timing import time_in_turns
from labkit.models.tiny import KIT_MODELS

FED = (1, 2, 3, 4, 6, 8, 11)  # tokens of one step: the draft's, and gamma + 1 to verify


def decode_steps(
    profile: MachineProfile, *, n_samples: int = 10, is_done: IsDone = lambda key: False
) -> Iterator[Row]:
    """Seconds of a step of each model of the profile's pairs, over 1 to 11 tokens, after 300.

    Settings: "eager" is transformers as it comes; "captured", the engine's step as a CUDA graph;
    "lean", the engine without one, where its kernels do not run. n_input: tokens fed. counts has
    step_bytes, what the step reads of the weights. Before them a row copy_bandwidth, for the
    floors.
    """
    copy = Row("copy_bandwidth", profile.device, 1, 0, 0, False, outcome="-")
    if not is_done(copy.key):
        yield from rows_in_room([copy], partial(_copied, copy, n_samples))
    for name in dict.fromkeys(name for pair in profile.pairs for name in PAIRS[pair]):
        row = Row("decode_steps", name, 1, 1, 0, True, outcome="-", setting="eager")
        rows = [replace(row, n_input=n_fed) for n_fed in FED]
        if not all(is_done(row.key) for row in rows):
            yield from rows_in_room(rows, partial(_timed_steps, profile, rows, n_samples))
            free_device_memory()


def speculation(
    profile: MachineProfile,
    samplers: Samplers | None = None,
    pairs: Sequence[str] = (),
    gammas: Sequence[int] = (2, 3, 5, 7),
    *,
    ratios: Mapping[int, float] | None = None,
    is_done: IsDone = lambda key: False,
    **task: Any,
) -> Iterator[Row]:
    """The target alone and with its draft, by gamma, for the profile's pairs or those given.

    model: the pair. Settings: "alone", "gamma 2" and so on; n_new: tokens of a run. counts: runs,
    and of all of them together blocks and drafted, examined and accepted tokens.

    The kit's own models write, by the samplers, or those of `labkit.speculative`; task: see `Task`;
    rows by_source separate the sources of the prompts. Other models have random weights, and
    acceptance is scripted: as published, else by `ratios` (accepted / drafted by gamma), else by
    those of the kit's record of the tiny pair.
    """
    own = samplers or Samplers.reference()
    for pair in pairs or profile.pairs:
        if KIT_MODELS.keys() >= set(PAIRS[pair]):
            yield from _sampled(profile, pair, own, Task(**task), gammas, is_done)
        else:
            wanted = ratios or ratios_of(recorded_results("speculative-cpu*")["speculative-cpu"])
            n_samples = task.get("n_samples", profile.n_repeats)
            yield from scripted(profile, pair, wanted, own, n_samples, is_done)
        free_device_memory()


def player_of(pair: str, profile: MachineProfile, samplers: Samplers) -> Callable[..., None]:
    """What plays a pair that is loaded now."""
    return partial(SampledPair(pair, profile).play, samplers)


def by_source_of(texts: Sequence[Text]) -> Iterator[tuple[str, list[Text]]]:
    """The sources of texts, each with its texts."""
    for source in dict.fromkeys(text.source for text in texts):
        yield source, [text for text in texts if text.source == source]


def _sampled(
    profile: MachineProfile,
    pair: str,
    samplers: Samplers,
    task: Task,
    gammas: Sequence[int],
    is_done: IsDone,
) -> Iterator[Row]:
    """The rows of the experiment speculation for a pair that really writes, and by_source."""
    texts = texts_of(pair, task.n_per_source)
    ways = [Way(ALONE, 0), *(Way(f"gamma {gamma}", gamma) for gamma in gammas)]
    rows = [task.row("speculation", pair, texts, way.setting) for way in ways]

    def by_source(row: Row, seen: Played) -> Iterator[Row]:
        for source, some in by_source_of(texts):
            each = task.row("by_source", pair, some, f"{row.setting}, {source}")
            yield seen.filled(each, some)

    make_play = partial(player_of, pair, profile, samplers)
    yield from written(rows, make_play, texts, ways, task, is_done, by_source)


def _copied(row: Row, n_samples: int) -> Iterator[Row]:
    """A copy of a tensor that no cache holds: it is read and written."""
    on_gpu = row.model == "cuda"
    room_bytes = available_memory_bytes(row.model)
    room_bytes = 2**32 if room_bytes is None else room_bytes
    n_bytes = min(2**31 if on_gpu else 2**28, room_bytes // 8)
    source = torch.zeros(n_bytes, dtype=torch.uint8, device=row.model)
    target = torch.empty_like(source)
    timing = time_in_turns({"copy": lambda: target.copy_(source)}, n_samples, n_warmup=2)
    yield measured(row, timing["copy"].samples_s, {"moved_bytes": 2 * source.nbytes})


def _timed_steps(profile: MachineProfile, rows: list[Row], n_samples: int) -> Iterator[Row]:
    """The rows of one model, by the engine where it has the architecture, and those given."""
    name = rows[0].model
    loaded = zoo.load_for_timing(name, profile)
    eager = TransformersModel(loaded.model)
    eager.feed([1] * N_CACHED)
    runs = {row.key: partial(eager.feed, [1] * row.n_input) for row in rows}
    counts = {"n_cached": N_CACHED}
    if loaded.model.config.model_type in KNOWN:
        weights = weights_of(loaded.model, N_POSITIONS)
        decoder = Decoder(weights, N_POSITIONS)
        decoder.arena.rewind(N_CACHED)
        counts["step_bytes"] = weights.step_bytes
        fast = [replace(row, setting="captured" if decoder.can_capture else "lean") for row in rows]
        for row in fast:
            tokens = torch.ones(1, row.n_input, dtype=torch.long, device=loaded.model.device)
            runs[row.key] = replayed(partial(decoder.forward, tokens), decoder)
        rows = fast + rows
    n_steps = 5 if profile.device == "cuda" else 2  # of a sample: waiting for it counts for little
    runs = {key: partial(_steps, step, n_steps, eager) for key, step in runs.items()}
    timings = time_in_turns(runs, n_samples, n_warmup=2, title=f"steps of {name}")
    for row in rows:
        samples_s = [sample / n_steps for sample in timings[row.key].samples_s]
        yield measured(row, samples_s, counts)


def _steps(step: Callable[[], Any], n_steps: int, eager: TransformersModel) -> None:
    for _ in range(n_steps):
        step()
    eager.rewind(N_CACHED)
