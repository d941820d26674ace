"""Wrong answers of lab 06, as students give them: the two samplers."""

from __future__ import annotations

from autograder.mutants.speculative_alone import AUTOREGRESSIVE
from autograder.mutants.speculative_chance import CHANCE
from autograder.mutants.speculative_feeding import FEEDING

LOOPS = [*AUTOREGRESSIVE, *CHANCE, *FEEDING]
