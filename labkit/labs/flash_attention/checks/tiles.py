"""Checks of lab 7's tile sizes, part of `labkit.labs.flash_attention.checks.counts`."""

from dataclasses import dataclass
from functools import partial

from labkit.bridge.student import Student
from labkit.checks.compare import expect_number, show
from labkit.checks.core import Wrong, check
from labkit.checks.forms import expect_refusals
from labkit.labs.flash_attention.checks.turns import EXACT, expect_count, two_numbers_in

WIDTHS = (2, 4, 8)


@dataclass(frozen=True, slots=True)
class TileCase:
    """A chip on which four tiles of `rows` rows of numbers of that width fit exactly.

    kind: "full", of one byte a number; "width", with room for any width; "spare"; "queries".
    spare: bytes beside them, too few for another row of any tile.
    """

    kind: str
    sram_bytes: int
    head_dim: int
    width: int
    rows: int
    spare: int = 0

    def __str__(self) -> str:
        return f"{self.sram_bytes:,} B, D = {self.head_dim}, {self.width} B a number"

    def ask(
        self, student: Student, *, more: int = 0, width: int | None = None
    ) -> tuple[float, float]:
        """The student's tile_q and tile_kv with `more` bytes on the chip, or another width."""
        got = student.tile_sizes(self.sram_bytes + more, self.head_dim, width or self.width)
        return two_numbers_in(got, "the rows of both tiles")

    def why(self, tile_q: float, tile_kv: float, otherwise: str = "") -> str:
        """The sentences for a wrong tile_kv: mistakes that both numbers show come first."""
        if tile_q > tile_kv:
            return "tile_q comes first, and it is never larger than tile_kv."
        if tile_kv == self.head_dim:
            return "Only tile_q is at most head_dim."
        return otherwise


_tiles = partial(check, "tile_sizes", gate=True)


@_tiles("full", hint="Make room for four tiles: of Q, K, V and O.")
def four_tiles_fill_the_chip(student: Student, case: TileCase) -> None:
    """With numbers of one byte, tile_kv rows take a quarter of the chip."""
    tile_q, tile_kv = case.ask(student)
    four = "Four tiles lie on the chip: Q, K, V and O."
    slips = {
        case.rows * 4 // 3: four,
        case.rows * 2: four,
        case.rows * 4: four,
        case.rows * case.head_dim: "A row has head_dim numbers.",
    }
    if case.ask(student, width=WIDTHS[0])[1] == tile_kv:
        slips[case.rows // 4] = "Use bytes_per_number: here it is 1."
    expect_count(tile_kv, case.rows, "tile_kv", slips=slips, why=case.why(tile_q, tile_kv))


@_tiles("width", hint="Divide sram_bytes by the bytes of one row.")
def wider_numbers_make_shorter_tiles(student: Student, case: TileCase) -> None:
    """A tile has half as many rows if its numbers take twice as many bytes."""
    tile_q, tile_kv = case.ask(student)
    if not 1 <= tile_kv <= case.sram_bytes:
        raise Wrong("tile_kv", expected="rows that fit on the chip", got=show(tile_kv))
    for width in WIDTHS:
        _, narrower = case.ask(student, width=width)
        bytes_ignored = "sram_bytes is in bytes: divide by bytes_per_number."
        why = case.why(tile_q, tile_kv, bytes_ignored if narrower == tile_kv else "")
        what = f"tile_kv times the bytes of a number, {width} instead of 1"
        expect_number(narrower * width, tile_kv, what, relative=EXACT, why=why)


@_tiles("spare", hint="Round down: a part of a row does not fit.")
def a_row_fits_whole_or_not_at_all(student: Student, case: TileCase) -> None:
    """tile_kv counts whole rows only: it grows when the last byte of a row fits."""
    tile_q, tile_kv = case.ask(student)
    for more, rows, change in ((case.spare, 0, "a few bytes more"), (-1, -1, "one byte less")):
        _, other = case.ask(student, more=more)
        is_too_many = tile_kv == case.rows and 0 < other - tile_kv - rows <= 1
        why = case.why(tile_q, tile_kv, "Round down." * is_too_many)
        what = f"how many rows tile_kv gains with {change} on the chip"
        expect_number(other - tile_kv, rows, what, relative=EXACT, why=why)


@_tiles("queries", hint="Take the smaller of tile_kv and head_dim, and return it first.")
def scores_take_no_more_than_a_tile_of_keys(student: Student, case: TileCase) -> None:
    """tile_q, the first of the pair, is tile_kv but at most head_dim."""
    tile_q, tile_kv = case.ask(student)
    most = case.head_dim if case.rows > case.head_dim else min(tile_kv, case.head_dim)
    slips = {
        max(tile_kv, case.head_dim): "tile_q is at most head_dim."
        if tile_kv > case.head_dim
        else "tile_q is at most tile_kv.",
    }
    why = case.why(tile_q, tile_kv)
    expect_count(tile_q, most, "tile_q, the first of the pair", slips=slips, why=why)


@_tiles("full", weight=0.5, hint="Raise ValueError if tile_kv would be 0.", gate=False)
def a_chip_without_room_is_refused(student: Student, case: TileCase) -> None:
    """tile_sizes raises ValueError if four rows do not fit; if they just fit, it gives 1 and 1."""
    four_rows = case.sram_bytes // case.rows
    numbers = (case.head_dim, case.width)
    refused = {
        "a chip with one byte less than four rows": (four_rows - 1, *numbers),
        "a chip with no bytes": (0, *numbers),
    }
    expect_refusals(student.tile_sizes, refused)
    got = student.tile_sizes(four_rows, *numbers)
    for rows, what in zip(two_numbers_in(got, "both tiles"), ("tile_q", "tile_kv"), strict=True):
        expect_number(rows, 1, f"{what} where four rows fit exactly")


OPEN_CASES = {
    "tile_sizes": [
        TileCase("full", 65_536, 64, 1, rows=256),
        TileCase("full", 60, 5, 1, rows=3),
        TileCase("width", 7_680, 16, 1, rows=120),
        TileCase("spare", 1_440, 10, 4, rows=9, spare=7),
        TileCase("queries", 5_120, 8, 2, rows=80),
        TileCase("queries", 16_384, 64, 4, rows=16),
    ],
}
