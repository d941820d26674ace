"""The memory that the checks of lab 07 offer: it stays here, counts, and follows what it gives.

A student's function gets an `Offer` of it, so what is counted cannot be forged.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from math import exp
from operator import index
from typing import Any

import numpy
import torch
from torch import Tensor

from labkit.bridge.student import Offer
from labkit.models.counted_memory import Access, Memory, SramOverflow

MOST_MOVES = 20_000
SHIFTS = {"O": 0.2, "l": -0.4, "m": 0.75}  # what a moving memory adds: to m, to logarithms of O, l


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

    tiles: rows of a tile of each array. drift: what is added to the rows of an array after each
    loading, by array; then O, l and m change too, each time they have been stored. turned: arrays
    that come back with every row moved on by one column. refusal: the last tile that did not fit,
    in words.
    """

    memory: Memory
    order: Order
    tiles: Mapping[str, int] = field(default_factory=dict)
    drift: Mapping[str, Tensor] = field(default_factory=dict)
    turned: str = ""
    refusal: str = ""

    def offer(self) -> Offer:
        """The memory as the student's function sees it."""
        sizes = {"n_rows": self.memory.n_rows, "head_dim": self.memory.head_dim}
        attributes = {**sizes, "load": self.load, "store": self.store}
        return Offer(attributes=attributes, name="memory")

    def load(self, name: Any, start: Any = 0, stop: Any = None) -> Tensor:
        """As `Memory.load`, with every refusal as one that reaches the student in words."""
        first, last = index(start), None if stop is None else index(stop)
        loaded = self._allowed(name, lambda: self.memory.load(name, first, last))
        if name in self.turned:
            return loaded.roll(1, dims=1)
        if name in self.drift:
            rows = slice(first, first + loaded.shape[0])
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
        if self.drift and name in self.order.state:
            changed = self.memory.arrays[name][first : first + len(rows)]
            changed.copy_(changed + SHIFTS["m"] if name == "m" else changed * exp(SHIFTS[name]))

    def times(self, kind: str, name: str) -> float:
        """How often the whole array was loaded or stored; parts count as parts."""
        return self.memory.numbers(kind)[name] / self.memory.arrays[name].numel()

    def loads(self, name: str) -> list[int]:
        """How often each row of an array was loaded."""
        counts = [0] * self.memory.n_rows
        for access in self._loaded(name):
            for row in range(access.start, access.stop):
                counts[row] += 1
        return counts

    def first_loads(self, name: str) -> list[int]:
        """The rows of an array in the order in which they came, each once."""
        came = (row for each in self._loaded(name) for row in range(each.start, each.stop))
        return list(dict.fromkeys(came))

    def meetings(self, one: str, other: str, coming: str) -> Tensor:
        """Which rows of two arrays met: true (N N) where a row of either was there as one came.

        coming: the arrays whose arrival counts. What came earlier is there until another tile of
        the same array comes.
        """
        n_rows = self.memory.n_rows
        met = torch.zeros(n_rows, n_rows, dtype=torch.bool)
        present: dict[str, set[int]] = {one: set(), other: set()}
        for access in self._loaded(one + other):
            name, rows = access.name, set(range(access.start, access.stop))
            is_same = self._numbers(name, rows) == self._numbers(name, present[name])
            present[name] = rows | present[name] if is_same else rows
            if name in coming and all(present.values()):
                here = present | {name: rows}
                met[torch.tensor(list(here[one]))[:, None], list(here[other])] = True
        return met

    def stored_rows(self, name: str) -> set[int]:
        """The rows of an array that were stored."""
        return {
            row
            for access in self.memory.accesses
            if access.kind == "store" and access.name == name
            for row in range(access.start, access.stop)
        }

    def loaded_blank(self) -> str:
        """The first array of results of which a row was loaded before it was stored; "" if none."""
        stored: set[tuple[str, int]] = {
            (name, row) for name in "QKV" for row in range(self.memory.n_rows)
        }
        for access in self.memory.accesses:
            rows = {(access.name, row) for row in range(access.start, access.stop)}
            if access.kind == "load" and not rows <= stored:
                return access.name
            stored |= rows
        return ""

    def most_waiting(self, one: str, other: str) -> int:
        """The most rows that one array was ahead of the other in loading."""
        ahead, most = 0, 0
        for access in self._loaded(one + other):
            rows = access.stop - access.start
            ahead += rows if access.name == one else -rows
            most = max(most, abs(ahead))
        return most

    def _loaded(self, names: str) -> list[Access]:
        return [each for each in self.memory.accesses if each.kind == "load" and each.name in names]

    def _numbers(self, name: str, rows: set[int]) -> set[int]:
        """Of the tiles that these rows belong to."""
        return {row // self.tiles[name] for row in rows}

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
