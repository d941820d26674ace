"""What the checks of lab 7's counts share: exact numbers, pairs of them, and turns of a loop."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Any

from labkit.bridge.student import Proxy
from labkit.checks.compare import expect_number, list_in, number_in
from labkit.checks.core import Wrong

EXACT = 1e-12  # relative: whole numbers, also where they were computed as floats
expect_count = partial(expect_number, relative=EXACT)


@dataclass(frozen=True, slots=True)
class SizeCase:
    """One head: n_rows tokens of head_dim numbers each."""

    n_rows: int
    head_dim: int

    def __str__(self) -> str:
        return f"N = {self.n_rows}, D = {self.head_dim}"


@dataclass(frozen=True, slots=True)
class TurnsCase(SizeCase):
    """Sizes and tiles: n_rows is a multiple of `wide`, which is twice `narrow`.

    ragged: rows of a tile that takes as many turns as `narrow`, the last with fewer rows.
    right: what is right for tiles of n_rows, `wide` and `narrow` rows.
    """

    wide: int
    narrow: int
    ragged: int
    right: tuple[Any, Any, Any]

    def ask(self, function: Proxy, tile: int) -> Any:
        """The result of a student's function for tiles of this many rows."""
        return function(self.n_rows, self.head_dim, tile)

    def turns(self, tile: int) -> int:
        """Turns of the outer loop with a tile that divides the length."""
        return self.n_rows // tile

    def even_tiles(self) -> list[tuple[int, int, Any]]:
        """Tiles that divide the length, smallest first: rows, turns, and the right result."""
        tiles = (self.n_rows, self.wide, self.narrow)
        each = zip(tiles, map(self.turns, tiles), self.right, strict=True)
        return list(each)[::-1]


def in_turns(n_turns: int) -> str:
    """How often, in words."""
    return "in 1 turn" if n_turns == 1 else f"in {n_turns} turns"


def traffic_in(got: Any) -> tuple[float, float]:
    """The numbers read and written in an answer: a pair, as `Traffic` is one."""
    return two_numbers_in(got, "reads and writes")


def two_numbers_in(got: Any, what: str) -> tuple[float, float]:
    """Both numbers of a pair. Raises Wrong if it is none."""
    parts = list_in(got, f"{what} should be two numbers", "a pair", 2)
    first, second = (number_in(part, what) for part in parts)
    return first, second


def expect_rounded_up(case: TurnsCase, count: Callable[[int], float], what: str) -> None:
    """count(rows of a tile) follows the number of turns, and a tile that is not full takes one.

    So does a tile that has room for more rows than there are.
    """
    ragged, narrow, wide = (count(tile) for tile in (case.ragged, case.narrow, case.wide))
    why = "The last tile may have fewer rows. It is one more turn, so round up."
    expect_count(
        ragged, narrow, f"{what} with a smaller last tile, in the same number of turns", why=why
    )
    single, roomy = (count(tile) for tile in (case.n_rows, 2 * case.n_rows))
    expect_count(roomy, single, f"{what} with a tile for twice as many rows as there are")
    if narrow == wide:
        why = "Some part of the count must grow with the number of turns."
        raise Wrong(f"{what} in twice as many turns", expected="more", got="the same", why=why)
