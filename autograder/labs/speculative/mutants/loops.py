"""Wrong answers of lab 06, as students give them: the two samplers."""

from autograder.labs.speculative.mutants.alone import AUTOREGRESSIVE
from autograder.labs.speculative.mutants.chance import CHANCE
from autograder.labs.speculative.mutants.feeding import FEEDING

LOOPS = [*AUTOREGRESSIVE, *CHANCE, *FEEDING]
