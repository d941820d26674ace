"""The times of a block's parts: drafting, verifying, accepting, and the caches.

A stopwatch gets a call when a part has ended. On a GPU it leaves CUDA events between the kernels
and waits for nothing. Events recorded while a step is captured are part of the graph, and take the
time again at each replay.
"""

from dataclasses import dataclass, field
from itertools import pairwise
from time import perf_counter
from typing import Any

import torch

from labkit.engine.decoder import Decoder
from labkit.engine.samplers import Speculation

PARTS = ("draft", "verify", "accept", "cache")


@dataclass(frozen=True, slots=True)
class BlockTimes:
    """One block: seconds of its parts, and of all of it by the host's clock; tokens."""

    draft_s: float
    verify_s: float
    accept_s: float
    cache_s: float
    total_s: float
    n_drafted: int
    n_kept: int


@dataclass(slots=True)
class PartTimes:
    """The times of all blocks of some runs."""

    blocks: list[BlockTimes] = field(default_factory=list)

    def seconds(self, part: str) -> float:
        """Of a part, or of the "total", over all blocks."""
        return sum(getattr(block, f"{part}_s") for block in self.blocks)


class Stopwatch:
    """Takes the time of one block after another.

    `begin`, then `mark` at the end of each of `PARTS`, in their order, then `end`. The first part
    begins with the block. Where a step is captured, `mark` is in the step and the others are not.
    """

    def __init__(self, profile: PartTimes, device: torch.device | str) -> None:
        self._profile = profile
        self._on_gpu = torch.device(device).type == "cuda"
        self._marks: dict[str, Any] = {}
        self._began = 0.0

    def begin(self) -> None:
        """A block begins."""
        if not self._on_gpu:
            self._marks.clear()
        self._began = perf_counter()
        self.mark("begin")

    def mark(self, part: str) -> None:
        """All since the last mark was this part."""
        if not self._on_gpu:
            self._marks[part] = perf_counter()
            return
        if part not in self._marks:
            self._marks[part] = torch.cuda.Event(enable_timing=True, external=True)
        self._marks[part].record()

    def end(self, n_drafted: int, n_kept: int) -> None:
        """The block is over, on the device too. Raises: ValueError if a part was not marked."""
        missing = [part for part in ("begin", *PARTS) if part not in self._marks]
        if missing:
            raise ValueError(f"the block ends without a mark for {', '.join(missing)}")
        total_s = perf_counter() - self._began
        marks = [self._marks[part] for part in ("begin", *PARTS)]
        seconds = [self._between(*pair) for pair in pairwise(marks)]
        self._profile.blocks.append(BlockTimes(*seconds, total_s, n_drafted, n_kept))

    def _between(self, first: Any, last: Any) -> float:
        if not self._on_gpu:
            return last - first
        last.synchronize()
        return first.elapsed_time(last) / 1e3


class TimedSpeculation(Speculation):
    """Speculation that adds the parts of each block to a profile."""

    def __init__(self, profile: PartTimes, target: Decoder, *others: Any) -> None:
        """others: as `Speculation` takes them."""
        device = target.weights.device
        self._watches = {n_lacked: Stopwatch(profile, device) for n_lacked in (1, 2)}
        super().__init__(target, *others)  # steps are captured here

    def _ended(self, part: str, n_lacked: int) -> None:
        self._watches[n_lacked].mark(part)

    def block(self) -> list[int]:
        """The next block."""
        watch = self._watches[self.n_lacked]
        watch.begin()
        tokens = super().block()
        watch.end(self.gamma, len(tokens) - 1)
        return tokens
