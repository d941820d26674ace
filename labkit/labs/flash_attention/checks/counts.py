"""Checks of what attention moves between memory and chip."""

from collections.abc import Mapping
from dataclasses import dataclass

from labkit.bridge.student import Student
from labkit.checks.core import check
from labkit.labs.flash_attention.checks.turns import (
    TurnsCase,
    expect_count,
    expect_rounded_up,
    in_turns,
    traffic_in,
)

IN_BYTES = "Traffic is counted in numbers here, not in bytes."


@dataclass(frozen=True, slots=True)
class StandardCase:
    """Numbers that standard attention reads and writes."""

    n_rows: int
    head_dim: int
    reads: int
    writes: int

    def __str__(self) -> str:
        return f"N = {self.n_rows}, D = {self.head_dim}"


def expect_moved(got: float, right: float, what: str, slips: Mapping[float, str]) -> None:
    """So many numbers are moved; two or four times as much may be the bytes of them."""
    expect_count(got, right, what, slips={**slips, right * 2: IN_BYTES, right * 4: IN_BYTES})


@check("standard_traffic", hint="Go through `standard_attention` line by line.")
def standard_reads_five_matrices(student: Student, case: StandardCase) -> None:
    """Standard attention reads Q and K, then S, then P and V."""
    n_rows, head_dim = case.n_rows, case.head_dim
    reads, _ = traffic_in(student.standard_traffic(n_rows, head_dim))
    slips = {
        case.reads - 2 * n_rows**2: "S and P are too large to stay on the chip.",
        case.reads - n_rows**2: "S is read for the softmax, and P for the output.",
        2 * n_rows**2: "Q, K and V are read too.",
        case.writes: "That is what it writes: reads come first.",
        case.reads + case.writes: "That is both ways together.",
    }
    expect_moved(reads, case.reads, "numbers read", slips)


@check("standard_traffic", hint="What is stored, and of which shape is it?")
def standard_writes_three_matrices(student: Student, case: StandardCase) -> None:
    """Standard attention writes S, P and O."""
    n_rows, head_dim = case.n_rows, case.head_dim
    _, writes = traffic_in(student.standard_traffic(n_rows, head_dim))
    slips = {
        n_rows * head_dim: "S and P are too large to stay on the chip.",
        case.writes - n_rows**2: "Both S and P are written.",
        2 * n_rows**2: "O is written too.",
    }
    expect_moved(writes, case.writes, "numbers written", slips)


@check("flash_1_traffic", hint="What does the inner loop load?")
def first_order_reads_its_state_in_every_turn(student: Student, case: TurnsCase) -> None:
    """FlashAttention-1 reads K and V once, and Q, O, l and m in every turn of the outer loop."""
    vector, matrix = case.n_rows, case.n_rows * case.head_dim
    for tile, turns, (right, writes) in case.even_tiles():
        reads, _ = traffic_in(case.ask(student.flash_1_traffic, tile))
        slips = {
            case.right[0][0]: "That is one turn: Q, O, l and m are read in each of them.",
            right - 2 * turns * vector: "l and m are read in every turn too.",
            right - turns * vector: "Both l and m are read in every turn.",
            right - turns * matrix: "Both Q and O are read in every turn.",
            right - 2 * matrix: "K and V have to be read too.",
            right - matrix: "Both K and V have to be read.",
            right + 2 * (turns - 1) * matrix: "A tile of K and V is read once: outer loop.",
            writes: "That is what it writes: reads come first.",
        }
        expect_moved(reads, right, f"numbers read {in_turns(turns)}", slips)


@check("flash_1_traffic", hint="What does the inner loop store?")
def first_order_writes_its_state_in_every_turn(student: Student, case: TurnsCase) -> None:
    """A turn more is O, l and m written once more."""
    (_, wide), (_, narrow) = case.right[1:]
    (_, few), (_, many) = (
        traffic_in(case.ask(student.flash_1_traffic, tile)) for tile in (case.wide, case.narrow)
    )
    turns = case.turns(case.wide)
    slips = {
        0: "O, l and m are written in every turn.",
        turns * case.n_rows * case.head_dim: "l and m are written too.",
        2 * turns * case.n_rows: "O is written too.",
    }
    what = f"numbers written {in_turns(2 * turns)}, less those {in_turns(turns)}"
    expect_moved(many - few, narrow - wide, what, slips)


@check("flash_1_traffic", hint="What does memory hold before the first turn?")
def first_order_writes_before_it_reads(student: Student, case: TurnsCase) -> None:
    """With a single turn, O, l and m are written twice: they are written before the turns too."""
    _, right = case.right[0]
    _, writes = traffic_in(case.ask(student.flash_1_traffic, case.n_rows))
    slips = {
        right / 2: "Before the first turn O, l and m are written too; count that here.",
        right - 2 * case.n_rows: "Before the first turn l and m are written too.",
        right - 4 * case.n_rows: "l and m are written too.",
    }
    expect_moved(writes, right, "numbers written with one tile of K", slips)


@check("flash_1_traffic", hint="How many tiles do 10 rows make, 4 in each?")
def first_order_takes_a_turn_for_a_tile_not_full(student: Student, case: TurnsCase) -> None:
    """What FlashAttention-1 moves follows the number of turns, also where the last is smaller."""

    def count(tile: int) -> float:
        return sum(traffic_in(case.ask(student.flash_1_traffic, tile)))

    expect_rounded_up(case, count, "numbers moved by FlashAttention-1")


@check("flash_2_traffic", hint="What does the inner loop load now?")
def second_order_reads_keys_in_every_turn(student: Student, case: TurnsCase) -> None:
    """FlashAttention-2 reads Q once, and K and V in every turn of the outer loop."""
    matrix = case.n_rows * case.head_dim
    for tile, turns, (right, _) in case.even_tiles():
        reads, _ = traffic_in(case.ask(student.flash_2_traffic, tile))
        slips = {
            case.right[0][0]: "That is one turn: every tile of Q needs all of K and V.",
            right + (turns - 1) * matrix: "A tile of Q is read once, by the outer loop.",
            right - turns * matrix: "Both K and V are read in every turn.",
            right - matrix: "Q has to be read too.",
        }
        expect_moved(reads, right, f"numbers read {in_turns(turns)}", slips)


@check("flash_2_traffic", hint="When is a tile of O finished? What lies beside it?")
def second_order_writes_once(student: Student, case: TurnsCase) -> None:
    """FlashAttention-2 writes O and L once, however many turns there are."""
    vector, matrix = case.n_rows, case.n_rows * case.head_dim
    for tile, turns, (_, right) in case.even_tiles():
        _, writes = traffic_in(case.ask(student.flash_2_traffic, tile))
        slips = {
            matrix: "L is written too.",
            matrix + 2 * vector: "Of l and m only the one number L is kept.",
            turns * right: "O stays on the chip until all keys are seen.",
        }
        expect_moved(writes, right, f"numbers written {in_turns(turns)}", slips)


@check("flash_2_traffic", hint="How many tiles do 10 rows make, 4 in each?")
def second_order_takes_a_turn_for_a_tile_not_full(student: Student, case: TurnsCase) -> None:
    """What FlashAttention-2 reads follows the number of turns, also where the last is smaller."""

    def count(tile: int) -> float:
        return traffic_in(case.ask(student.flash_2_traffic, tile))[0]

    expect_rounded_up(case, count, "numbers read by FlashAttention-2")


OPEN_CASES = {
    "standard_traffic": [StandardCase(10, 3, 290, 230), StandardCase(4, 16, 224, 96)],
    "flash_1_traffic": [
        TurnsCase(60, 5, 20, 10, 11, ((1320, 840), (2760, 1680), (4920, 2940))),
        TurnsCase(28, 8, 14, 7, 9, ((952, 560), (1456, 840), (2464, 1400))),
    ],
    "flash_2_traffic": [
        TurnsCase(60, 5, 20, 10, 11, ((900, 360), (2100, 360), (3900, 360))),
        TurnsCase(28, 8, 14, 7, 9, ((672, 252), (1120, 252), (2016, 252))),
    ],
}
