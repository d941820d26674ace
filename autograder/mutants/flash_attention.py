"""Wrong answers of lab 07, by the parts that its checks are written in."""

from __future__ import annotations

from autograder.mutants.flash_counts import COUNTS
from autograder.mutants.flash_kernels import KERNELS

MUTANTS = [*KERNELS, *COUNTS]
