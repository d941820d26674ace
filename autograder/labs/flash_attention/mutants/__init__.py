"""Wrong answers of lab 07, by the parts that its checks are written in."""

from autograder.labs.flash_attention.mutants.counts import COUNTS
from autograder.labs.flash_attention.mutants.kernels import KERNELS

MUTANTS = [*KERNELS, *COUNTS]
