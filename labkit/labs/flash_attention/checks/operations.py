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
from labkit.labs.flash_attention.checks.turns import EXACT, SizeCase, expect_count

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


OPEN_CASES = {
    "standard_flops": [OperationsCase(10, 3, 1570, 2740), OperationsCase(4, 16, 1024, 1984)],
}
