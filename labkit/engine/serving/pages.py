"""The memory of the KV caches of many requests: one pool of pages for all of them.

A page holds the keys and values of 16 positions, in every layer. The table of a slot lists the
pages of the request that is in it. A pool needs no longest request, so that no memory is kept for
answers that stay short. A pass of any kind writes a token by its row in the pool, and a transfer
takes a page, a layer or a whole request as slices of the same tensors.

What holds, after every call:
1. A page belongs to one slot, or is free. Page 0 belongs to nobody: what has no place goes there.
2. Position i of a slot is row table[slot, i // 16] * 16 + i % 16, in every layer.
3. The slot after the last one is nobody's: it fills up batches, and is always empty.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import torch
from torch import Tensor

from labkit.engine.weights import DecoderShape

PAGE = 16  # positions


class Pages:
    """Room for the keys and values of n_slots requests, in n_pages pages in all.

    keys, values: (L, pages * 16, Hkv, D). table: (slots + 1, most pages of a slot), int32. lengths:
    (slots + 1,), int32, how many positions of each slot count; `n_cached` is the same on the host.
    """

    def __init__(
        self,
        shape: DecoderShape,
        n_pages: int,
        n_slots: int,
        n_positions: int,
        *,
        dtype: torch.dtype,
        device: torch.device | str,
    ) -> None:
        """Empty. n_positions: of the longest request. Raises: ValueError for numbers below 1."""
        if min(n_pages, n_slots, n_positions) < 1:
            raise ValueError(
                f"wanted at least 1 page, 1 slot and 1 position; got {n_pages}, {n_slots} and "
                f"{n_positions}"
            )
        sizes = (shape.n_layers, (n_pages + 1) * PAGE, shape.n_kv_heads, shape.head_dim)
        self.keys, self.values = (torch.zeros(sizes, dtype=dtype, device=device) for _ in range(2))
        counts = {"dtype": torch.int32, "device": device}
        self.table = torch.zeros(n_slots + 1, -(-n_positions // PAGE), **counts)
        self.lengths = torch.zeros(n_slots + 1, **counts)
        self.n_cached = [0] * n_slots
        self.nobody = n_slots
        self._free = list(range(n_pages, 0, -1))
        self._pages: list[list[int]] = [[] for _ in range(n_slots)]

    @property
    def n_free(self) -> int:
        """Pages that belong to nobody."""
        return len(self._free)

    def pages_of(self, slot: int) -> list[int]:
        """The pages of a slot, in the order of its positions."""
        return list(self._pages[slot])

    def reserve(self, slot: int, n_positions: int) -> None:
        """Let a slot have pages for so many positions; it keeps those that it has.

        Raises: ValueError for more than a slot may have, or than there is room for. Nothing has
        changed then.
        """
        own, most = self._pages[slot], self.table.shape[1]
        n_wanted = -(-n_positions // PAGE)
        n_new = n_wanted - len(own)
        if n_wanted > most:
            raise ValueError(f"a slot has at most {most} pages, {n_wanted} are wanted")
        if n_new > len(self._free):
            raise ValueError(f"wanted {n_new} more pages, {len(self._free)} are free")
        if n_new > 0:
            new = [self._free.pop() for _ in range(n_new)]
            self.table[slot, len(own) : n_wanted] = torch.tensor(new, dtype=torch.int32)
            own += new

    def release(self, slot: int) -> None:
        """Take all pages of a slot back; it is empty then."""
        self._free += reversed(self._pages[slot])
        self._pages[slot] = []
        self.table[slot] = 0
        self.rewind(slot, 0)

    def assign(self, slot: int, pages: Sequence[int]) -> None:
        """Let a slot have just these pages, whoever else has them: a scheduler keeps count."""
        own = self._pages[slot]
        n_same = len(own) if [*pages[: len(own)]] == own else 0
        if len(pages) > n_same:
            new = torch.tensor([*pages[n_same:]], dtype=torch.int32)
            self.table[slot, n_same : len(pages)] = new
        self._pages[slot] = [*pages]

    def rewind(self, slot: int, n_cached: int) -> None:
        """Let a slot have its first n_cached positions; a transfer says so of what has come."""
        self.check_room(slot, n_cached)
        self.n_cached[slot] = n_cached
        self.lengths[slot] = n_cached

    def rewind_all(self, n_cached: Mapping[int, int]) -> None:
        """`rewind` of many slots at once, by slot."""
        for slot, n in n_cached.items():
            self.check_room(slot, n)
            self.n_cached[slot] = n
        known = [*self.n_cached, 0]
        self.lengths.copy_(torch.tensor(known, dtype=torch.int32))

    def check_room(self, slot: int, n_positions: int) -> None:
        """Raise ValueError if a slot has no pages for so many positions."""
        n_room = len(self._pages[slot]) * PAGE
        if not 0 <= n_positions <= n_room:
            raise ValueError(
                f"slot {slot} has pages for {n_room} positions, wanted {n_positions}: reserve them"
            )

    def rows(self, slots: Tensor, positions: Tensor) -> Tensor:
        """The rows of the pool (N,) of positions (N,) in slots (N,), all on the device."""
        return self.table[slots, positions // PAGE].long() * PAGE + positions % PAGE


def rows_of(pages: Tensor, n_positions: int) -> Tensor:
    """The rows of the pool (n_positions,) of the first positions of a slot with these pages."""
    position = torch.arange(n_positions, device=pages.device)
    return pages[position // PAGE].long() * PAGE + position % PAGE
