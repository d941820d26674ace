"""Lab 7's first experiment as rows of a record: whole attention by PyTorch's back ends, by length.

All of a length are timed in turns. On a GPU peak memory is the allocator's; on a CPU, which keeps
no such count, it is what the operations' results take.
"""

import math
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from itertools import product
from operator import methodcaller
from typing import Any

import torch
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.weak import WeakIdKeyDictionary

from labkit.engine import operations
from labkit.engine.flash import choose_flash
from labkit.labs.flash_attention.decode import decode_split
from labkit.labs.flash_attention.records import BACK_ENDS, Point
from labkit.measuring.device import (
    forget_peak,
    free_device_memory,
    lost,
    out_of_memory_as_one,
    peak_bytes,
    rows_in_room,
)
from labkit.measuring.machine.hardware import roofline_rows
from labkit.measuring.profiles import MachineProfile
from labkit.measuring.records import IsDone, Row, measured
from labkit.measuring.timing import time_in_turns, with_time_left

SAMPLE_S = 4e-3  # a sample has as many runs as take this long
MOST_RUNS = 50
PYTORCH = {
    "math": SDPBackend.MATH,
    "flash": SDPBackend.FLASH_ATTENTION,
    "efficient": SDPBackend.EFFICIENT_ATTENTION,
    "cudnn": SDPBackend.CUDNN_ATTENTION,
}
EVERYWHERE = ("plain", "math")
Attention = Callable[[Tensor, Tensor, Tensor, bool], Tensor]


@dataclass(frozen=True, slots=True)
class Sizes:
    """What is measured on one kind of device. lengths: tokens; n_samples: of each time."""

    lengths: tuple[int, ...]
    n_heads: int
    head_dims: tuple[int, ...]
    n_samples: int


ON_GPU = Sizes((512, 1024, 2048, 4096, 8192, 16_384), 16, (64, 128), 10)
ON_CPU = Sizes((128, 256, 512, 1024, 2048), 2, (64,), 3)


def sdpa(
    profile: MachineProfile, sizes: Sizes | None = None, *, is_done: IsDone = lambda key: False
) -> Iterator[Row]:
    """Time and peak memory of attention over whole texts: forward, and forward with backward.

    model: a name of `labkit.labs.flash_attention.records.BACK_ENDS`; those that run here. n_input:
    tokens; setting and counts: see `Point`. peak_bytes: Q, K, V, and what a run takes beside them
    at most. First comes a row roofline, for predictions.
    """
    sizes = sizes or (ON_GPU if profile.device == "cuda" else ON_CPU)
    yield from roofline_rows(profile, is_done)
    kinds = product(sizes.head_dims, (False, True), (False, True))
    points = [Point(sizes.n_heads, *kind) for kind in kinds]
    names = {
        each: [name for name in BACK_ENDS if _runs_here(profile, name, each)] for each in points
    }
    lengths = list(product(points, sizes.lengths))
    for point, n_rows in with_time_left(lengths, "attention by PyTorch", "length"):
        row = Row("sdpa", "-", 1, n_rows, 0, False, outcome="-", setting=str(point))
        rows = [replace(row, model=name, counts=point.counts) for name in names[point]]
        rows = [row for row in rows if not is_done(row.key)]
        yield from rows_in_room(rows, partial(_measured, profile, point, rows, sizes.n_samples))


def plain(queries: Tensor, keys: Tensor, values: Tensor, is_causal: bool) -> Tensor:
    """The formula typed in: scores and weights of all pairs are there as a whole."""
    scores = queries @ keys.mT * queries.shape[-1] ** -0.5
    if is_causal:
        is_later = torch.ones(scores.shape[-2:], dtype=torch.bool, device=scores.device).triu(1)
        scores = scores.masked_fill(is_later, -torch.inf)
    return scores.softmax(dim=-1) @ values


def _attention(name: str, queries: Tensor) -> Attention:
    """By the name of a back end. Raises: ValueError where the kit's own kernel cannot run."""
    if name == "plain":
        return plain
    if name == "labkit":
        kernel = choose_flash(queries, without=("torch",))
        return kernel.make(None, 1, queries.device)

    def chosen(*given: Any) -> Tensor:
        with sdpa_kernel(PYTORCH[name]):
            return operations.flash_attention(*given)

    return chosen


def _run(attention: Attention, parts: list[Tensor], point: Point) -> None:
    queries, keys, values, *d_output = parts
    with torch.set_grad_enabled(point.has_back):
        output = attention(queries, keys, values, point.is_causal)
        if point.has_back:
            torch.autograd.grad(output, (queries, keys, values), d_output)


def _parts(profile: MachineProfile, point: Point, n_rows: int) -> list[Tensor]:
    """Q, K and V (1 H N D), and dO too for the backward pass."""
    shape = (3 + point.has_back, 1, point.n_heads, n_rows, point.head_dim)
    generator = torch.Generator(profile.device).manual_seed(0)
    numbers = torch.randn(shape, device=profile.device, generator=generator)
    parts = list(numbers.to(getattr(torch, profile.dtype)).unbind())
    return [part.clone().requires_grad_(point.has_back and i < 3) for i, part in enumerate(parts)]


def _runs_here(profile: MachineProfile, name: str, point: Point) -> bool:
    """Whether a back end can do this; the kit's kernel has no backward pass.

    Without memory to try it, only those that run everywhere can: their rows say what they lack.
    """
    if name == "labkit" and point.has_back:
        return False

    def run() -> None:
        parts = _parts(profile, point, 64)
        _run(_attention(name, parts[0]), parts, point)

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # PyTorch says there why a back end cannot
            out_of_memory_as_one(run)
    except (RuntimeError, ValueError, MemoryError) as error:
        is_known = isinstance(error, MemoryError) and name in EVERYWHERE
    else:
        return True
    free_device_memory()
    return is_known


def _measured(
    profile: MachineProfile, point: Point, rows: list[Row], n_samples: int
) -> Iterator[Row]:
    """The rows of one length: first what each takes of memory, then all of them in turns."""
    if not rows:
        return
    parts = _parts(profile, point, rows[0].n_input)
    runs = {row.model: partial(_run, _attention(row.model, parts[0]), parts, point) for row in rows}
    peaks, reasons = {}, {}
    for name, run in runs.items():
        try:
            peaks[name] = out_of_memory_as_one(partial(_peak_of, run, parts))
        except MemoryError as error:
            reasons[name] = str(error)
        if name in reasons:
            free_device_memory()
    runs = {name: run for name, run in runs.items() if name in peaks}
    once = time_in_turns(runs, 1, n_warmup=0)  # the run for its memory has warmed it up
    n_runs = {
        name: min(MOST_RUNS, math.ceil(SAMPLE_S / timing.median_s)) for name, timing in once.items()
    }
    repeated = {name: partial(_repeat, run, n_runs[name]) for name, run in runs.items()}
    timings = time_in_turns(repeated, n_samples, n_warmup=0)
    for row in rows:
        if row.model in timings:
            samples_s = [sample / n_runs[row.model] for sample in timings[row.model].samples_s]
            yield measured(row, samples_s, row.counts, peaks[row.model])
        else:
            yield lost(row, reasons[row.model])


def _repeat(run: Callable[[], None], n_runs: int) -> None:
    for _ in range(n_runs):
        run()


def _peak_of(run: Callable[[], None], parts: list[Tensor]) -> int:
    """The peak bytes of a run, its inputs included."""
    given_bytes = sum(part.nbytes for part in parts)
    if parts[0].device.type == "cuda":
        run()  # what a first run alone takes, such as room for a library's plans, is no part of it
        forget_peak()
        before = torch.cuda.memory_allocated()
        run()
        return given_bytes + peak_bytes() - before
    with _Results() as results:
        run()
    return given_bytes + results.most_bytes


class _Results(TorchDispatchMode):
    """Keeps count of the memory behind all results of operations that are alive."""

    def __init__(self) -> None:
        super().__init__()
        self.most_bytes = 0
        self._alive = WeakIdKeyDictionary()

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        found = function(*args, **(kwargs or {}))
        for tensor in tree_leaves(found):
            if isinstance(tensor, Tensor):
                storage = tensor.untyped_storage()
                self._alive[storage] = storage.nbytes()
        self.most_bytes = max(self.most_bytes, sum(self._alive.values()))
        return found


EXPERIMENTS = {  # by the name that `labkit measure` takes
    "sdpa": methodcaller("fill", sdpa),
    "decode_split": methodcaller("fill", decode_split),
}
