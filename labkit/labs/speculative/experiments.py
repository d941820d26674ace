"""Lab 6's experiments that only the course records, and the names of all.

`runs` has those of the notebook. Acceptance is scripted as there.
"""

from collections.abc import Iterator, Sequence
from functools import cache, partial
from itertools import product
from operator import methodcaller
from typing import Any

from labkit import zoo
from labkit.engine.draft_head import HeadDraft, load_head
from labkit.engine.profiler import PARTS, PartTimes, TimedSpeculation
from labkit.labs.speculative.in_batches import batch_groups, batch_sweep, verify_by_batch
from labkit.labs.speculative.models import CopyDraft
from labkit.labs.speculative.records import ALONE, N_CACHED, ratios_of
from labkit.labs.speculative.runs import by_source_of, decode_steps, player_of, speculation
from labkit.labs.speculative.sampled import N_POSITIONS as N_WRITTEN
from labkit.labs.speculative.sampled import (
    Played,
    Samplers,
    Task,
    Way,
    texts_of,
    written,
)
from labkit.labs.speculative.scripted import (
    PUBLISHED,
    Ratios,
    ScriptedPair,
    by_transformers,
    is_engines,
    kept_in_blocks,
    script_of,
)
from labkit.measuring.device import free_device_memory, rows_in_room
from labkit.measuring.profiles import PAIRS, MachineProfile
from labkit.measuring.records import IsDone, Row, measured, recorded_results
from labkit.measuring.timing import time_in_turns
from labkit.models.tiny import facts_of

REGIMES = {"simple": "pattern", "normal": "instruction"}  # kinds of prompts, and their source
HOMEWORK_PAIRS = ("gpt2", "gemma-1b-270m")
N_PROFILED = 8  # blocks of a run whose parts are timed


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
        yield from _parts_of_blocks(profile, pair, ratios, gamma, n_samples, is_done)
        free_device_memory()


def _parts_of_blocks(
    profile: MachineProfile, pair: str, ratios: Ratios, gamma: int, n_samples: int, is_done: IsDone
) -> Iterator[Row]:
    ratios, note = script_of(pair, ratios)
    numbers = kept_in_blocks(gamma, ratios[gamma], N_PROFILED)
    row = Row(
        "block_parts", pair, 1, N_CACHED, N_PROFILED + sum(numbers), True,
        outcome="-", setting=f"gamma {gamma}", note=note,
    )  # fmt: skip

    def measure() -> Iterator[Row]:
        parts = PartTimes()
        models = ScriptedPair(pair, profile.dtype, N_CACHED, profile.device)
        run = models.blocks(gamma, numbers, partial(TimedSpeculation, parts))
        timing = time_in_turns({"run": run}, n_samples)
        del parts.blocks[: -N_PROFILED * n_samples]  # to warm up
        n_blocks = len(parts.blocks)
        counts = {f"{part}_s": parts.seconds(part) / n_blocks for part in (*PARTS, "total")}
        yield measured(row, timing["run"].samples_s, counts)

    if not is_done(row.key):
        yield from rows_in_room([row], measure)


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
        make_play = partial(player_of, "tiny", profile, own)
        yield from written(rows, make_play, texts, ways, each, is_done)
    if profile.device != "cuda":
        return
    wanted = ratios_of(recorded_results("speculative-cpu*")["speculative-cpu"])
    ratios = {gamma: wanted[gamma] for gamma in gammas}
    for pair in HOMEWORK_PAIRS:
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
        make_play = partial(player_of, pair, profile, own)
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
        for source, some in by_source_of(texts):
            setting = row.setting.replace("all", source, 1)
            yield seen.filled(each.row("drafts", pair, some, setting), some)

    make_play = partial(player_of, pair, profile, own)
    yield from written(rows, make_play, texts, ways, each, is_done, by_source)


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
        batch_groups,
        verify_by_batch,
    )
}
