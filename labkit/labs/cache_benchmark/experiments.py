"""Lab 3's experiments as rows of a record: each yields a row as soon as it is measured.

A generation is timed once for all lengths: the clock is read whenever the number of new tokens
reaches one of them, with everything that was queued done. So a sweep to 512 tokens takes one run of
512 passes per sample and not a thousand.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from operator import methodcaller

import torch
from torch import Tensor

from labkit import cache_benchmark, zoo
from labkit.labs.cache_benchmark.offload import copy_bandwidth, offloaded
from labkit.labs.cache_benchmark.prefix_cache import Answer, Engine, PrefixCache
from labkit.labs.cache_benchmark.prompts import (
    QUESTIONS,
    SHORT_PROMPT,
    asked,
    document,
    edited_prompts,
)
from labkit.labs.cache_benchmark.runs import times_at, tokenize
from labkit.measuring.bench import Bench
from labkit.measuring.device import forget_peak, free_device_memory, has_room_for, peak_bytes
from labkit.measuring.profiles import Profile
from labkit.measuring.records import OUT_OF_MEMORY, IsDone, Row, measured
from labkit.measuring.timing import with_time_left
from labkit.models.prompts import long_prompt

SETTINGS = {  # of the experiment with and without a cache: role, and whether the prompt is long
    "baseline": ("cache-baseline", False),
    "long prompt": ("cache-baseline", True),
    "smaller": ("cache-smaller", False),
    "older": ("cache-older", False),
}
PAST_BUDGET = "past the time budget"
SIZES = (16, 4096)  # of the prefix cache: tokens per block, and blocks
SHORT_DOCUMENT = 1800  # characters, some 360 tokens


def cache_or_not(
    profile: Profile,
    settings: Sequence[str] = tuple(SETTINGS),
    *,
    longest: int | None = None,
    seconds_per_curve: float = 40.0,
    longest_run_s: float = 60.0,
    least: Callable[[float], int] = lambda run_s: 1,
    is_done: IsDone = lambda key: False,
) -> Iterator[Row]:
    """Generation with and without a KV cache: a pass over one token, then both curves, by setting.

    Lengths are the profile's, up to `longest`. Samples are taken while they fit into the seconds of
    a curve, at least as many as least(seconds of a run) says and at most the profile's repeats; a
    length that one run would reach only after longest_run_s becomes a row that says so.
    Raises: ValueError for an unknown setting.
    """
    for setting in with_time_left(settings, "with and without a cache", "setting"):
        if setting not in SETTINGS:
            raise ValueError(f"no setting is called {setting!r}; there are {', '.join(SETTINGS)}")
        role, is_long = SETTINGS[setting]
        model = zoo.load_for_timing(role, profile)
        tokens = tokenize(model, long_prompt() if is_long else SHORT_PROMPT)
        tokens = tokens[:, : profile.long_prompt_length]
        one = Row("one_token_pass", model.name, 1, 1, 1, False, outcome="-", setting=setting)
        if not is_done(one.key):
            yield _one_token_pass(model, profile, one)
        for use_cache in (True, False):
            lengths = profile.cache_lengths
            if is_long and not use_cache:
                lengths = profile.long_uncached_lengths
            lengths = [n for n in lengths if longest is None or n <= longest]
            point = ("cache_or_not", model.name, 1, tokens.shape[1])
            rows = [Row(*point, n, use_cache, outcome="-", setting=setting) for n in lengths]
            if not all(is_done(row.key) for row in rows):
                budgets = (seconds_per_curve, longest_run_s, least)
                yield from _measured_curve(model, tokens, rows, profile, *budgets)
        del model
        free_device_memory()


def _measured_curve(
    model: zoo.LoadedModel,
    tokens: Tensor,
    rows: list[Row],
    profile: Profile,
    budget_s: float,
    longest_run_s: float,
    least: Callable[[float], int],
) -> Iterator[Row]:
    """The rows of one curve, with their samples or with the reason why there are none.

    The first run counts for nothing: it warms up, for every length, since some kernels are prepared
    anew for each. What it took is kept in counts, as first_s.
    """
    use_cache, samples = rows[0].use_cache, []
    forget_peak()
    lengths = [row.n_new for row in rows]
    first_s, outcome = _run(model, tokens, lengths, use_cache, longest_run_s)
    start_s, stopped, fastest_s = time.perf_counter(), None, list(first_s)
    try:
        while first_s and len(samples) < profile.n_repeats:
            spent_s = time.perf_counter() - start_s
            is_spent = samples and spent_s * (len(samples) + 1) / len(samples) > budget_s
            lacking = sum(len(samples) < least(run_s) for run_s in fastest_s)  # the short ones
            if is_spent and not lacking:
                break
            reached = lengths[: lacking if is_spent else len(first_s)]
            samples.append(_run(model, tokens, reached, use_cache, math.inf)[0])
            fastest_s[: len(reached)] = map(min, fastest_s, samples[-1])
    except KeyboardInterrupt as interrupt:
        stopped = interrupt
    n_peak_bytes = peak_bytes()
    free_device_memory()
    for i, row in enumerate(rows):
        kept = tuple(sample[i] for sample in samples if i < len(sample))
        if kept:
            yield measured(row, kept, {"first_s": first_s[i]}, n_peak_bytes)
        elif not stopped:
            yield replace(row, outcome=outcome)
    if stopped:
        raise stopped


def _run(
    model: zoo.LoadedModel,
    tokens: Tensor,
    lengths: Sequence[int],
    use_cache: bool,
    longest_s: float,
) -> tuple[list[float], str]:
    """The times of one generation, and why there are no more of them."""
    times_s: list[float] = []

    def generate() -> None:
        for time_s in times_at(model, tokens, lengths, use_cache, longest_s):
            times_s.append(time_s)  # one by one: they stay where the next runs out of memory

    outcome = PAST_BUDGET if has_room_for(generate) else OUT_OF_MEMORY
    return times_s, outcome


def _one_token_pass(model: zoo.LoadedModel, profile: Profile, row: Row) -> Row:
    """A pass over one token, as often as the profile repeats, three times over: it is short."""
    token = torch.ones(1, 1, dtype=torch.long, device=model.device)
    n_warmup, n_repeats = profile.n_warmup, 3 * profile.n_repeats
    samples = [next(times_at(model, token, [1], False)) for _ in range(n_warmup + n_repeats)]
    return measured(row, samples[n_warmup:], {})


def multi_turn(
    profile: Profile,
    *,
    n_characters: int | None = None,
    n_new: int = 16,
    block_hashes: Callable[..., Sequence] = cache_benchmark.block_hashes,
    longest_cached_prefix: Callable[..., int] = cache_benchmark.longest_cached_prefix,
    is_done: IsDone = lambda key: False,
) -> Iterator[Row]:
    """Four questions on one document, one after another, without and with a prefix cache.

    A row's time is that of the prefill, until the first of n_new new tokens, so it counts as a row
    of one new token. n_input is what was computed; counts hold the prompt's tokens, those saved
    and those computed. Every answer is part of the next prompt.
    """
    model = zoo.load_for_timing("instruct", profile)
    n_characters = n_characters or (24_000 if profile.device == "cuda" else SHORT_DOCUMENT)
    for use_cache in (False, True):
        conversations = []
        title = "with a prefix cache" if use_cache else "without"
        rounds = range(profile.n_warmup + profile.n_repeats)
        for _ in with_time_left(rounds, title, "conversation"):
            cache = PrefixCache(*SIZES, block_hashes, longest_cached_prefix) if use_cache else None
            engine = Engine(model.model, cache)
            tokens = tokenize(model, document(n_characters))[0].tolist()
            answers = []
            for question in QUESTIONS:
                tokens = tokens + tokenize(model, asked(question))[0].tolist()
                answers.append(engine.answer(tokens, n_new))
                tokens = tokens + answers[-1].tokens
            conversations.append(answers)
        for turn, answers in enumerate(zip(*conversations, strict=True), start=1):
            kept, setting = answers[profile.n_warmup :], f"round {turn}"
            row = _answer_row("multi_turn", model.name, kept, use_cache, setting)
            if not is_done(row.key):
                yield row


def invalidation(
    profile: Profile,
    *,
    n_characters: int = SHORT_DOCUMENT,
    n_new: int = 1,
    block_hashes: Callable[..., Sequence] = cache_benchmark.block_hashes,
    longest_cached_prefix: Callable[..., int] = cache_benchmark.longest_cached_prefix,
    is_done: IsDone = lambda key: False,
) -> Iterator[Row]:
    """A prompt, and small edits of it after it is cached; "first" is the run that fills the cache.

    Counts as in `multi_turn`; the document has the same length on every machine.
    """
    model = zoo.load_for_timing("instruct", profile)
    prompts = edited_prompts(n_characters)
    texts = {"first": prompts["same"], **prompts}
    for setting, text in with_time_left(list(texts.items()), "edited prompts", "prompt"):
        answers = []
        for _ in range(profile.n_warmup + profile.n_repeats):
            engine = Engine(model.model, PrefixCache(*SIZES, block_hashes, longest_cached_prefix))
            if setting != "first":
                engine.answer(tokenize(model, prompts["same"])[0].tolist(), n_new)
            answers.append(engine.answer(tokenize(model, text)[0].tolist(), n_new))
        row = _answer_row("invalidation", model.name, answers[profile.n_warmup :], True, setting)
        if not is_done(row.key):
            yield row


def offload(
    profile: Profile, *, n_steps: int = 16, is_done: IsDone = lambda key: False
) -> Iterator[Row]:
    """Decode steps with no layer, half of the layers and all of them offloaded.

    A row's time is that of n_steps steps. counts: the bytes that each step brings over, and the
    bytes per second at which such a copy alone arrives.
    """
    model = zoo.load_for_timing("instruct", profile)
    layers = range(len(model.model.model.layers))
    plans = {"none": [], "half": list(layers)[::2], "all": list(layers)}
    settings = [(name, picked, False) for name, picked in plans.items()]
    if model.device.startswith("cuda"):
        settings.append(("half, overlapping", plans["half"], True))
    largest = max(
        sum(weights.nbytes for weights in layer.parameters()) for layer in model.model.model.layers
    )
    for setting, picked, overlap in settings:
        row = Row("offload", model.name, 1, 1, n_steps, True, outcome="-", setting=setting)
        if is_done(row.key):
            continue
        with offloaded(model.model, picked, overlap) as n_bytes:
            samples = [
                _step_times(model, n_steps) for _ in range(profile.n_warmup + profile.n_repeats)
            ]
        counts = {
            "offloaded_bytes": n_bytes,
            "link_bandwidth": copy_bandwidth(largest, model.device),
        }
        yield measured(row, samples[profile.n_warmup :], counts)


def _step_times(model: zoo.LoadedModel, n_steps: int) -> float:
    """Seconds of n_steps decode steps after a prompt of one token."""
    token = torch.ones(1, 1, dtype=torch.long, device=model.device)
    first, last = times_at(model, token, [1, n_steps + 1], True)
    return last - first


def _answer_row(
    experiment: str, name: str, answers: Sequence[Answer], use_cache: bool, setting: str
) -> Row:
    """The row of requests that were alike; of what they computed, that of the first."""
    first = answers[0]
    counts = {
        "prompt_tokens": first.n_prompt,
        "saved_tokens": first.n_saved,
        "prefill_tokens": first.n_computed,
    }
    row = Row(experiment, name, 1, first.n_computed, 1, use_cache, outcome="-", setting=setting)
    return measured(row, [answer.prefill_s for answer in answers], counts)


def _curves(bench: Bench) -> None:
    budgets = {"seconds_per_curve": 10 * bench.point_s, "longest_run_s": 2 * bench.skip_s}
    bench.fill(cache_or_not, least=bench.least, **budgets)


EXPERIMENTS: dict[str, Callable[[Bench], None]] = {  # by the name that `labkit measure` takes
    "cache_or_not": _curves,
    "multi_turn": methodcaller("fill", multi_turn),
    "invalidation": methodcaller("fill", invalidation),
    "offload": methodcaller("fill", offload),
}
