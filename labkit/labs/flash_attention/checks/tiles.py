"""Checks of lab 7's tile sizes, part of `labkit.labs.flash_attention.checks.counts`."""

from dataclasses import dataclass

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


@check("tile_sizes", "full", hint="Which four tiles lie there?")
def four_tiles_fill_the_chip(student: Student, case: TileCase) -> None:
    """With numbers of one byte, tile_kv rows take a quarter of the chip."""
    _, tile_kv = case.ask(student)
    four = "Four tiles lie on the chip: Q, K, V and O."
    slips = {
        case.rows * 4 // 3: four,
        case.rows * 2: four,
        case.rows * 4: four,
        case.rows // 4: "Here a number takes one byte, as bytes_per_number says.",
        case.rows * case.head_dim: "A row has head_dim numbers.",
    }
    expect_count(tile_kv, case.rows, "tile_kv", slips=slips)


@check("tile_sizes", "width", hint="sram_bytes are bytes.")
def wider_numbers_make_shorter_tiles(student: Student, case: TileCase) -> None:
    """A tile has half as many rows if its numbers take twice as many bytes."""
    _, tile_kv = case.ask(student)
    if not 1 <= tile_kv <= case.sram_bytes:
        raise Wrong("tile_kv", expected="rows that fit on the chip", got=show(tile_kv))
    for width in WIDTHS:
        _, narrower = case.ask(student, width=width)
        why = "The size of the chip is in bytes: how many numbers are that?"
        what = f"tile_kv times the bytes of a number, {width} instead of 1"
        expect_number(narrower * width, tile_kv, what, relative=EXACT, why=why)


@check("tile_sizes", "spare", hint="Is a rounded-up tile on the chip?")
def a_row_fits_whole_or_not_at_all(student: Student, case: TileCase) -> None:
    """Another row comes with the last byte that it needs, and not before."""
    _, tile_kv = case.ask(student)
    for more, rows, change in ((case.spare, 0, "a few bytes more"), (-1, -1, "a byte less")):
        _, other = case.ask(student, more=more)
        what = f"rows that tile_kv gains by {change} on the chip"
        expect_number(other - tile_kv, rows, what, relative=EXACT, why="Round down.")


@check("tile_sizes", "queries", hint="min(tile_kv, head_dim)?")
def scores_take_no_more_than_a_tile_of_keys(student: Student, case: TileCase) -> None:
    """tile_q is as many rows as tile_kv, but head_dim at most; the pair begins with tile_q."""
    tile_q, tile_kv = case.ask(student)
    most = case.head_dim if case.rows > case.head_dim else min(tile_kv, case.head_dim)
    slips = {tile_kv: "head_dim is the most.", case.head_dim: "tile_kv is the most."}
    expect_count(tile_q, most, "tile_q, the first of the pair", slips=slips)


@check("tile_sizes", "full", weight=0.5, hint="Before returning.")
def a_chip_without_room_is_refused(student: Student, case: TileCase) -> None:
    """A chip for less than four rows is a ValueError, one for four rows holds a row of each."""
    four_rows = case.sram_bytes // case.rows
    numbers = (case.head_dim, case.width)
    refused = {
        "a chip with a byte less than four rows": (four_rows - 1, *numbers),
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
