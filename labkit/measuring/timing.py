"""Timing that one can believe: warmed up, repeated, every sample kept.

Alternatives are timed in turns, so that a machine that slows down slows all of them alike. Times
are for figures and tables; no mark depends on them.
"""

import statistics
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

import torch

from labkit.measuring.device import synchronize
from labkit.measuring.records import middle_half

T = TypeVar("T")
Name = TypeVar("Name", bound=Hashable)


@dataclass(frozen=True, slots=True)
class Timing:
    """The wall-clock times of one thing that was run several times."""

    samples_s: tuple[float, ...]

    def __post_init__(self) -> None:
        if not self.samples_s:
            raise ValueError("a timing needs at least one sample")

    @property
    def median_s(self) -> float:
        return statistics.median(self.samples_s)

    @property
    def spread_s(self) -> tuple[float, float]:
        """The quartiles: the middle half of the samples lies between them."""
        return middle_half(self.samples_s)

    def __str__(self) -> str:
        low, high = self.spread_s
        n_runs = len(self.samples_s)
        return f"{self.median_s:.3g} s (middle half of {n_runs} runs: {low:.3g} to {high:.3g})"


def time_in_turns(
    runs: Mapping[Name, Callable[[], Any]], n_repeats: int = 5, n_warmup: int = 1, title: str = ""
) -> dict[Name, Timing]:
    """Time each of `runs`, round by round: first all of them once, then all of them again.

    The first `n_warmup` rounds are not kept. Where there is a GPU, every sample waits for it
    before the clock is read. title: of a bar that shows the time left; no bar if empty.
    """
    samples: dict[Name, list[float]] = {name: [] for name in runs}
    rounds = range(n_warmup + n_repeats)
    for i in with_time_left(rounds, title, "round") if title else rounds:
        for name, run in runs.items():
            elapsed_s = _time_once(run)
            if i >= n_warmup:
                samples[name].append(elapsed_s)
    return {name: Timing(tuple(kept)) for name, kept in samples.items()}


def with_time_left(steps: Sequence[T], title: str, unit: str) -> Iterable[T]:
    """The steps, with a bar that shows how much time is left while one goes through them."""
    try:
        import ipywidgets  # noqa: F401
        from tqdm.auto import tqdm
    except ImportError:  # a bar of letters, and no warning that it is one
        from tqdm import tqdm

    tqdm.monitor_interval = 0  # a process with its thread could not be forked for a check
    return tqdm(steps, title, unit=unit, leave=False)


def machine(device: str) -> str:
    """The machine of a measurement, for the caption of its figure."""
    if device.startswith("cuda"):
        name = torch.cuda.get_device_name()
    else:
        name = f"CPU, {torch.get_num_threads()} threads"
    return f"{name}, PyTorch {torch.__version__}"


def _time_once(run: Callable[[], Any]) -> float:
    synchronize()
    start = time.perf_counter()
    run()
    synchronize()
    return time.perf_counter() - start
