"""The memory that the checks of lab 07 offer: it stays here, counts, and follows what it gives.

A student's function gets an `Offer` of it, so what is counted cannot be forged, and the numbers are
to be had by loading alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass, field
from operator import index
from typing import Any

import numpy
import torch
from torch import Tensor

from labkit.student import Offer
from labkit.tiling.memory import Memory, SramOverflow

MOST_MOVES = 20_000
LIFT = 0.75  # by which a moving memory raises m


@dataclass(frozen=True, slots=True)
class Order:
    """How often an algorithm moves which array.

    once: loaded once. in_turns: loaded in every turn of the outer loop. state: loaded and stored in
    every turn, and stored once before or in the first. results: stored once.
    """

    once: str
    in_turns: str = ""
    state: str = ""
    results: str = ""


@dataclass(eq=False)
class WatchedMemory:
    """A memory of one head, offered to a student's function.

    drift: what is added to the rows of an array after each loading, by array; then m is raised
    too, each time it has been stored. turned: arrays that come back with every row moved on by
    one column. refusal: the last tile that did not fit, in words.
    """

    memory: Memory
    order: Order
    drift: Mapping[str, Tensor] = field(default_factory=dict)
    turned: str = ""
    refusal: str = ""

    def __post_init__(self) -> None:
        arrays, n_rows = self.memory.arrays, self.memory.n_rows
        self.scores = torch.full((n_rows, n_rows), -torch.inf, dtype=torch.float64)
        self.values = arrays["V"].double().repeat(n_rows, 1, 1)
        self._partners: list[int] = []  # rows of the outer loop's tile
        self._is_new_turn = True

    def offer(self) -> Offer:
        """What the student's function gets for it."""
        sizes = {"n_rows": self.memory.n_rows, "head_dim": self.memory.head_dim}
        return Offer(attributes={**sizes, "load": self.load, "store": self.store})

    def load(self, name: Any, start: Any = 0, stop: Any = None) -> Tensor:
        """As `Memory.load`, with every refusal as one that reaches the student in words."""
        first, last = index(start), None if stop is None else index(stop)
        loaded = self._allowed(name, lambda: self.memory.load(name, first, last))
        rows = slice(first, first + len(loaded))
        if name in self.turned:
            return loaded.roll(1, dims=1)
        if self.order.in_turns:
            self._follow(name, rows, loaded.double())
        if name in self.drift:
            self.memory.arrays[name][rows] += self.drift[name][rows]
        return loaded

    def store(self, name: Any, start: Any, rows: Any) -> None:
        """As `Memory.store`; NumPy's arrays are taken too."""
        if isinstance(rows, numpy.ndarray):
            rows = torch.from_numpy(rows)
        if not isinstance(rows, Tensor) or rows.is_complex():
            raise TypeError(f"what is stored in {name} should be a tensor of real numbers")
        first = index(start)
        self._allowed(name, lambda: self.memory.store(name, first, rows))
        if self.drift and name == "m":
            self.memory.arrays["m"][first : first + len(rows)] += LIFT
            self.scores[first : first + len(rows)] += LIFT

    def times(self, kind: str, name: str) -> float:
        """How often the whole array was loaded or stored; parts count as parts."""
        return self.memory.numbers(kind)[name] / self.memory.arrays[name].numel()

    def turns(self, tiles_of: Iterable[tuple[int, int]]) -> float:
        """How often all of Q (or of K and V, in the other order) met tiles of the outer loop."""
        pairs = self.pairs if "Q" in self.order.in_turns else self.pairs.T
        met = sum(int(pairs[:, start:stop].any(1).sum()) for start, stop in tiles_of)
        return min(met / len(pairs), self.times("load", self.order.in_turns[0]))

    @property
    def pairs(self) -> Tensor:
        """Which query met which key: true (N N) where both were on the chip."""
        return self.scores.isfinite()

    def output(self) -> Tensor:
        """The output (N D) that follows from what was loaded, as it was at each loading."""
        return (self.scores.softmax(-1)[:, :, None] * self.values).sum(1)

    def _allowed(self, name: Any, move: Callable[[], Tensor | None]) -> Any:
        if len(self.memory.accesses) >= MOST_MOVES:
            raise ValueError("load and store are called again and again, without an end")
        try:
            return move()
        except SramOverflow as error:
            self.refusal = str(error).partition(";")[0]
            raise MemoryError(str(error)) from None
        except KeyError:
            known = "Q, K, V, O, S, P, l, m and L"
            raise ValueError(f"there is no array {name!r}; there are {known}") from None

    def _follow(self, name: str, rows: slice, loaded: Tensor) -> None:
        """Keep the scores of every pair that meets, and the values that go with it."""
        inner, outer = ("Q", "K") if "Q" in self.order.in_turns else ("K", "Q")
        here = range(rows.start, rows.stop)
        if name == outer and not set(here) <= set(self._partners):
            self._partners = [*([] if self._is_new_turn else self._partners), *here]
            self._is_new_turn = False
        elif name == inner:
            others = self.memory.arrays[outer][self._partners].double()
            met = loaded @ others.T * self.memory.head_dim**-0.5
            if inner == "Q":
                self.scores[rows, self._partners] = met
            else:
                self.scores[self._partners, rows] = met.T
            self._is_new_turn = True
        elif name == "V" and outer == "Q":
            self.values[self._partners, rows] = loaded
