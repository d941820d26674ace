"""Measuring generation: time runs honestly, sweep over settings, and find what limits a step.

The clock, the device and the model are arguments, so that every function can be tried with scripted
ones. What uses these functions on real models is in `labkit.labs.throughput.experiments`.
"""

import statistics
from collections.abc import Callable, Collection, Iterable, Sequence
from typing import Any

import numpy
import torch
from torch import Tensor


def time_runs(
    run: Callable[[], Any],
    read_clock: Callable[[], float],
    wait_for_device: Callable[[], None],
    n_warmup: int,
    n_repeats: int,
) -> list[float]:
    """Seconds of each of `n_repeats` runs, after `n_warmup` runs that are not timed.

    run() queues work, and may return before the device has done it.
    wait_for_device() returns when the device has nothing left to do
    (torch.cuda.synchronize). read_clock() gives seconds. Returns the durations
    in the order of the runs.
    Raises: ValueError for a negative n_warmup and for an n_repeats below 1.
    """
    if n_warmup < 0 or n_repeats < 1:
        raise ValueError(f"cannot time {n_repeats} runs after {n_warmup} to warm up")
    for _ in range(n_warmup):
        run()
    samples_s = []
    for _ in range(n_repeats):
        wait_for_device()
        start_s = read_clock()
        run()
        wait_for_device()
        samples_s.append(read_clock() - start_s)
    return samples_s


def generate_fixed(model: Any, tokens: Tensor, n_new: int) -> Tensor:
    """Exactly `n_new` new tokens for every sequence, greedily, by one call of `model.generate`.

    No end-of-text token can end a run early, and every token of the prompt is
    seen, whatever its id. Shapes: tokens (B, n_input); returns the new tokens
    alone, (B, n_new).
    """
    everything = torch.ones_like(tokens)
    lengths = {"min_new_tokens": n_new, "max_new_tokens": n_new}
    generated = model.generate(tokens, attention_mask=everything, do_sample=False, **lengths)
    return generated[:, tokens.shape[1] :]


def sweep(
    points: Iterable[tuple],
    measure: Callable[[tuple], list[float]],
    save: Callable[[tuple, list[float], str], None],
    free_memory: Callable[[], None],
    done: Collection[tuple] = (),
) -> None:
    """Measure the points that are not in `done`, in order, and save each before the next begins.

    measure(point) returns the samples, or raises MemoryError where the device
    has too little of it. save(point, samples, "ok") keeps a row; after a
    MemoryError it is save(point, [], "out of memory"), the memory is freed,
    and the sweep goes on. free_memory() can free only what nothing holds any
    more, and an exception holds on to the variables of every call it came
    through. Any other error passes through, and so does every error of save, a
    MemoryError too.
    """
    for point in points:
        if point in done:
            continue
        try:
            samples_s, outcome = measure(point), "ok"
        except MemoryError:
            samples_s, outcome = [], "out of memory"
        save(point, samples_s, outcome)
        if outcome != "ok":
            free_memory()


def tokens_per_s(batch_size: int, n_new: int, samples_s: Sequence[float]) -> float:
    """New tokens of the whole batch, divided by the median of the runs' seconds.

    Of an even number of runs, the median is the mean of the two in the middle.
    Raises: ValueError if there are no samples.
    """
    if len(samples_s) == 0:
        raise ValueError("no samples: a run that did not finish has no throughput")
    return batch_size * n_new / statistics.median(samples_s)


def fit_steps(n_new: Sequence[int], times_s: Sequence[float]) -> tuple[float, float]:
    """Seconds of the prefill and of one decode step, by the least-squares line through the times.

    A run that makes n tokens is a prefill, which makes the first of them, and
    n - 1 steps. Returns (prefill_s, step_s).
    Raises: ValueError for fewer than two different n_new: no line is
    determined.
    """
    n_steps = numpy.asarray(n_new, dtype=float) - 1
    if len(set(n_steps.tolist())) < 2:
        raise ValueError(f"a line needs two different numbers of tokens, got {list(n_new)}")
    step_s, prefill_s = numpy.polyfit(n_steps, numpy.asarray(times_s, dtype=float), 1)
    return float(prefill_s), float(step_s)


def limit_of(
    step_s: float, n_layers: int, launch_s_per_layer: float, moving_s: float, computing_s: float
) -> str:
    """What a step waits for: "launch", "memory" or "compute", whichever takes the longest.

    launch_s_per_layer: what the processor takes to launch one layer's kernels;
    moving_s and
    computing_s: the floors of one step (`labkit.measuring.roofline`).
    Raises: ValueError if step_s is below moving_s or computing_s: no device is
    as fast, so something was measured wrongly. A step may be as long as its
    floor.
    """
    if step_s < max(moving_s, computing_s):
        floor_s = max(moving_s, computing_s)
        raise ValueError(f"a step of {step_s:.3g} s cannot be: the floor is {floor_s:.3g} s")
    least_s = {
        "launch": n_layers * launch_s_per_layer,
        "memory": moving_s,
        "compute": computing_s,
    }
    return max(least_s, key=least_s.get)
