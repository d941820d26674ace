"""Right answers of lab 07, by the parts that its checks are written in."""

from __future__ import annotations

from autograder.variants.flash_counts import COUNTS
from autograder.variants.flash_kernels import KERNELS

VARIANTS = [*KERNELS, *COUNTS]
