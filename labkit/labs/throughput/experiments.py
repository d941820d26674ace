"""The experiments of lab 2 on real models: a profile's sweeps, measured into a record.

The functions that measure are arguments: in the notebook they are the student's own, on the command
line those of `labkit.throughput`. Every row is on the disk before the next point begins, so an
experiment that was interrupted goes on where it stopped.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch

from labkit import zoo
from labkit.measuring.device import (
    forget_peak,
    free_device_memory,
    out_of_memory_as_one,
    peak_bytes,
    synchronize,
)
from labkit.measuring.hardware import roofline_rows
from labkit.measuring.profiles import Profile
from labkit.measuring.records import OUT_OF_MEMORY, Recorder, Row

FORWARD_TOKENS = 256
TABLE_LENGTHS = (1, 4, 16, 64, 256, 1024, 4096, 16_384, 32_768)  # the rows of the handout's tables


@dataclass(frozen=True, slots=True)
class Harness:
    """What measures: the functions of `labkit.throughput`, or a student's."""

    time_runs: Callable[..., Sequence[float]]
    generate_fixed: Callable[..., Any]
    sweep: Callable[..., None]

    @classmethod
    def reference(cls) -> Harness:
        """The functions of `labkit.throughput`."""
        from labkit import throughput

        return cls(throughput.time_runs, throughput.generate_fixed, throughput.sweep)


@dataclass(frozen=True, slots=True)
class Bench:
    """A profile's models on this machine, functions to measure with, and a record to fill.

    point_s: about how long the kept runs of one point may take together; fewer are kept of slow
    ones, but never fewer than two. skip_s: a point whose single run should take longer is recorded
    as skipped.
    """

    profile: Profile
    recorder: Recorder
    harness: Harness
    point_s: float = 4.0
    skip_s: float = 30.0

    @property
    def n_fixed(self) -> int:
        """Tokens of the length that a sweep keeps: the handout's 64, fewer on a CPU."""
        return 64 if self.profile.device == "cuda" else 16

    def load(self, role: str) -> zoo.LoadedModel:
        """The model of a role, as `zoo.load_for_timing` gives it."""
        return zoo.load_for_timing(role, self.profile)


def short(profile: Profile) -> Profile:
    """The same with the handout's table rows only, and few repeats: what a lab has time for."""
    on_cpu = profile.device == "cpu"
    return replace(
        profile,
        input_lengths=tuple(n for n in profile.input_lengths if n in TABLE_LENGTHS),
        output_lengths=tuple(n for n in profile.output_lengths if n in TABLE_LENGTHS),
        n_warmup=1 if on_cpu else profile.n_warmup,
        n_repeats=3 if on_cpu else profile.n_repeats,
    )


def roofline(bench: Bench) -> None:
    """What the machine can do: the measured roofline, its memory, its name in the fact table."""
    for row in roofline_rows(bench.profile, bench.recorder.is_done):
        bench.recorder.save(row)


def input_sweep(bench: Bench) -> None:
    """Time by prompt length, at a fixed number of new tokens."""
    profile, n_new = bench.profile, bench.n_fixed
    points = [(profile.sweep_batch_size, n, n_new) for n in profile.input_lengths]
    _sweep_generation(bench, "input_sweep", "sweep-medium", points)


def output_sweep(bench: Bench) -> None:
    """Time by number of new tokens, after a prompt of 64."""
    profile = bench.profile
    points = [(profile.sweep_batch_size, 64, n) for n in profile.output_lengths]
    _sweep_generation(bench, "output_sweep", "sweep-medium", points)


def three_models(bench: Bench) -> None:
    """Three models at one setting: 64 tokens in, and a fixed number of new ones."""
    for role in ("sweep-small", "sweep-medium", "sweep-older"):
        point = (bench.profile.sweep_batch_size, 64, bench.n_fixed)
        _sweep_generation(bench, "three_models", role, [point])


def forward_by_batch(bench: Bench) -> None:
    """Time of one forward pass over 256 tokens, by batch size; nothing is generated."""
    points = [(n, FORWARD_TOKENS, 0) for n in bench.profile.forward_batch_sizes]
    _sweep_generation(bench, "forward_by_batch", "forward", points)


EXPERIMENTS: dict[str, Callable[[Bench], None]] = {
    run.__name__: run
    for run in (roofline, input_sweep, output_sweep, three_models, forward_by_batch)
}


class _Sweeper:
    """Measures the points of one experiment on one model, and saves their rows."""

    def __init__(self, bench: Bench, experiment: str, loaded: zoo.LoadedModel) -> None:
        self.bench, self.experiment, self.loaded = bench, experiment, loaded
        self.first_s = math.nan  # the first run of a point, which no sample counts
        self.events_s: tuple[float, ...] = ()
        self.peak_bytes: int | None = None
        self.s_per_size = math.inf  # the least so far: one disturbed point predicts nothing
        self.is_cold = True
        self.skipped: str = ""

    def measure(self, point: tuple) -> list[float]:
        """The samples of a point; none if it would take too long."""
        self.events_s, self.peak_bytes, self.skipped = (), None, ""
        return out_of_memory_as_one(lambda: self._measure(point))

    def _measure(self, point: tuple) -> list[float]:
        bench, on_gpu = self.bench, self.loaded.device.startswith("cuda")
        predicted_s = self.s_per_size * _size(point)
        if bench.skip_s < predicted_s < math.inf:
            self.skipped = f"one run was predicted to take {predicted_s:.0f} s"
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
        n_repeats = min(bench.profile.n_repeats, int(bench.point_s / min(times_s)))
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
        samples_s = self.bench.harness.time_runs(run, *clock, n_warmup, n_repeats)
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

    def _check(self, generated: Any, point: tuple) -> None:
        """Refuse a generation of another size than was asked for: its times would mean nothing."""
        batch_size, _, n_new = point
        shape = tuple(getattr(generated, "shape", ()))
        if n_new and shape != (batch_size, n_new):
            raise ValueError(
                f"generate_fixed was asked for {n_new} tokens of {batch_size} sequences and should "
                f"give a tensor of ({batch_size}, {n_new}); it gave {shape or generated!r:.80}. "
                "Do its checks pass?"
            )

    def _run(self, point: tuple) -> Callable[[], Any]:
        batch_size, n_input, n_new = point
        model, device = self.loaded.model, self.loaded.device
        rng = torch.Generator().manual_seed(self.bench.recorder.seed + n_input)
        tokens = torch.randint(self.loaded.vocab_size, (batch_size, n_input), generator=rng)
        tokens = tokens.to(device)
        if n_new == 0:
            return lambda: _forward(model, tokens)
        return lambda: self.bench.harness.generate_fixed(model, tokens, n_new)

    def save(self, point: tuple, samples_s: Sequence[float], outcome: str) -> None:
        """One row of the record."""
        batch_size, n_input, n_new = point
        if outcome == "ok" and not len(samples_s):
            outcome = "skipped"
        is_ok = outcome == "ok"
        self.bench.recorder.save(
            Row(
                experiment=self.experiment,
                model=self.loaded.name,
                batch_size=batch_size,
                n_input=n_input,
                n_new=n_new,
                use_cache=True,
                samples_s=tuple(map(float, samples_s)),
                events_s=self.events_s if is_ok else (),
                peak_bytes=self.peak_bytes if is_ok else None,
                outcome=outcome if is_ok or outcome == "skipped" else OUT_OF_MEMORY,
                note=self.skipped or ("random weights" if self.loaded.weights == "random" else ""),
                counts={"first_s": self.first_s} if is_ok else {},
            )
        )


def _sweep_generation(bench: Bench, experiment: str, role: str, points: Sequence[tuple]) -> None:
    """Sweep one model over points (batch size, tokens in, new tokens), with a bar."""
    name = bench.profile.roles[role]
    done = [
        point for point in points if bench.recorder.is_done((experiment, name, *point, True, ""))
    ]
    if len(done) == len(points):
        return
    try:
        loaded = out_of_memory_as_one(lambda: bench.load(role))
    except (MemoryError, zoo.UnavailableModel) as error:
        for sizes in (point for point in points if point not in done):
            row = Row(experiment, name, *sizes, True, outcome=OUT_OF_MEMORY, note=str(error))
            bench.recorder.save(row)
        return
    sweeper = _Sweeper(bench, experiment, loaded)
    bar = _with_bar(points, f"{experiment}, {name.rpartition('/')[2]}")
    bench.harness.sweep(bar, sweeper.measure, sweeper.save, free_device_memory, done)
    del sweeper
    free_device_memory()


def _with_bar(points: Sequence[tuple], title: str) -> Iterable[tuple]:
    try:
        from tqdm.auto import tqdm
    except ImportError:
        return points
    return tqdm(points, desc=title, unit="point")


def _size(point: tuple) -> int:
    """What a run's time grows with, at most: tokens fed, and attention's share left out."""
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
