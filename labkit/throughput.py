"""Measuring generation: time runs honestly, sweep over settings, count what a step launches.

The clock, the device and the model are arguments, so that every function can be tried with scripted
ones. `labkit.labs.throughput.experiments` uses these functions on real models.
"""

import statistics
from collections import Counter
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import Any

import numpy
import torch
from torch.utils._python_dispatch import TorchDispatchMode


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

    Call `model.generate` once. No end-of-text token may end the run early;
    whether one may be made is up to you. Nothing is sampled. The model must
    see every token of the prompt, also one whose id equals the id of the
    padding.
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
    save(point, samples, "ok"), also without samples, or
    save(point, [], "out of memory") after a MemoryError. After a MemoryError
    also call free_memory(), before or after save, and go on. When free_memory
    is called, the exception must no longer exist, because it holds the
    variables of every call it passed through.
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
    n - 1 steps. Fit the line by least squares. Each run is a point, also if
    another has the same n. Returns (prefill_s, step_s) of this line, also if
    the prefill is negative.
    Raises: ValueError if n_new has fewer than two different numbers.
    """
    n_steps = numpy.asarray(n_new, dtype=float) - 1
    if len(set(n_steps.tolist())) < 2:
        raise ValueError(f"a line needs two different numbers of tokens, got {list(n_new)}")
    step_s, prefill_s = numpy.polyfit(n_steps, numpy.asarray(times_s, dtype=float), 1)
    return float(prefill_s), float(step_s)


def count_operations(run: Callable[[], Any]) -> Counter[str]:
    """How often PyTorch dispatches each operation during run().

    Call run() once. The keys are str(func), such as "aten.mm.default".
    Views count, too. Each operation still computes what it would without
    you: it runs once, gets all its arguments, and its result is returned.
    Nothing before run() or after it counts. An error of run() reaches the
    caller, and the mode is left then, too.
    """
    counts: Counter[str] = Counter()

    class Counting(TorchDispatchMode):
        def __torch_dispatch__(
            self, func: Any, types: Any, args: tuple = (), kwargs: Any = None
        ) -> Any:
            counts[str(func)] += 1
            return func(*args, **(kwargs or {}))

    with Counting():
        run()
    return counts


def cheapest_batch(
    step_s: Mapping[int, float],
    dollars_per_hour: float,
    most_tpot_s: float,
) -> tuple[int, float]:
    """The batch size with the cheapest tokens that is fast enough.

    step_s: seconds of a decode step, by batch size. It makes one token for
    each sequence, so it is the TPOT of each user: at most most_tpot_s is
    fast enough. Of two with exactly the same price, take the smaller one.
    Returns the batch size, and dollars per million new tokens of all users,
    not rounded.
    Raises: ValueError if no batch size is fast enough.
    """
    fast = [n for n in sorted(step_s) if step_s[n] <= most_tpot_s]
    if not fast:
        raise ValueError(f"no batch size makes a token within {most_tpot_s:g} s")
    best = min(fast, key=lambda n: step_s[n] / n)
    return best, dollars_per_hour / 3600 * step_s[best] / best * 1e6
