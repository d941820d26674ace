"""Lab 3's experiments as rows of a record: each yields a row as soon as it is measured.

A generation is timed once for all lengths: the clock is read whenever the number of new tokens
reaches one of them, with everything that was queued done. So a sweep to 512 tokens takes one run of
512 passes per sample and not a thousand.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import replace
from typing import Any

import torch
from torch import Tensor

from labkit import zoo
from labkit.labs.cache_benchmark.prefix_experiments import invalidation, multi_turn, offload
from labkit.labs.cache_benchmark.prompts import SHORT_PROMPT
from labkit.labs.cache_benchmark.runs import times_at, tokenize
from labkit.measuring.device import forget_peak, free_device_memory, has_room_for, peak_bytes
from labkit.measuring.profiles import Profile
from labkit.measuring.records import OUT_OF_MEMORY, IsDone, Row, measured
from labkit.models.prompts import long_prompt

SETTINGS = {  # of the experiment with and without a cache: role, and whether the prompt is long
    "baseline": ("cache-baseline", False),
    "long prompt": ("cache-baseline", True),
    "smaller": ("cache-smaller", False),
    "older": ("cache-older", False),
}
PAST_BUDGET = "past the time budget"


def cache_or_not(
    profile: Profile,
    settings: Sequence[str] = tuple(SETTINGS),
    *,
    longest: int | None = None,
    seconds_per_curve: float = 40.0,
    longest_run_s: float = 60.0,
    is_done: IsDone = lambda key: False,
) -> Iterator[Row]:
    """Generation with and without a KV cache: a pass over one token, then both curves, by setting.

    Lengths are the profile's, up to `longest`. Samples are taken while they fit into the seconds of
    a curve, at least one and at most the profile's repeats; a length that one run would reach only
    after longest_run_s becomes a row that says so.
    Raises: ValueError for an unknown setting.
    """
    for setting in settings:
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
                budgets = (seconds_per_curve, longest_run_s)
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
) -> Iterator[Row]:
    """The rows of one curve, with their samples or with the reason why there are none.

    The first run counts for nothing: it warms up, for every length, since some kernels are prepared
    anew for each. What it took is kept in counts, as first_s.
    """
    use_cache, samples = rows[0].use_cache, []
    forget_peak()
    lengths = [row.n_new for row in rows]
    first_s, outcome = _run(model, tokens, lengths, use_cache, longest_run_s)
    start_s, stopped = time.perf_counter(), None
    try:
        while first_s and len(samples) < profile.n_repeats:
            spent_s = time.perf_counter() - start_s
            if samples and spent_s * (len(samples) + 1) / len(samples) > budget_s:
                break
            samples.append(_run(model, tokens, lengths[: len(first_s)], use_cache, math.inf)[0])
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


def _into_record(experiment: Callable[..., Iterator[Row]]) -> Callable[..., None]:
    """The experiment as a function of a `labkit.labs.throughput.experiments.Bench`."""

    def measure(bench: Any) -> None:
        more = {}
        if experiment is cache_or_not:
            more = {"seconds_per_curve": 10 * bench.point_s, "longest_run_s": 2 * bench.skip_s}
        for row in experiment(bench.profile, is_done=bench.recorder.is_done, **more):
            bench.recorder.save(row)
            time_s = "-" if row.time_s is None else f"{row.time_s:.4g} s"
            how = "with" if row.use_cache else "without"
            print(f"{row.experiment}, {row.setting}, {row.n_new} new, {how} cache: {time_s}")

    return measure


EXPERIMENTS = {  # by the name that `labkit measure` takes
    each.__name__: _into_record(each) for each in (cache_or_not, multi_turn, invalidation, offload)
}
