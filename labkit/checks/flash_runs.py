"""What the checks of the three attention functions share: cases, how one is played, what fails."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from labkit.checks.core import Wrong
from labkit.checks.flash_memory import Order, WatchedMemory
from labkit.student import Student, StudentError, hold
from labkit.tiling.memory import attention_memory, tile_scores, tiles

ORDERS = {
    "standard_attention": Order(once="QKSPV", results="SPO"),
    "flash_attention_1": Order(once="KV", in_turns="Q", state="Olm"),
    "flash_attention_2": Order(once="Q", in_turns="KV", results="OL"),
}
TOLERANCE = 1e-4
LEVEL = 1e4  # of the scores that are large
LARGE_TOLERANCE = 5e-3  # float32 has steps of 1e-3 there


@dataclass(frozen=True, slots=True)
class AttentionCase:
    """One head and its tiles. kind: what is special about it."""

    kind: str
    n_rows: int
    head_dim: int
    tile_q: int = 0
    tile_kv: int = 0
    is_causal: bool = False
    seed: int = 0

    def __str__(self) -> str:
        words = [f"N = {self.n_rows}, D = {self.head_dim}"]
        if self.tile_q:
            words.append(f"tiles of {self.tile_q} queries and {self.tile_kv} keys")
        if self.is_causal:
            words.append("causal")
        special = {
            "large": "large scores",
            "chip": "a chip of four tiles",
            "moving": "a memory that changes meanwhile",
        }
        return ", ".join([*words, special[self.kind]] if self.kind in special else words)

    @property
    def sram_bytes(self) -> int | None:
        """Room for tiles of Q, K, V and O, in float32; without a limit but for "chip"."""
        n_rows = 2 * (self.tile_q + self.tile_kv)
        return 4 * n_rows * self.head_dim if self.kind == "chip" else None

    def matrices(self) -> tuple[Tensor, Tensor, Tensor]:
        """Q, K and V (N D)."""
        rng = torch.Generator().manual_seed(self.seed)
        queries, keys, values = torch.randn(3, self.n_rows, self.head_dim, generator=rng)
        if self.kind == "large":  # all queries alike, and keys in the middle far above the rest
            key, highest = torch.arange(self.n_rows), 1 if self.seed % 2 else -1
            is_high = (key >= self.n_rows // 3) & (key <= self.n_rows // 2)
            queries, keys = torch.zeros_like(queries), torch.zeros_like(keys)
            queries[:, 0] = (LEVEL * self.head_dim) ** 0.5
            keys[:, 0] = LEVEL**0.5 * (highest - 2 * ~is_high)
        return queries, keys, values

    def outer_tiles(self, order: Order) -> list[tuple[int, int]]:
        """First and last row of the outer loop's tiles."""
        tile = self.tile_kv if "Q" in order.in_turns else self.tile_q
        return list(tiles(self.n_rows, tile or self.n_rows))


def run_of(student: Student, case: AttentionCase, exercise: str) -> WatchedMemory:
    """What the student's function has done to the case's memory; played once for all checks.

    Raises: StudentError if it fails, Wrong if it wants of the memory what is not offered.
    """
    return student.once((exercise, case), lambda: _play(student, case, exercise))


def _play(student: Student, case: AttentionCase, exercise: str) -> WatchedMemory:
    order, drift, turned = ORDERS[exercise], {}, ""
    if case.kind == "moving":
        turned = "" if order.in_turns else "SP"
        rng = torch.Generator().manual_seed(case.seed + 1)
        for name in order.in_turns:
            drift[name] = torch.randn(case.n_rows, case.head_dim, generator=rng) / 2
    memory = attention_memory(*case.matrices(), case.sram_bytes)
    watched = WatchedMemory(memory, order, drift, turned)
    sizes = (case.tile_q, case.tile_kv) if order.in_turns else ()
    try:
        hold(getattr(student, exercise), watched.offer(), *sizes, case.is_causal)
    except StudentError as error:
        if error.is_a("AttributeError") and "_StandIn" in error.message:
            raise Wrong(
                f"your code raised {error}",
                why="Here, the memory has n_rows, head_dim, load and store, and nothing else.",
            ) from None
        if watched.refusal:
            raise Wrong(
                f"the chip just holds the four tiles given, and this was more: {watched.refusal}",
                why="Load and store one tile at a time.",
            ) from None
        raise
    return watched


def right_output(case: AttentionCase, is_causal: bool, scale: float | None = None) -> Tensor:
    """The output (N D), in float64."""
    heads = (each.double()[None, None] for each in case.matrices())
    return functional.scaled_dot_product_attention(*heads, is_causal=is_causal, scale=scale)[0, 0]


def right_level(case: AttentionCase) -> tuple[Tensor, Tensor]:
    """For each query (N,): its largest score, and the logarithm of the sum of exp(score)."""
    queries, keys, _ = case.matrices()
    scores = tile_scores(queries, keys, 0, 0, case.is_causal).double()
    return scores.amax(-1), scores.logsumexp(-1)
