"""Lab 3's experiments as rows of a record: each yields a row as soon as it is measured.

A generation is timed once for all lengths: the clock is read whenever the number of new tokens
reaches one of them, with everything that was queued done. So a sweep to 512 tokens takes one run of
512 passes per sample and not a thousand.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from operator import methodcaller
from typing import Any

import torch
from torch import Tensor

from labkit import zoo
from labkit.labs.cache_benchmark.offload import copy_bandwidth, offloaded
from labkit.labs.cache_benchmark.prompts import SHORT_PROMPT
from labkit.labs.cache_benchmark.reused import invalidation, leak, multi_turn
from labkit.labs.cache_benchmark.runs import times_at, tokenize
from labkit.labs.cache_benchmark.single_passes import measure_passes, pass_by_length
from labkit.measuring.bench import Bench
from labkit.measuring.device import (
    forget_peak,
    free_device_memory,
    lost,
    out_of_memory_as_one,
    peak_bytes,
    rows_in_room,
)
from labkit.measuring.profiles import MachineProfile
from labkit.measuring.records import OUT_OF_MEMORY, IsDone, Row, measured
from labkit.measuring.timing import with_time_left
from labkit.models.prompts import long_prompt

__all__ = [  # for the notebook, which reads them as lab.experiments
    "EXPERIMENTS",
    "cache_or_not",
    "invalidation",
    "leak",
    "multi_turn",
    "offload",
    "pass_by_length",
]
SETTINGS = {  # of the experiment with and without a cache: role, and whether the prompt is long
    "baseline": ("cache-baseline", False),
    "long prompt": ("cache-baseline", True),
    "smaller": ("cache-smaller", False),
    "older": ("cache-older", False),
}
PAST_BUDGET = "past the time budget"


def cache_or_not(
    profile: MachineProfile,
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
        name, tokens = profile.roles[role], tokenize(long_prompt() if is_long else SHORT_PROMPT)
        tokens = tokens[: profile.long_prompt_length]
        words = {"outcome": "-", "setting": setting}
        parts = [[Row("one_token_pass", name, 1, 1, 1, False, **words)]]
        for use_cache in (True, False):
            is_slow = is_long and not use_cache
            lengths = profile.long_uncached_lengths if is_slow else profile.cache_lengths
            lengths = [n for n in lengths if longest is None or n <= longest]
            point = ("cache_or_not", name, 1, len(tokens))
            parts.append([Row(*point, n, use_cache, **words) for n in lengths])
        parts = [rows for rows in parts if not all(is_done(row.key) for row in rows)]
        budgets = (seconds_per_curve, longest_run_s, least)
        measure = partial(_measured_setting, role, profile, tokens, parts, *budgets)
        yield from rows_in_room([row for rows in parts for row in rows], measure)
        free_device_memory()


def _measured_setting(
    role: str, profile: MachineProfile, tokens: list[int], parts: list[list[Row]], *budgets: Any
) -> Iterator[Row]:
    """The rows of one model: its pass over one token, and its curves; not loaded if all is done."""
    if not parts:
        return
    model = zoo.load_for_timing(role, profile)
    fed = torch.tensor([tokens], device=model.device)
    for rows in parts:
        measure = partial(_measured_curve, model, fed, rows, profile, *budgets)
        if rows[0].experiment == "one_token_pass":
            measure = partial(_short_passes, model, profile, rows)
        yield from rows_in_room(rows, measure)


def _short_passes(
    model: zoo.LoadedModel, profile: MachineProfile, rows: list[Row]
) -> Iterator[Row]:
    yield from (_one_token_pass(model, profile, row) for row in rows)


def _measured_curve(
    model: zoo.LoadedModel,
    tokens: Tensor,
    rows: list[Row],
    profile: MachineProfile,
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
    first_s, reason = _run(model, tokens, lengths, use_cache, longest_run_s)
    start_s, stopped, fastest_s = time.perf_counter(), None, list(first_s)
    try:
        while first_s and len(samples) < profile.n_repeats:
            spent_s = time.perf_counter() - start_s
            is_spent = samples and spent_s * (len(samples) + 1) / len(samples) > budget_s
            lacking = sum(len(samples) < least(run_s) for run_s in fastest_s)  # the short ones
            if is_spent and not lacking:
                break
            reached = lengths[: lacking if is_spent else len(first_s)]
            times_s, later = _run(model, tokens, reached, use_cache, math.inf)
            samples.append(times_s)
            fastest_s[: len(times_s)] = map(min, fastest_s, times_s)
            reason = reason or later
    except KeyboardInterrupt as interrupt:
        stopped = interrupt
    n_peak_bytes = peak_bytes()
    free_device_memory()
    for i, row in enumerate(rows):
        kept = tuple(sample[i] for sample in samples if i < len(sample))
        if kept:
            yield measured(row, kept, {"first_s": first_s[i]}, n_peak_bytes)
        elif not stopped:
            yield lost(row, reason) if reason else replace(row, outcome=PAST_BUDGET)
    if stopped:
        raise stopped


def _run(
    model: zoo.LoadedModel,
    tokens: Tensor,
    lengths: Sequence[int],
    use_cache: bool,
    longest_s: float,
) -> tuple[list[float], str]:
    """The times of one generation; and, if the memory ended it, in which words."""
    times_s: list[float] = []

    def generate() -> None:
        for time_s in times_at(model, tokens, lengths, use_cache, longest_s):
            times_s.append(time_s)  # one by one: they stay where the next runs out of memory

    try:
        out_of_memory_as_one(generate)
    except MemoryError as error:
        return times_s, str(error) or OUT_OF_MEMORY
    return times_s, ""


def _one_token_pass(model: zoo.LoadedModel, profile: MachineProfile, row: Row) -> Row:
    """A pass over one token, as often as the profile repeats, three times over: it is short."""
    token = torch.ones(1, 1, dtype=torch.long, device=model.device)
    n_warmup, n_repeats = profile.n_warmup, 3 * profile.n_repeats
    samples = [next(times_at(model, token, [1], False)) for _ in range(n_warmup + n_repeats)]
    return measured(row, samples[n_warmup:], {})


def offload(
    profile: MachineProfile, *, n_steps: int = 16, is_done: IsDone = lambda key: False
) -> Iterator[Row]:
    """Decode steps with no layer, half of the layers and all of them offloaded.

    A row's time is that of n_steps steps. counts: the bytes that each step brings over, and the
    bytes per second at which such a copy alone arrives.
    """
    row = Row("offload", profile.roles["instruct"], 1, 1, n_steps, True, outcome="-")
    settings = ["none", "half", "all", *["half, overlapping"] * (profile.device == "cuda")]
    rows = [replace(row, setting=setting) for setting in settings]
    rows = [row for row in rows if not is_done(row.key)]

    def measure() -> Iterator[Row]:
        model = zoo.load_for_timing("instruct", profile)
        blocks = model.model.model.layers
        layers = list(range(len(blocks)))
        plans = {"none": [], "half": layers[::2], "all": layers}
        largest = max(sum(weights.nbytes for weights in each.parameters()) for each in blocks)
        for row in rows:
            plan, _, overlap = row.setting.partition(", ")
            with offloaded(model.model, plans[plan], bool(overlap)) as n_bytes:
                samples = [
                    _step_times(model, n_steps) for _ in range(profile.n_warmup + profile.n_repeats)
                ]
            counts = {
                "offloaded_bytes": n_bytes,
                "link_bandwidth": copy_bandwidth(largest, model.device),
            }
            yield measured(row, samples[profile.n_warmup :], counts)

    if rows:
        yield from rows_in_room(rows, measure)


def _step_times(model: zoo.LoadedModel, n_steps: int) -> float:
    """Seconds of n_steps decode steps after a prompt of one token."""
    token = torch.ones(1, 1, dtype=torch.long, device=model.device)
    first, last = times_at(model, token, [1, n_steps + 1], True)
    return last - first


def _curves(bench: Bench) -> None:
    budgets = {"seconds_per_curve": 10 * bench.point_s, "longest_run_s": 2 * bench.skip_s}
    bench.fill(cache_or_not, least=bench.least, **budgets)


EXPERIMENTS: dict[str, Callable[[Bench], None]] = {  # by the name that `labkit measure` takes
    "cache_or_not": _curves,
    "pass_by_length": measure_passes,
    "multi_turn": methodcaller("fill", multi_turn),
    "invalidation": methodcaller("fill", invalidation),
    "leak": methodcaller("fill", leak),
    "offload": methodcaller("fill", offload),
}
