"""The shared parts of the three attention functions' checks: cases, runs, and failures."""

from dataclasses import dataclass, replace
from math import lcm

import torch
from torch import Tensor
from torch.nn import functional

from labkit.bridge.requests import hold
from labkit.bridge.student import Student, StudentError
from labkit.checks.core import Wrong
from labkit.labs.flash_attention.checks.memory import SHIFTS, Order, WatchedMemory
from labkit.labs.flash_attention.checks.steps import LEVEL, TOLERANCE
from labkit.models.counted_memory import attention_memory, tile_scores, tiles

ORDERS = {
    "standard_attention": Order(once="QKSPV", results="SPO"),
    "flash_attention_1": Order(once="KV", in_turns="Q", state="Olm"),
    "flash_attention_2": Order(once="Q", in_turns="KV", results="OL"),
}


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
            "moving": "a memory that changes between turns",
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
            key, highest = torch.arange(self.n_rows), 1 if self.seed % 2 else -2
            is_high = (key >= self.n_rows // 3) & (key <= self.n_rows // 2)
            queries, keys = torch.zeros_like(queries), torch.zeros_like(keys)
            queries[:, 0] = (LEVEL * self.head_dim) ** 0.5
            keys[:, 0] = LEVEL**0.5 * (highest - 2 * ~is_high)
        return queries, keys, values

    def outer_tiles(self, order: Order) -> list[tuple[int, int]]:
        """First and last row of the outer loop's tiles."""
        tile = self.tile_kv if "Q" in order.in_turns else self.tile_q
        return list(tiles(self.n_rows, tile or self.n_rows))


EVEN = (AttentionCase("even", 24, 5, 4, 6, seed=1), AttentionCase("even", 24, 3, 8, 3, seed=2))
CAUSAL = (
    AttentionCase("causal", 24, 4, 8, 4, is_causal=True, seed=7),
    AttentionCase("causal", 20, 3, 4, 5, is_causal=True, seed=13),
)


def run_of(student: Student, case: AttentionCase, exercise: str) -> WatchedMemory:
    """The run of the student's function on the case's memory; played once for all checks.

    Raises: StudentError if it fails, Wrong if it uses an attribute that the memory does not offer.
    """
    key, ends = (exercise, case), (StudentError, Wrong)
    return student.once(key, lambda: _play(student, case, exercise), keep=ends)


def _play(student: Student, case: AttentionCase, exercise: str) -> WatchedMemory:
    order, drift, turned = ORDERS[exercise], {}, ""
    if case.kind == "moving":
        turned = "" if order.in_turns else "SP"
        rng = torch.Generator().manual_seed(case.seed + 1)
        for name in order.in_turns:
            drift[name] = torch.randn(case.n_rows, case.head_dim, generator=rng) / 2
    memory = attention_memory(*case.matrices(), case.sram_bytes)
    tile_rows = {"Q": case.tile_q, "K": case.tile_kv, "V": case.tile_kv}
    watched = WatchedMemory(memory, order, tile_rows, drift, turned)
    sizes = (case.tile_q, case.tile_kv) if order.in_turns else ()
    try:
        hold(getattr(student, exercise), watched.offer(), *sizes, case.is_causal)
    except StudentError:
        if watched.refusal:
            raise Wrong(
                f"the chip holds four tiles, of Q, K, V and O, and this is more: {watched.refusal}",
                why="Load and store one tile at a time.",
            ) from None
        raise
    return watched


def right_output(case: AttentionCase, is_causal: bool, scale: float | None = None) -> Tensor:
    """The output (N D), in float64."""
    heads = (each.double()[None, None] for each in case.matrices())
    return functional.scaled_dot_product_attention(*heads, is_causal=is_causal, scale=scale)[0, 0]


def right_weights(case: AttentionCase) -> Tensor:
    """The weights (N N), in float64."""
    queries, keys, _ = case.matrices()
    return tile_scores(queries, keys, 0, 0, case.is_causal).double().softmax(-1)


def right_level(case: AttentionCase) -> tuple[Tensor, Tensor]:
    """For each query (N,): its largest score, and the logarithm of the sum of exp(score)."""
    queries, keys, _ = case.matrices()
    scores = tile_scores(queries, keys, 0, 0, case.is_causal).double()
    return scores.amax(-1), scores.logsumexp(-1)


def of_last_tile(case: AttentionCase) -> Tensor:
    """Each query's largest score (N,) among the last tile of keys."""
    queries, keys, _ = case.matrices()
    return tile_scores(queries, keys, 0, 0, case.is_causal)[:, -case.tile_kv :].amax(-1).double()


def plain_case(case: AttentionCase) -> AttentionCase:
    """Even tiles of as many rows, no mask, nothing special."""
    n_rows = lcm(case.tile_q, case.tile_kv)
    n_rows *= 1 if n_rows > max(case.tile_q, case.tile_kv) else 2
    n_rows = n_rows or case.n_rows  # without tiles
    return replace(case, kind="even", n_rows=n_rows, is_causal=False)


def is_near(got: Tensor, expected: Tensor) -> bool:
    """Whether two arrays are one, but for rounding."""
    return torch.allclose(got, expected, rtol=TOLERANCE, atol=TOLERANCE)


def seen_pairs(case: AttentionCase) -> Tensor:
    """Whether a causal mask leaves anything of the two tiles of a query and a key: (N N)."""
    row = torch.arange(case.n_rows)
    stop = row // case.tile_q * case.tile_q + case.tile_q
    return stop[:, None] > row // case.tile_kv * case.tile_kv


def moved_output(
    watched: WatchedMemory, case: AttentionCase, is_divided: bool = True, kept: str = ""
) -> Tensor:
    """The output (N D) of a memory that changes, if every turn uses what it loaded last.

    is_divided: whether O was divided by its total as it lay there. kept: the arrays of which
    copies from the first turn, or of what was stored last, are used instead.
    Raises: Wrong if a row was not loaded equally often in every turn.
    """
    order, came = watched.order, watched.first_loads(watched.order.once[0])
    outer = sorted(case.outer_tiles(order), key=lambda tile: came.index(tile[0]))
    shift = {name: 0.0 if name in kept else SHIFTS[name] for name in SHIFTS}
    scores, shifts = torch.zeros(2, case.n_rows, case.n_rows, dtype=torch.float64)
    values = torch.zeros(case.n_rows, case.n_rows, case.head_dim, dtype=torch.float64)
    for turn, (start, stop) in enumerate(outer):
        queries, keys, now = (
            _as_loaded(watched, name, rows, 0 if name in kept else turn, len(outer))
            for name, rows in zip("QKV", case.matrices(), strict=True)
        )
        pairs = (slice(None), slice(start, stop))
        if order.once == "Q":
            pairs = pairs[::-1]
        scores[pairs] = (queries @ keys.T * case.head_dim**-0.5)[pairs]
        values[pairs] = now.expand_as(values)[pairs]
        shifts[pairs] = len(outer) - turn if order.state else 0
    below = (scores + shifts * (shift["m"] + shift["l"])).exp()
    factors = shifts * shift["O"] - (0 if is_divided else (shifts - 1) * shift["l"])
    if "O" in kept:  # what lies in memory at the end has changed once all the same
        factors += SHIFTS["O"]
    return ((below * factors.exp())[:, :, None] * values).sum(1) / below.sum(1, keepdim=True)


def _as_loaded(watched: WatchedMemory, name: str, given: Tensor, turn: int, n_turns: int) -> Tensor:
    """The rows of Q, K or V as they were when they were loaded last in a turn."""
    if name not in watched.drift:
        return given.double()
    n_loads = torch.tensor(watched.loads(name))
    is_uneven = (n_loads < 1) | (n_loads % n_turns > 0)
    if is_uneven.any():
        row = int(is_uneven.nonzero()[0])
        what = f"how often row {row} of {name} is loaded in {n_turns} turns"
        raise Wrong(what, expected=f"{n_turns} times", got=f"{n_loads[row]} times")
    n_before = n_loads // n_turns * (turn + 1) - 1
    return given.double() + n_before[:, None] * watched.drift[name]
