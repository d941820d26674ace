"""A memory that counts: large arrays in slow memory, tiles of them on the chip.

A program on a GPU computes on what lies in the chip's small, fast memory (SRAM), and moves that to
and from the large, slow one (HBM) tile by tile. Here both are counted, and the small one refuses
what does not fit. Each array has one buffer on the chip: the next tile of an array takes the place
of the one before. Only arrays of rows are charged there, for a vector's few numbers, like the
scores of a tile, are held in registers.
"""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import torch
from torch import Tensor

PAGED = ("K", "V")  # what a block table may spread


class SramOverflow(MemoryError):
    """More was loaded than fits on the chip."""


class Traffic(NamedTuple):
    """Numbers that go from memory to the chip, and back."""

    reads: int
    writes: int

    @property
    def total(self) -> int:
        return self.reads + self.writes


@dataclass(frozen=True, slots=True)
class Access:
    """One move. kind: "load" or "store"; rows from start to stop, without stop."""

    kind: str
    name: str
    start: int
    stop: int
    n_numbers: int
    n_bytes: int


@dataclass(eq=False, slots=True)
class Memory:
    """Arrays by name (rows first), and sram_bytes on the chip; None for as many as one likes.

    accesses: every move so far. on_chip: bytes of each array's buffer. block_table: K and V lie in
    that many blocks of equal size, the i-th rows in block block_table[i]; empty for one piece.
    """

    arrays: dict[str, Tensor]
    sram_bytes: int | None = None
    accesses: list[Access] = field(default_factory=list)
    on_chip: dict[str, int] = field(default_factory=dict)
    block_table: Sequence[int] = ()

    @property
    def n_rows(self) -> int:
        """Rows of the queries, and of every other array."""
        return self.arrays["Q"].shape[0]

    @property
    def head_dim(self) -> int:
        """Numbers in a row of the queries."""
        return self.arrays["Q"].shape[1]

    def load(self, name: str, start: int = 0, stop: int | None = None) -> Tensor:
        """A copy of the rows from start to stop (all, if none is given), on the chip now.

        Raises: KeyError for an array that is not there, ValueError for rows that it does not have,
        SramOverflow if the tile does not fit beside the other arrays' tiles.
        """
        rows = self._rows(name, start, stop)
        self._take(name, rows)
        self._note("load", name, start, rows)
        return rows.clone()

    def store(self, name: str, start: int, rows: Tensor) -> None:
        """Write rows back, from `start` on; they were computed on the chip and lie there.

        NumPy's arrays are taken too.

        Raises: as `load`, and ValueError for rows of another width, or for K and V in blocks.
        """
        if self._is_paged(name):
            raise ValueError(f"{name} lies in blocks: it can only be loaded")
        rows = torch.as_tensor(rows)
        room = self._rows(name, start, start + len(rows))
        if rows.shape != room.shape:
            raise ValueError(f"wanted rows of {tuple(room.shape)} for {name}, got {_shape(rows)}")
        self._take(name, room)
        room.copy_(rows)
        self._note("store", name, start, room)

    @property
    def n_read(self) -> int:
        """Numbers loaded so far."""
        return sum(self.numbers("load").values())

    @property
    def n_written(self) -> int:
        """Numbers stored so far."""
        return sum(self.numbers("store").values())

    @property
    def n_bytes(self) -> int:
        """Bytes moved so far, both ways."""
        return sum(access.n_bytes for access in self.accesses)

    def numbers(self, kind: str) -> Counter[str]:
        """Numbers moved by "load" or "store", by array."""
        moved: Counter[str] = Counter()
        for access in self.accesses:
            if access.kind == kind:
                moved[access.name] += access.n_numbers
        return moved

    def _rows(self, name: str, start: int, stop: int | None) -> Tensor:
        if name not in self.arrays:
            raise KeyError(f"there is no array {name!r}; there are {', '.join(self.arrays)}")
        array = self.arrays[name]
        n_rows = array.shape[0]  # `len` takes several times as long
        stop = n_rows if stop is None else stop
        if not 0 <= start < stop <= n_rows:
            raise ValueError(
                f"wanted rows from {start} up to {stop} of {name}, which has {n_rows}; "
                "the last tile may be smaller than the others"
            )
        if not self._is_paged(name):
            return array[start:stop]
        row, block_size = torch.arange(start, stop), n_rows // len(self.block_table)
        block = torch.tensor(self.block_table)[row // block_size]
        return array[block * block_size + row % block_size]

    def _is_paged(self, name: str) -> bool:
        return bool(self.block_table) and name in PAGED

    def _take(self, name: str, rows: Tensor) -> None:
        if rows.dim() < 2:
            return
        others = sum(size for other, size in self.on_chip.items() if other != name)
        if self.sram_bytes is not None and others + rows.nbytes > self.sram_bytes:
            held = ", ".join(f"{other} {size:,}" for other, size in self.on_chip.items())
            raise SramOverflow(
                f"{len(rows)} rows of {name} take {rows.nbytes:,} B, and the chip has "
                f"{self.sram_bytes:,} B ({held or 'all free'}); make the tiles smaller"
            )
        self.on_chip[name] = rows.nbytes

    def _note(self, kind: str, name: str, start: int, rows: Tensor) -> None:
        stop = start + rows.shape[0]
        self.accesses.append(Access(kind, name, start, stop, rows.numel(), rows.nbytes))


def attention_memory(
    queries: Tensor,
    keys: Tensor,
    values: Tensor,
    sram_bytes: int | None = None,
    more: Mapping[str, Tensor] | None = None,
    block_table: Sequence[int] = (),
) -> Memory:
    """Memory for attention of one head: Q, K and V (N D), and room for all results.

    The room: O, dQ, dK, dV (N D) and S, P, dP, dS (N N) like the queries; l, m, L, D (N,) in
    float32. It holds NaN until it is written. more: further arrays, such as dO.
    block_table: as in `Memory`; K and V are put into their blocks.
    Raises: ValueError for matrices of different shapes, or without rows, or a table of which the
    rows do not fill the blocks.
    """
    if not (queries.dim() == 2 and queries.shape == keys.shape == values.shape and len(queries)):
        shapes = ", ".join(str(_shape(each)) for each in (queries, keys, values))
        raise ValueError(f"wanted Q, K and V of one shape (rows, head_dim), got {shapes}")
    n_rows = len(queries)
    arrays = {"Q": queries, "K": keys, "V": values, **(more or {})}
    if block_table:
        arrays |= {name: _in_blocks(arrays[name], block_table) for name in PAGED}
    for name in ("O", "dQ", "dK", "dV"):
        arrays[name] = torch.full_like(queries, torch.nan)
    for name in ("S", "P", "dP", "dS"):
        arrays[name] = queries.new_full((n_rows, n_rows), torch.nan)
    for name in ("l", "m", "L", "D"):
        arrays[name] = torch.full((n_rows,), torch.nan)
    return Memory(arrays, sram_bytes, block_table=block_table)


def _in_blocks(rows: Tensor, block_table: Sequence[int]) -> Tensor:
    """The rows with the i-th of equal pieces in block block_table[i]."""
    n_blocks = len(block_table)
    if sorted(block_table) != list(range(n_blocks)) or len(rows) % n_blocks:
        raise ValueError(
            f"wanted each block from 0 to {n_blocks - 1} once, and {len(rows)} rows that fill "
            f"them, got the table {list(block_table)}"
        )
    blocks = torch.empty_like(rows)
    for block, piece in zip(block_table, rows.split(len(rows) // n_blocks), strict=True):
        blocks[block * len(piece) : (block + 1) * len(piece)] = piece
    return blocks


def tiles(n_rows: int, tile: int) -> Iterator[tuple[int, int]]:
    """First and last row (exclusive) of each tile; the last may be smaller.

    Raises: ValueError for a tile without rows.
    """
    if tile < 1:
        raise ValueError(f"wanted at least 1 row in a tile, got {tile}")
    for start in range(0, n_rows, tile):
        yield start, min(start + tile, n_rows)


def tile_scores(
    queries: Tensor, keys: Tensor, first_query: int, first_key: int, is_causal: bool
) -> Tensor:
    """Scores (Q S) of a tile, float32: products over sqrt(head_dim); -inf for keys yet to come."""
    scores = queries.float() @ keys.float().T * queries.shape[1] ** -0.5
    if not is_causal:
        return scores
    query = first_query + torch.arange(len(queries))[:, None]
    key = first_key + torch.arange(len(keys))
    return scores.masked_fill(key > query, -torch.inf)


def _shape(tensor: Tensor) -> tuple[int, ...]:
    return tuple(tensor.shape)
