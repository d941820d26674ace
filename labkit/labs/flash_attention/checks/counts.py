"""Checks of what attention moves between memory and chip."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial

from labkit.bridge.student import Student
from labkit.checks.core import check
from labkit.labs.flash_attention.checks.turns import (
    SizeCase,
    TurnsCase,
    expect_count,
    expect_rounded_up,
    in_turns,
    traffic_in,
)

IN_BYTES = "That is in bytes. Count numbers here."


@dataclass(frozen=True, slots=True)
class StandardCase(SizeCase):
    """Numbers that standard attention reads and writes."""

    reads: int
    writes: int


def expect_moved(got: float, right: float, what: str, slips: Mapping[float, str]) -> None:
    """This count of numbers is moved; two or four times the count may be their bytes."""
    expect_count(got, right, what, slips={**slips, right * 2: IN_BYTES, right * 4: IN_BYTES})


_standard = partial(check, "standard_traffic", gate=True)


@_standard(hint="Go through `standard_attention` and add up what each load brings.")
def standard_reads_five_matrices(student: Student, case: StandardCase) -> None:
    """Standard attention reads Q and K, then S, then P and V."""
    n_rows, head_dim = case.n_rows, case.head_dim
    reads, _ = traffic_in(student.standard_traffic(n_rows, head_dim))
    slips = {
        case.reads - 2 * n_rows**2: "S and P do not stay on the chip: count them, too.",
        case.reads - n_rows**2: "One of S and P is missing: both are read.",
        2 * n_rows**2: "Add the reads of Q, K and V.",
        case.writes: "That is the number of writes. Return reads first.",
        case.reads + case.writes: "That is reads and writes together.",
    }
    expect_moved(reads, case.reads, "numbers read", slips)


@_standard(hint="Add up the sizes of all arrays that `standard_attention` stores.")
def standard_writes_three_matrices(student: Student, case: StandardCase) -> None:
    """Standard attention writes S, P and O."""
    n_rows, head_dim = case.n_rows, case.head_dim
    _, writes = traffic_in(student.standard_traffic(n_rows, head_dim))
    slips = {
        n_rows * head_dim: "S and P do not stay on the chip: count them, too.",
        case.writes - n_rows**2: "One of S and P is missing: both are written.",
        2 * n_rows**2: "Add the writes of O.",
    }
    expect_moved(writes, case.writes, "numbers written", slips)


_first = partial(check, "flash_1_traffic", gate=True)


@_first(hint="Add up what the inner loop loads, and multiply by the number of turns.")
def first_order_reads_its_state_in_every_turn(student: Student, case: TurnsCase) -> None:
    """FlashAttention-1 reads K and V once, and Q, O, l and m in every turn of the outer loop."""
    vector, matrix = case.n_rows, case.n_rows * case.head_dim
    for tile, turns, (right, writes) in case.even_tiles():
        reads, _ = traffic_in(case.ask(student.flash_1_traffic, tile))
        slips = {
            case.right[0][0]: "That is one turn. Q, O, l and m are read in every turn.",
            right - 2 * turns * vector: "Add the reads of l and m in every turn.",
            right - turns * vector: "One of l and m is missing: both are read in every turn.",
            right - turns * matrix: "One of Q and O is missing: both are read in every turn.",
            right - 2 * matrix: "Add the reads of K and V.",
            right - matrix: "One of K and V is missing: both are read.",
            right + 2 * (turns - 1) * matrix: "The outer loop reads each tile of K and V once.",
            writes: "That is the number of writes. Return reads first.",
        }
        expect_moved(reads, right, f"numbers read {in_turns(turns)}", slips)


@_first(hint="Add up what the inner loop stores, and multiply by the number of turns.")
def first_order_writes_its_state_in_every_turn(student: Student, case: TurnsCase) -> None:
    """Each turn of FlashAttention-1 writes O, l and m once."""
    (_, wide), (_, narrow) = case.right[1:]
    (_, few), (_, many) = (
        traffic_in(case.ask(student.flash_1_traffic, tile)) for tile in (case.wide, case.narrow)
    )
    turns = case.turns(case.wide)
    slips = {
        0: "O, l and m are written in every turn.",
        turns * case.n_rows * case.head_dim: "Add the writes of l and m.",
        2 * turns * case.n_rows: "Add the writes of O.",
    }
    what = f"numbers written {in_turns(2 * turns)}, minus those {in_turns(turns)}"
    expect_moved(many - few, narrow - wide, what, slips)


@_first(hint="Add the first store of O, l and m, before the first turn.")
def first_order_writes_before_it_reads(student: Student, case: TurnsCase) -> None:
    """O, l and m are also written once before the first turn; with one turn that makes twice."""
    _, right = case.right[0]
    _, writes = traffic_in(case.ask(student.flash_1_traffic, case.n_rows))
    slips = {
        right / 2: "Add the first store of O, l and m, before the first turn.",
        right - 2 * case.n_rows: "Before the first turn l and m are stored, too.",
        right - 4 * case.n_rows: "Add the writes of l and m.",
    }
    expect_moved(writes, right, "numbers written with one tile of K", slips)


@_first(hint="Round the number of tiles up: 10 rows in tiles of 4 are 3 tiles.")
def first_order_takes_a_turn_for_a_tile_not_full(student: Student, case: TurnsCase) -> None:
    """A smaller last tile of K counts as one turn of FlashAttention-1."""

    def count(tile: int) -> float:
        return sum(traffic_in(case.ask(student.flash_1_traffic, tile)))

    expect_rounded_up(case, count, "numbers moved by FlashAttention-1")


_second = partial(check, "flash_2_traffic", gate=True)


@_second(hint="Add up what the inner loop loads, and multiply by the number of tiles of Q.")
def second_order_reads_keys_in_every_turn(student: Student, case: TurnsCase) -> None:
    """FlashAttention-2 reads Q once, and K and V in every turn of the outer loop."""
    matrix = case.n_rows * case.head_dim
    for tile, turns, (right, _) in case.even_tiles():
        reads, _ = traffic_in(case.ask(student.flash_2_traffic, tile))
        slips = {
            case.right[0][0]: "That is one turn. Every tile of Q needs all of K and V.",
            right + (turns - 1) * matrix: "The outer loop loads Q, so each tile is read once.",
            right - turns * matrix: "One of K and V is missing: both are read in every turn.",
            right - matrix: "Add the reads of Q.",
        }
        expect_moved(reads, right, f"numbers read {in_turns(turns)}", slips)


@_second(hint="Count one store of O and one store of L for each row.")
def second_order_writes_once(student: Student, case: TurnsCase) -> None:
    """FlashAttention-2 writes O and L once, however many turns there are."""
    vector, matrix = case.n_rows, case.n_rows * case.head_dim
    for tile, turns, (_, right) in case.even_tiles():
        _, writes = traffic_in(case.ask(student.flash_2_traffic, tile))
        slips = {
            matrix: "Add the writes of L.",
            matrix + 2 * vector: "L is one number for each row; l and m are not stored.",
            turns * right: "O stays on the chip until its queries have seen all keys.",
        }
        expect_moved(writes, right, f"numbers written {in_turns(turns)}", slips)


@_second(hint="Round the number of tiles up: 10 rows in tiles of 4 are 3 tiles.")
def second_order_takes_a_turn_for_a_tile_not_full(student: Student, case: TurnsCase) -> None:
    """A smaller last tile of Q counts as one turn of FlashAttention-2."""

    def count(tile: int) -> float:
        return sum(traffic_in(case.ask(student.flash_2_traffic, tile)))

    expect_rounded_up(case, count, "numbers moved by FlashAttention-2")


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
