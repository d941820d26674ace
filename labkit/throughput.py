"""Measuring generation: time runs honestly, sweep over settings, and find what limits a step.

The clock, the device and the model are arguments, so that every function can be tried with scripted
ones. `labkit.labs.throughput.experiments` uses these functions on real models.
"""

import statistics
from collections.abc import Callable, Collection, Sequence
from typing import Any

import numpy
import torch


def time_runs(
    run: Callable[[], Any],
    read_clock: Callable[[], float],
    wait_for_device: Callable[[], None],
    n_warmup: int,
    n_repeats: int,
) -> list[float]:
    """Seconds of each of `n_repeats` runs, after `n_warmup` untimed runs.

    run() queues work, and may return before the device has done any of it.
    wait_for_device() returns when the device is idle, like
    torch.cuda.synchronize. read_clock() returns seconds. A sample must not
    contain work of an earlier run. The device may be busy at the beginning.
    Returns a list of the raw samples, in order.
    Raises: ValueError if n_warmup < 0 or n_repeats < 1, before any run.
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


def generate_fixed(model: Any, tokens: torch.Tensor, n_new: int) -> torch.Tensor:
    """Exactly `n_new` new tokens for each sequence, greedily.

    Call `model.generate` once. No end-of-text token may end the run early.
    Nothing is sampled. The model must see every token of the prompt, also
    one whose id equals the id of the padding.
    Shapes: tokens (B, n_input). Returns only the new tokens, (B, n_new).
    """
    everything = torch.ones_like(tokens)
    lengths = {"min_new_tokens": n_new, "max_new_tokens": n_new}
    generated = model.generate(tokens, attention_mask=everything, do_sample=False, **lengths)
    return generated[:, tokens.shape[1] :]


def sweep(
    points: Sequence[tuple],
    measure: Callable[[tuple], list[float]],
    save: Callable[[tuple, list[float], str], None],
    free_memory: Callable[[], None],
    done: Collection[tuple] = (),
) -> None:
    """Measure the points that are not in `done`, in order, and save each one.

    measure(point) returns the samples, or raises MemoryError if the device
    runs out of memory. Save each row before the next point begins:
    save(point, samples, "ok"), or save(point, [], "out of memory") after a
    MemoryError. After a MemoryError also call free_memory(), before or
    after save, and go on. At that moment the exception must no longer exist,
    because it holds the variables of every call it passed through.
    Every other error ends the sweep and reaches the caller. This includes
    every error of save, also a MemoryError.
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
    """New tokens of the whole batch, divided by the median time of a run.

    A run makes n_new tokens for each of batch_size sequences. samples_s: the
    seconds of each run, in any order. For an even number of runs, the median
    is the mean of the two times in the middle.
    Raises: ValueError if there are no samples.
    """
    if len(samples_s) == 0:
        raise ValueError("no samples: a run that did not finish has no throughput")
    return batch_size * n_new / statistics.median(samples_s)


def fit_steps(
    n_new: Sequence[int],
    times_s: Sequence[float],
) -> tuple[float, float]:
    """Seconds of the prefill and of one decode step, from a straight line.

    A run with n new tokens is one prefill, which makes the first token, and
    n - 1 steps. Fit the line by least squares through all points.
    Returns (prefill_s, step_s).
    Raises: ValueError if n_new has fewer than two different numbers.
    """
    n_steps = numpy.asarray(n_new, dtype=float) - 1
    if len(set(n_steps.tolist())) < 2:
        raise ValueError(f"a line needs two different numbers of tokens, got {list(n_new)}")
    step_s, prefill_s = numpy.polyfit(n_steps, numpy.asarray(times_s, dtype=float), 1)
    return float(prefill_s), float(step_s)


def limit_of(
    step_s: float,
    n_layers: int,
    launch_s_per_layer: float,
    moving_s: float,
    computing_s: float,
) -> str:
    """What a step waits for: "launch", "memory" or "compute".

    The limit is the longest of three times: launching all n_layers layers,
    moving_s ("memory") and computing_s ("compute"). launch_s_per_layer: the
    time to launch one layer. moving_s and computing_s are the floors of one
    step. The limit does not depend on step_s.
    Raises: ValueError if step_s is below moving_s or computing_s, because no
    device is so fast. step_s may equal a floor. It may be shorter than
    launching, which is not a floor.
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
