"""Lab 8's own closed forms are those that lab 7 derives."""

from itertools import product

import pytest

from autograder.labs.papers import attention

flash = pytest.importorskip("labkit.flash_attention", reason="a course without lab 7")
flops = pytest.importorskip("labkit.labs.flash_attention.flops")


def test_both_labs_count_alike():
    for n, d, tile in product((1, 7, 64, 1000), (1, 8, 64), (1, 5, 64, 2000)):
        assert attention.moved_by_standard(n, d).total == flash.standard_traffic(n, d).total
        moved, traffic = attention.moved_by_first(n, d, tile), flash.flash_1_traffic(n, d, tile)
        assert (moved.reads, moved.writes) == (traffic.reads, traffic.writes)
        assert attention.operations_of_standard(n, d) == flash.standard_flops(n, d)
        assert attention.operations_of_first(n, d, tile) == flops.flash_flops(n, d, tile)
