"""Lab 6's experiments as rows of a record: steps of each model, and speculation on each pair.

Compared settings are timed in turns. The kit's own models really write. Larger ones have random
weights, so their acceptance is scripted (`labkit.labs.speculative.scripted`), which the rows say.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import cache, partial
from itertools import product
from operator import methodcaller
from typing import Any

import torch

from labkit import zoo
from labkit.engine.captured import replayed
from labkit.engine.decoder import Decoder
from labkit.engine.draft_head import HeadDraft, load_head
from labkit.engine.weights import KNOWN, weights_of
from labkit.labs.speculative.models import CopyDraft, TransformersModel
from labkit.labs.speculative.records import ALONE, N_CACHED, ratios_of
from labkit.labs.speculative.sampled import N_POSITIONS as N_WRITTEN
from labkit.labs.speculative.sampled import (
    Played,
    SampledPair,
    Samplers,
    Task,
    Text,
    Way,
    play_batch,
    texts_of,
    written,
)
from labkit.labs.speculative.scripted import (
    N_POSITIONS,
    PUBLISHED,
    by_transformers,
    is_engines,
    parts_of_blocks,
    scripted,
)
from labkit.labs.speculative.verifications import verify_by_batch
from labkit.measuring.device import free_device_memory, rows_in_room
from labkit.measuring.machine import available_memory_bytes
from labkit.measuring.profiles import PAIRS, MachineProfile
from labkit.measuring.records import IsDone, Row, measured, recorded_results
from labkit.measuring.timing import time_in_turns
from labkit.models.tiny import KIT_MODELS, SHIPPED, facts_of

REGIMES = {"simple": "pattern", "normal": "instruction"}  # kinds of prompts, and their source
HOMEWORK_PAIRS = ("gpt2", "gemma-1b-270m")
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


def block_parts(
    profile: MachineProfile,
    gamma: int = 5,
    *,
    n_samples: int = 10,
    is_done: IsDone = lambda key: False,
) -> Iterator[Row]:
    """Where the time of a block goes: drafting, verifying, accepting, and the caches.

    The engine plays the profile's first pair that it has, with random weights and scripted
    acceptance. counts has the seconds of a block on average: draft_s, verify_s, accept_s, cache_s
    and total_s.
    """
    ratios = ratios_of(recorded_results("speculative-cpu*")["speculative-cpu"])
    for pair in list(filter(is_engines, profile.pairs))[:1]:
        yield from parts_of_blocks(profile, pair, ratios, gamma, n_samples, is_done)
        free_device_memory()


def eager_speculation(
    profile: MachineProfile,
    samplers: Samplers | None = None,
    gammas: Sequence[int] = (2, 5),
    *,
    n_new: int = 24,
    n_samples: int = 30,
    is_done: IsDone = lambda key: False,
) -> Iterator[Row]:
    """As `speculation`, by transformers' eager steps, for the pairs with published acceptance.

    The host decides about these times, so it should have nothing else to do. Ratios are taken
    within a round, for a round's runs follow each other.
    """
    task, own = Task(n_new=n_new, n_samples=n_samples), samplers or Samplers.reference()
    for pair in (pair for pair in profile.pairs if pair in PUBLISHED):
        ratios = {gamma: PUBLISHED[pair][gamma] for gamma in gammas}
        yield from by_transformers("eager_speculation", profile, pair, ratios, own, task, is_done)
        free_device_memory()


def homework_settings(
    profile: MachineProfile,
    samplers: Samplers | None = None,
    gammas: Sequence[int] = (3, 7),
    temperatures: Sequence[float] = (0.1, 1.0),
    *,
    is_done: IsDone = lambda key: False,
    **task: Any,
) -> Iterator[Row]:
    """What other courses' homework measures: a pair that writes, and small scripted pairs.

    The tiny pair writes 50 tokens after each of the 20 prompts, at each temperature, which the
    setting names. On a GPU, GPT-2 and Gemma follow, with random weights and scripted acceptance.
    """
    own = samplers or Samplers.reference()
    for temperature in temperatures:
        each = Task(**task | {"temperature": temperature})
        texts = texts_of("tiny", each.n_per_source)
        ways = [Way(f"{ALONE}, temperature {temperature:g}", 0)]
        ways += [Way(f"gamma {n}, temperature {temperature:g}", n) for n in gammas]
        rows = [each.row("homework_settings", "tiny", texts, way.setting) for way in ways]
        make_play = partial(_play, "tiny", profile, own)
        yield from written(rows, make_play, texts, ways, each, is_done)
    wanted = ratios_of(recorded_results("speculative-cpu*")["speculative-cpu"])
    ratios = {gamma: wanted[gamma] for gamma in gammas}
    for pair in HOMEWORK_PAIRS if profile.device == "cuda" else ():
        each = Task(**task)
        yield from by_transformers("homework_settings", profile, pair, ratios, own, each, is_done)
        free_device_memory()


def regimes(
    profile: MachineProfile,
    samplers: Samplers | None = None,
    pair: str = "tiny",
    gammas: Sequence[int] = tuple(range(1, 11)),
    lengths: Sequence[int] = (64, 128),
    *,
    is_done: IsDone = lambda key: False,
    **task: Any,
) -> Iterator[Row]:
    """By gamma: simple and normal prompts, some new tokens or more, a draft model or n-grams.

    Settings: "gamma 3, simple, 64 new, n-gram" or "alone, simple, 64 new". The pair is one of the
    kit's own, whose texts are really written.
    """
    own = samplers or Samplers.reference()
    vocab_size = facts_of(PAIRS[pair][0])["vocab_size"]
    drafts = {"model": None, "n-gram": lambda target: CopyDraft(own.ngram_draft, vocab_size)}
    for (kind, source), n_new in product(REGIMES.items(), lengths):
        each = Task(**task | {"n_new": n_new})
        texts = [text for text in texts_of(pair, each.n_per_source) if text.source == source]
        regime = f"{kind}, {n_new} new"
        ways = [Way(f"{ALONE}, {regime}", 0)]
        for name, make_draft in drafts.items():
            ways += [Way(f"gamma {n}, {regime}, {name}", n, make_draft) for n in gammas]
        rows = [each.row("regimes", pair, texts, way.setting) for way in ways]
        make_play = partial(_play, pair, profile, own)
        yield from written(rows, make_play, texts, ways, each, is_done)


def drafts(
    profile: MachineProfile,
    samplers: Samplers | None = None,
    gamma: int = 3,
    *,
    is_done: IsDone = lambda key: False,
    **task: Any,
) -> Iterator[Row]:
    """Three drafts for tiny-target: tiny-draft, the head that reads its states, and n-grams.

    Settings: "alone, graph, 25 new", or "gamma 3, all, 25 new, model" (or head, or n-gram); the
    second part is the source of the prompts. draft_step_s is of a call: the head's first one of a
    block computes the accepted tokens again. n-grams have none.
    """
    own, each, pair = samplers or Samplers.reference(), Task(**{"n_new": 25} | task), "tiny"
    head = cache(lambda: load_head(zoo.load(PAIRS[pair][0], profile=profile), N_WRITTEN))
    makers = {
        "model": None,
        "head": lambda target: HeadDraft(head(), target),
        "n-gram": lambda target: CopyDraft(own.ngram_draft, target.vocab_size),
    }
    texts, of_all = texts_of(pair, each.n_per_source), f"all, {each.n_new} new"
    ways = [Way(f"{ALONE}, {of_all}", 0)]
    ways += [Way(f"gamma {gamma}, {of_all}, {name}", gamma, made) for name, made in makers.items()]
    rows = [each.row("drafts", pair, texts, way.setting) for way in ways]

    def by_source(row: Row, seen: Played) -> Iterator[Row]:
        for source, some in _groups(texts):
            setting = row.setting.replace("all", source, 1)
            yield seen.filled(each.row("drafts", pair, some, setting), some)

    make_play = partial(_play, pair, profile, own)
    yield from written(rows, make_play, texts, ways, each, is_done, by_source)


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
        groups = [texts[i : i + size] for i in range(0, len(texts) - size + 1, size)]
        batches = [
            Text(f"batch {i}", "", tuple(text.tokens for text in group))
            for i, group in enumerate(groups)
        ]
        sizes_of = {"batch_size": size, "n_new": each.n_new * len(batches)}
        rows = [
            replace(each.row("batch_sweep", pair, texts, way.setting), **sizes_of) for way in ways
        ]

        def make_play(size: int = size) -> Callable[..., None]:
            return partial(play_batch, SampledPair(pair, profile).decoders(size))

        yield from written(rows, make_play, batches, ways, each, is_done)


def _play(pair: str, profile: MachineProfile, samplers: Samplers) -> Callable[..., None]:
    """What plays a pair that is loaded now."""
    return partial(SampledPair(pair, profile).play, samplers)


def _groups(texts: Sequence[Text]) -> Iterator[tuple[str, list[Text]]]:
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
        for source, some in _groups(texts):
            each = task.row("by_source", pair, some, f"{row.setting}, {source}")
            yield seen.filled(each, some)

    make_play = partial(_play, pair, profile, samplers)
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
    loaded = zoo.load(name, "auto" if name in SHIPPED else "random", profile=profile)
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


EXPERIMENTS = {  # by the name that `labkit measure` takes
    each.__name__: methodcaller("fill", each)
    for each in (
        decode_steps,
        speculation,
        block_parts,
        eager_speculation,
        homework_settings,
        regimes,
        drafts,
        batch_sweep,
        verify_by_batch,
    )
}
