"""Wrong answers to the softmax in pieces and to the three attention functions."""

from __future__ import annotations

from autograder.mutants.flash_first import FLASH_1
from autograder.mutants.flash_second import FLASH_2
from autograder.mutants.flash_softmax import SOFTMAX
from autograder.mutants.flash_standard import STANDARD

KERNELS = [*SOFTMAX, *STANDARD, *FLASH_1, *FLASH_2]
