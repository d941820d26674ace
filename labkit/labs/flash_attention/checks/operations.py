"""Checks of lab 7's operations.

One fault fails one check: a mistake that is known and named by another check is not named twice.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from math import isclose

from labkit.bridge.student import Student
from labkit.checks.compare import joined, number_in
from labkit.checks.core import check
from labkit.labs.flash_attention.checks.turns import (
    EXACT,
    SizeCase,
    TurnsCase,
    expect_count,
    expect_rounded_up,
)

Added = dict[str, int]  # to the right count, by what is said of the mistake


def slip_in_counts(
    got: Sequence[float],
    right: Sequence[float],
    slips: Callable[..., Added],
    sizes: Sequence[tuple[int, ...]],
) -> str:
    """The sentences for the counts of several sizes: the mistakes that give all of them."""
    added = [slips(*each) for each in sizes]
    return joined(
        sentence
        for sentence in added[0]
        if all(
            isclose(one, wanted + each[sentence], rel_tol=EXACT)
            for one, wanted, each in zip(got, right, added, strict=True)
        )
    )


@dataclass(frozen=True, slots=True)
class OperationsCase(SizeCase):
    """Operations of standard attention with head_dim numbers in a row, and with twice as many."""

    one: int
    twice: int

    def ask(self, student: Student) -> tuple[float, float]:
        """The student's two counts."""
        one, twice = (
            number_in(student.standard_flops(*sizes), "the operations") for sizes in self.sizes()
        )
        return one, twice

    def sizes(self) -> list[tuple[int, int]]:
        """N and D of both counts."""
        return [(self.n_rows, self.head_dim), (self.n_rows, 2 * self.head_dim)]

    def slip(self, got: tuple[float, float], slips: Callable[..., Added]) -> str:
        """The sentences for both counts."""
        return slip_in_counts(got, (self.one, self.twice), slips, self.sizes())


TOO_MANY = "That is one operation too many for each score."
N_ADDITIONS = "To add n products takes n - 1 additions, not n."


def product_slips(n: int, d: int) -> Added:
    """What known mistakes with the products add to the count of standard attention, by N and D."""
    return {
        N_ADDITIONS: n * n + n * d,
        "To add the N products of weights and values takes N - 1 additions.": n * d,
        "Add the product of weights and values.": -n * d * (2 * n - 1),
        "Add the product of queries and keys.": -n * n * (2 * d - 1),
        "Count additions as well as multiplications.": -n * n * (d - 1) - n * d * (n - 1),
        "A multiplication and an addition are two operations.": (
            -((4 * n * n * d - n * n - n * d + 1) // 2)
        ),
    }


def softmax_slips(n: int, d: int) -> Added:
    """What known mistakes with the softmax add to that count."""
    five = "The softmax takes five operations for each score: there are N x N scores, not N x D."
    return {five: 5 * n * d - 5 * n * n}


_standard = partial(check, "standard_flops", gate=True)


@_standard(hint="Count n products and n - 1 sums for two vectors of n numbers.")
def wider_rows_cost_two_products(student: Student, case: OperationsCase) -> None:
    """Both matrix products count, with 2 n - 1 operations for two vectors of n numbers."""
    one, twice = got = case.ask(student)
    if case.slip(got, softmax_slips):
        return
    why = case.slip(got, product_slips)
    what = "standard_flops(N, 2 * D) - standard_flops(N, D)"
    expect_count(twice - one, case.twice - case.one, what, why=why)


@_standard(hint="Count five for each score: maximum, difference, exponential, sum, quotient.")
def each_score_costs_its_softmax(student: Student, case: OperationsCase) -> None:
    """The softmax takes five operations for each score."""
    one, twice = got = case.ask(student)
    if case.slip(got, product_slips):
        return
    right, scores = 2 * case.one - case.twice, case.n_rows**2
    slips = {
        right + scores: TOO_MANY,
        right - 5 * scores: "Add the operations of the softmax.",
        right - scores: "That is four for each score. The quotient is the fifth.",
        right - 2 * scores: "That is three for each score; the softmax takes five.",
    }
    why = case.slip(got, softmax_slips)
    are_products_right = isclose(twice - one, case.twice - case.one, rel_tol=EXACT)
    what = "2 * standard_flops(N, D) - standard_flops(N, 2 * D)"
    slips = slips if are_products_right and not why else {}
    expect_count(2 * one - twice, right, what, slips=slips, why=why)


def turn_slips(n: int, d: int, turns: int) -> Added:
    """What known mistakes with the turns add to the count of FlashAttention, by N, D and turns."""
    return {
        "Add the operations of merging: 4 D + 7 for each row of Q in each turn.": (
            -turns * n * (4 * d + 7)
        ),
        "The merging is counted once. Count it in each turn.": -(turns - 1) * n * (4 * d + 7),
        "The additions of weights times values are counted over all keys at once. In each turn, a "
        "tile of n keys takes n - 1.": (turns - 1) * n * d,
        "To add over a tile of n keys takes n - 1 additions, not n.": turns * n * d,
        N_ADDITIONS: n * n + turns * n * d,
    }


def pair_slips(n: int, d: int, turns: int) -> Added:
    """What known mistakes with each pair of a query and a key add to that count."""
    return {"Add the product of weights and values.": -2 * n * n * d + turns * n * d}


def _operations(student: Student, case: TurnsCase, tile: int) -> float:
    return number_in(case.ask(student.flash_flops, tile), "the operations")


def _slip_in_turns(case: TurnsCase, few: float, many: float, slips: Callable[..., Added]) -> str:
    """The sentences for the counts with few turns and with many."""
    sizes = [(case.n_rows, case.head_dim, case.turns(tile)) for tile in (case.wide, case.narrow)]
    return slip_in_counts((few, many), case.right[1:], slips, sizes)


_flash = partial(check, "flash_flops", gate=True)


@_flash(hint="Count 2 D - 1 and the four of the softmax for each score, and 2 D for the output.")
def pairs_cost_the_same_in_any_tiles(student: Student, case: TurnsCase) -> None:
    """The operations for each pair of a query and a key do not depend on the tiles."""
    few, many = (_operations(student, case, tile) for tile in (case.wide, case.narrow))
    if _slip_in_turns(case, few, many, turn_slips):
        return
    _, right_few, right_many = case.right
    right, scores = 2 * right_few - right_many, case.n_rows**2
    slips = {
        right + scores: TOO_MANY,
        right - scores: "That is one operation too few for each score.",
        right - 4 * scores: "Add the operations of the softmax.",
    }
    why = _slip_in_turns(case, few, many, pair_slips)
    are_turns_right = isclose(many - few, right_many - right_few, rel_tol=EXACT)
    slips = slips if are_turns_right else {}
    what = "2 * flash_flops(N, D, tile) - flash_flops(N, D, tile // 2)"
    expect_count(2 * few - many, right, what, slips=slips, why=why)


@_flash(hint="Add 4 D + 7 operations for each row of Q in each turn.")
def every_turn_merges_every_row(student: Student, case: TurnsCase) -> None:
    """Each turn merges each row of Q once, and sums over the rows of its own tile of K."""
    few, many = (_operations(student, case, tile) for tile in (case.wide, case.narrow))
    if _slip_in_turns(case, few, many, pair_slips):
        return
    _, right_few, right_many = case.right
    why = _slip_in_turns(case, few, many, turn_slips)
    why = why or "Count the merging in every turn." * (few == many)
    what = "flash_flops(N, D, tile // 2) - flash_flops(N, D, tile)"
    expect_count(many - few, right_many - right_few, what, why=why)
    what = "flash_flops(N, D, tile) - flash_flops(N, D, N)"
    expect_count(few - _operations(student, case, case.n_rows), right_few - case.right[0], what)


@_flash(hint="Round the number of tiles up: 10 rows in tiles of 4 are 3 tiles.")
def a_tile_not_full_is_merged_too(student: Student, case: TurnsCase) -> None:
    """A smaller last tile counts as one turn in the operations."""
    expect_rounded_up(case, lambda tile: _operations(student, case, tile), "operations")


OPEN_CASES = {
    "standard_flops": [OperationsCase(10, 3, 1570, 2740), OperationsCase(4, 16, 1024, 1984)],
    "flash_flops": [
        TurnsCase(60, 5, 20, 10, 11, (84120, 86760, 90720)),
        TurnsCase(28, 8, 14, 7, 9, (28308, 29176, 30912)),
    ],
}
