"""Checks of lab 7's operations and seconds, and of the least tile that is worth it."""

from dataclasses import dataclass
from functools import partial

from labkit.bridge.student import Student
from labkit.checks.compare import expect_number, number_in, show
from labkit.checks.core import Wrong, check
from labkit.labs.flash_attention.checks.turns import (
    TurnsCase,
    expect_count,
    expect_rounded_up,
    two_numbers_in,
)

_expect_seconds = partial(expect_number, relative=1e-6)  # of single precision


@dataclass(frozen=True, slots=True)
class OperationsCase:
    """Operations of standard attention with head_dim numbers in a row, and with twice as many."""

    n_rows: int
    head_dim: int
    one: int
    twice: int

    def __str__(self) -> str:
        return f"N = {self.n_rows}, D = {self.head_dim}"

    def ask(self, student: Student) -> tuple[float, float]:
        """The student's two counts."""
        widths = (self.head_dim, 2 * self.head_dim)
        one, twice = (
            number_in(student.standard_flops(self.n_rows, width), "the operations")
            for width in widths
        )
        return one, twice


@check("standard_flops", hint="How many sums and products are two rows of D, and columns of N?")
def wider_rows_cost_two_products(student: Student, case: OperationsCase) -> None:
    """With rows twice as wide, both matrix products cost more, by what they multiply and add."""
    (one, twice), right = case.ask(student), case.twice - case.one
    sums = case.n_rows * case.head_dim
    both = "Both products count, and additions as multiplications do."
    slips = {
        (right + sums) / 2: both,
        (right - sums) / 2: both,
        right + sums: "N products are added up by N - 1 additions, not N.",
    }
    expect_count(twice - one, right, "operations with 2 D less those with D", slips=slips)


@check("standard_flops", hint="Largest, difference, exponential, sum, quotient.")
def each_score_costs_its_softmax(student: Student, case: OperationsCase) -> None:
    """Beside the products there are five operations for each score."""
    (one, twice), right = case.ask(student), 2 * case.one - case.twice
    scores = case.n_rows**2
    slips = {
        right + scores: "One too many for each: D products take D - 1 additions; no scale.",
        right - 5 * scores: "The softmax costs operations too.",
        right - scores: "Five operations for each score, one of them the quotient.",
        right - 2 * scores: "Five operations for each score.",
    }
    what = "twice the operations with D less those with 2 D, where most of the products cancel"
    expect_count(2 * one - twice, right, what, slips=slips)


def _operations(student: Student, case: TurnsCase, tile: int) -> float:
    return number_in(case.ask(student.flash_flops, tile), "the operations")


@check("flash_flops", hint="What happens to every pair of a query and a key, whatever the tiles?")
def pairs_cost_the_same_in_any_tiles(student: Student, case: TurnsCase) -> None:
    """What each pair of a query and a key costs does not depend on the tiles."""
    few, many = (_operations(student, case, tile) for tile in (case.wide, case.narrow))
    _, right_few, right_many = case.right
    right, scores = 2 * right_few - right_many, case.n_rows**2
    slips = {
        right + scores: "One too many for each score: four, and D - 1 additions in its product.",
        right - scores: "One too few for each score: four, and D - 1 additions in its product.",
        right - 4 * scores: "The softmax costs operations too.",
        right - case.n_rows * case.head_dim: "Sums run over a tile of K, not over all keys.",
    }
    what = "twice the operations less those with twice as many turns, where the turns cancel"
    expect_count(2 * few - many, right, what, slips=slips)


@check("flash_flops", hint="What does a tile's result cost before it is one with the last?")
def every_turn_merges_every_row(student: Student, case: TurnsCase) -> None:
    """A turn more is a merging more for each row of Q; and its sums are over fewer numbers."""
    few, many = (_operations(student, case, tile) for tile in (case.wide, case.narrow))
    _, right_few, right_many = case.right
    sums = case.turns(case.wide) * case.n_rows * case.head_dim
    slips = {
        0: "Merging happens in every turn.",
        -sums: "Merging costs operations too.",
        right_many - right_few + sums: "Sums over a tile of n keys take n - 1 additions.",
    }
    what = "operations with twice as many turns, less those before"
    expect_count(many - few, right_many - right_few, what, slips=slips)


@check("flash_flops", hint="How many tiles do 10 rows make, 4 in each?")
def a_tile_not_full_is_merged_too(student: Student, case: TurnsCase) -> None:
    """Operations follow the number of turns, also where the last tile is smaller."""
    expect_rounded_up(case, lambda tile: _operations(student, case, tile), "operations")


@dataclass(frozen=True, slots=True)
class SecondsCase:
    """Work and speeds, the seconds that either part takes, and those of both."""

    n_flops: float
    n_bytes: float
    flops_per_s: float
    bytes_per_s: float
    computing_s: float
    moving_s: float
    after_s: float
    overlap_s: float

    def __str__(self) -> str:
        return f"{self.computing_s:g} s of computing and {self.moving_s:g} s of moving"

    def ask(self, student: Student) -> tuple[float, float]:
        """The student's two times."""
        got = student.run_times(self.n_flops, self.n_bytes, self.flops_per_s, self.bytes_per_s)
        return two_numbers_in(got, "the seconds")


@check("run_times", hint="Seconds are work over speed.")
def one_after_the_other_adds_up(student: Student, case: SecondsCase) -> None:
    """First of the two: the seconds if computing and moving follow each other."""
    after_s, _ = case.ask(student)
    slips = {
        case.overlap_s: "That is how long it takes if they overlap.",
        case.computing_s + 4 * case.moving_s: "The bytes are bytes already.",
        case.computing_s: "Moving takes time too.",
        case.moving_s: "Computing takes time too.",
    }
    _expect_seconds(after_s, case.after_s, "seconds, one after the other", slips=slips)


@check("run_times", hint="Who waits for whom?")
def overlapping_work_takes_as_long_as_the_slower(student: Student, case: SecondsCase) -> None:
    """Second of the two: the seconds if computing and moving overlap perfectly."""
    _, overlap_s = case.ask(student)
    slips = {
        case.after_s: "That is how long it takes without overlap.",
        min(case.computing_s, case.moving_s): "The slower of the two decides.",
    }
    _expect_seconds(overlap_s, case.overlap_s, "seconds, overlapping", slips=slips)


@dataclass(frozen=True, slots=True)
class LeastCase:
    """The least tile with which FlashAttention-1 moves less, None if there is none.

    kind: "some"; "ends", if it is all rows or there is none; "tie", if a smaller one moves as much.
    """

    kind: str
    n_rows: int
    head_dim: int
    right: int | None

    def __str__(self) -> str:
        return f"N = {self.n_rows}, D = {self.head_dim}"

    def expect(self, student: Student, why: str = "") -> None:
        """Raise Wrong unless the student finds this tile."""
        got = student.least_tile(self.n_rows, self.head_dim)
        if self.right is None:
            if got is not None:
                raise Wrong("where no tile is enough", expected="None", got=show(got))
        elif got is None:
            raise Wrong("the least tile", expected=show(self.right), got="None", why=why)
        else:
            expect_count(got, self.right, "the least tile", why=why)


@check("least_tile", "some", hint="Compare totals, reads and writes.")
def the_least_tile_that_moves_less(student: Student, case: LeastCase) -> None:
    """The least tile_kv for which the total of FlashAttention-1 is below that of the standard."""
    case.expect(student, "Both totals count, the first writing of O, l and m included.")


@check("least_tile", "ends", hint="Try N = 1 and N = 2.")
def a_tile_may_have_all_rows_or_not_exist(student: Student, case: LeastCase) -> None:
    """A tile may have all n_rows rows; if that moves no less either, the answer is None."""
    case.expect(student)


@check("least_tile", "tie", weight=0.5, hint="Less, or as much?")
def as_much_is_not_less(student: Student, case: LeastCase) -> None:
    """A tile with which both move as much is not enough."""
    case.expect(student, "With one row less both move as much, or FlashAttention more.")


OPEN_CASES = {
    "standard_flops": [OperationsCase(10, 3, 1570, 2740), OperationsCase(4, 16, 1024, 1984)],
    "flash_flops": [
        TurnsCase(60, 5, 20, 10, 11, (84120, 86760, 90720)),
        TurnsCase(28, 8, 14, 7, 9, (28308, 29176, 30912)),
    ],
    "run_times": [
        SecondsCase(6e12, 1e12, 2e12, 5e11, computing_s=3, moving_s=2, after_s=5, overlap_s=3),
        SecondsCase(1e12, 3e12, 4e12, 1e12, 0.25, moving_s=3, after_s=3.25, overlap_s=3),
    ],
    "least_tile": [
        LeastCase("some", 61, 17, 16),
        LeastCase("some", 82, 23, 21),
        LeastCase("ends", 13, 10, 13),
        LeastCase("ends", 10, 21, None),
        LeastCase("ends", 1, 1, None),
        LeastCase("tie", 49, 10, 10),
    ],
}
