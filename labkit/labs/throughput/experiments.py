"""The experiments of lab 2 on real models: a profile's sweeps, measured into a record.

The functions that measure are arguments: in the notebook they are the student's own, on the command
line those of `labkit.throughput`. Every row is on the disk before the next point begins, so an
experiment that was interrupted goes on where it stopped.
"""

import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch

from labkit import throughput, zoo
from labkit.labs.throughput.launches import BATCH_SIZES, decode_by_batch, launches, operations
from labkit.measuring.bench import Bench, roofline
from labkit.measuring.device import (
    forget_peak,
    free_device_memory,
    lost,
    out_of_memory_as_one,
    peak_bytes,
    synchronize,
)
from labkit.measuring.profiles import MachineProfile
from labkit.measuring.records import Row, measured
from labkit.measuring.timing import with_time_left

FORWARD_TOKENS = 256
Point = tuple[int, int, int]  # batch size, tokens in, new tokens


@dataclass(frozen=True, slots=True)
class Harness:
    """What measures: the functions of `labkit.throughput`, or a student's."""

    time_runs: Callable[..., Sequence[float]] = throughput.time_runs
    generate_fixed: Callable[..., Any] = throughput.generate_fixed
    sweep: Callable[..., None] = throughput.sweep
    count_operations: Callable[..., Any] = throughput.count_operations


def _n_fixed(profile: MachineProfile) -> int:
    """Tokens of the length that a sweep keeps: the handout's 64, fewer on a CPU."""
    return 64 if profile.device == "cuda" else 16


SWEEPS: dict[str, tuple[tuple[str, ...], Callable[[MachineProfile], list[Point]]]] = {
    # time by prompt length, by number of new tokens, of three models, and of one forward pass over
    # 256 tokens by batch size; each with the roles whose models run its points
    "input_sweep": (
        ("sweep-medium",),
        lambda on: [(on.sweep_batch_size, n, _n_fixed(on)) for n in on.input_lengths],
    ),
    "output_sweep": (
        ("sweep-medium",),
        lambda on: [(on.sweep_batch_size, 64, n) for n in on.output_lengths],
    ),
    "three_models": (
        ("sweep-small", "sweep-medium", "sweep-older"),
        lambda on: [(on.sweep_batch_size, 64, _n_fixed(on))],
    ),
    "forward_by_batch": (
        ("forward",),
        lambda on: [(n, FORWARD_TOKENS, 0) for n in on.forward_batch_sizes],
    ),
}


def measure(experiment: str, bench: Bench) -> None:
    """One of `SWEEPS`, into the bench's record."""
    roles, points = SWEEPS[experiment]
    for role in roles:
        _sweep_generation(bench, experiment, role, points(bench.profile))


def _count_and_fill(experiment: Callable[..., Any], bench: Bench) -> None:
    """Save the rows of an experiment that counts operations."""
    bench.fill(experiment, count=(bench.harness or Harness()).count_operations)


def decode_steps(bench: Bench) -> None:
    """The rows of `decode_by_batch`, at fewer sizes in a short profile."""
    is_short = len(bench.profile.output_lengths) < len(BATCH_SIZES)
    bench.fill(decode_by_batch, sizes=BATCH_SIZES[:: 2 if is_short else 1])


EXPERIMENTS: dict[str, Callable[[Bench], None]] = {
    "roofline": roofline,
    **{name: partial(measure, name) for name in SWEEPS},
    **{each.__name__: partial(_count_and_fill, each) for each in (operations, launches)},
    "decode_by_batch": decode_steps,
}
OWN = ("roofline", "input_sweep", "output_sweep", "forward_by_batch")  # a student's sweeps


class _Sweeper:
    """Measures the points of one experiment on one model, and saves their rows."""

    def __init__(self, bench: Bench, experiment: str, loaded: zoo.LoadedModel) -> None:
        self.bench, self.experiment, self.loaded = bench, experiment, loaded
        self.harness = bench.harness or Harness()
        self.first_s = math.nan  # the first run of a point, which no sample counts
        self.events_s: tuple[float, ...] = ()
        self.peak_bytes: int | None = None
        self.s_per_size = math.inf  # the least so far: one disturbed point predicts nothing
        self.is_cold = True
        self.reason = ""  # why a point has no samples

    def measure(self, point: Point) -> list[float]:
        """The samples of a point; none if it would take too long."""
        self.events_s, self.peak_bytes, self.reason = (), None, ""
        try:
            return out_of_memory_as_one(lambda: self._measure(point))
        except MemoryError as error:
            self.reason = str(error)
            raise

    def _measure(self, point: Point) -> list[float]:
        bench, on_gpu = self.bench, self.loaded.device.startswith("cuda")
        predicted_s = self.s_per_size * _size(point)
        if bench.skip_s < predicted_s < math.inf:
            self.reason = f"one run was predicted to take {predicted_s:.0f} s"
            return []
        run, events = self._run(point), []
        if on_gpu:
            forget_peak()
        if self.is_cold:  # a model's first run loads and allocates: it predicts nothing
            self._check(run(), point)
            self.is_cold = False
        (self.first_s,) = self._timed(run, 0, 1)  # every new length may be cold again
        n_warmup = min(bench.profile.n_warmup - 1, int(bench.point_s / self.first_s))
        timed = _with_events(run, events) if on_gpu else run
        times_s = self._timed(timed, n_warmup, 2)
        run_s = min(times_s)
        n_repeats = min(bench.profile.n_repeats, int(bench.point_s / run_s))
        n_repeats = max(n_repeats, bench.least(run_s))
        if n_repeats > 2:
            times_s += self._timed(timed, 0, n_repeats - 2)
        self.s_per_size = min(self.s_per_size, min(times_s) / _size(point))
        if on_gpu:
            self.peak_bytes = peak_bytes()
            pairs = events[-len(times_s) :]
            self.events_s = tuple(begin.elapsed_time(end) / 1e3 for begin, end in pairs)
        return times_s

    def _timed(self, run: Callable[[], Any], n_warmup: int, n_repeats: int) -> list[float]:
        clock = (time.perf_counter, synchronize)
        samples_s = self.harness.time_runs(run, *clock, n_warmup, n_repeats)
        try:
            found = [float(sample) for sample in samples_s]
        except (TypeError, ValueError):
            found = []
        if len(found) != n_repeats or min(found) <= 0:
            raise ValueError(
                f"time_runs was asked for {n_repeats} runs and should give a list of their "
                f"{n_repeats} times, in seconds; it gave {samples_s!r:.80}. Do its checks pass?"
            )
        return found

    def _check(self, generated: Any, point: Point) -> None:
        """Refuse a generation of another size than was asked for: its times would mean nothing."""
        batch_size, _, n_new = point
        shape = tuple(getattr(generated, "shape", ()))
        if n_new and shape != (batch_size, n_new):
            raise ValueError(
                f"generate_fixed was asked for {n_new} tokens of {batch_size} sequences and should "
                f"give a tensor of ({batch_size}, {n_new}); it gave {shape or generated!r:.80}. "
                "Do its checks pass?"
            )

    def _run(self, point: Point) -> Callable[[], Any]:
        batch_size, n_input, n_new = point
        model, device = self.loaded.model, self.loaded.device
        rng = torch.Generator("cpu").manual_seed(self.bench.recorder.seed + n_input)
        tokens = torch.randint(self.loaded.vocab_size, (batch_size, n_input), generator=rng)
        tokens = tokens.to(device)
        if n_new == 0:
            return lambda: _forward(model, tokens)
        return lambda: self.harness.generate_fixed(model, tokens, n_new)

    def save(self, point: Point, samples_s: Sequence[float], outcome: str) -> None:
        """One row of the record."""
        if outcome == "ok" and not len(samples_s):
            outcome = "skipped"
        note = self.reason or ("random weights" if self.loaded.weights == "random" else "")
        row = Row(self.experiment, self.loaded.name, *point, True, outcome="skipped", note=note)
        if outcome == "ok":
            counts = {"first_s": self.first_s}
            row = measured(row, tuple(map(float, samples_s)), counts, self.peak_bytes)
            row = replace(row, events_s=self.events_s)
        elif outcome != "skipped":
            row = lost(row, note)
        self.bench.save(row)


def _sweep_generation(bench: Bench, experiment: str, role: str, points: Sequence[Point]) -> None:
    """Sweep one model over points (batch size, tokens in, new tokens), with a bar."""
    name = bench.profile.roles[role]
    rows = {each: Row(experiment, name, *each, True, outcome="-") for each in points}
    done = [point for point, row in rows.items() if bench.recorder.is_done(row.key)]
    if len(done) == len(points):
        return
    try:
        loaded = out_of_memory_as_one(lambda: zoo.load_for_timing(role, bench.profile))
    except MemoryError as error:
        for missed in [point for point in points if point not in done]:
            bench.save(lost(rows[missed], error))
        return
    sweeper = _Sweeper(bench, experiment, loaded)
    title = f"{experiment}, {rows[points[0]].short_model}"
    shown = with_time_left(points, title, "point")
    sweeper.harness.sweep(shown, sweeper.measure, sweeper.save, free_device_memory, done)
    del sweeper, loaded
    free_device_memory()


def _size(point: Point) -> int:
    """The size that a run's time grows with: the tokens fed, without attention's share."""
    batch_size, n_input, n_new = point
    return batch_size * n_input + 64 * n_new


@torch.inference_mode()
def _forward(model: Any, tokens: torch.Tensor) -> Any:
    return model(tokens, use_cache=False, logits_to_keep=1)


def _with_events(run: Callable[[], Any], events: list) -> Callable[[], Any]:
    """The same run between two CUDA events, which are added to `events`."""

    def timed() -> Any:
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        result = run()
        end.record()
        events.append((begin, end))
        return result

    return timed
