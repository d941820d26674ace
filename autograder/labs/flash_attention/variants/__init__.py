"""Right answers of lab 07, by the parts that its checks are written in."""

from autograder.labs.flash_attention.variants.counts import COUNTS
from autograder.labs.flash_attention.variants.kernels import KERNELS

VARIANTS = [*KERNELS, *COUNTS]
