"""What attention moves and computes, in closed form: elements of HBM, and operations.

Lab 7 derives these. They stand here again so that lab 8 needs no other lab, and no torch.
"""

from math import ceil
from typing import NamedTuple


class Moved(NamedTuple):
    """Elements between HBM and the chip."""

    reads: int
    writes: int

    @property
    def total(self) -> int:
        return self.reads + self.writes


def moved_by_standard(n: int, d: int) -> Moved:
    """Standard attention: scores and weights are written and read whole."""
    return Moved(3 * n * d + 2 * n**2, n * d + 2 * n**2)


def moved_by_first(n: int, d: int, tile_kv: int) -> Moved:
    """FlashAttention 1, K and V outside; O, l and m are written before the first turn too."""
    n_turns = ceil(n / tile_kv)
    return Moved(2 * n * d + n_turns * n * (2 * d + 2), (n_turns + 1) * n * (d + 2))


def operations_of_standard(n: int, d: int) -> int:
    """Two products, and five operations for each score."""
    return n**2 * (2 * d - 1) + 5 * n**2 + n * d * (2 * n - 1)


def operations_of_first(n: int, d: int, tile_kv: int) -> int:
    """FlashAttention 1: no quotient for each score, but states to merge in each turn."""
    n_turns = ceil(n / tile_kv)
    products = n**2 * (2 * d - 1) + 2 * n**2 * d - n_turns * n * d
    return products + 4 * n**2 + n_turns * n * (4 * d + 7)
