"""Wrong answers to the softmax in pieces and to the three attention functions."""

from autograder.labs.flash_attention.mutants.first import FLASH_1
from autograder.labs.flash_attention.mutants.second import FLASH_2
from autograder.labs.flash_attention.mutants.softmax import SOFTMAX
from autograder.labs.flash_attention.mutants.standard import STANDARD

KERNELS = [*SOFTMAX, *STANDARD, *FLASH_1, *FLASH_2]
