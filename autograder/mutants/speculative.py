"""Wrong answers of lab 06, by the parts that its checks are written in."""

from __future__ import annotations

from autograder.mutants.speculative_distribution import DISTRIBUTION
from autograder.mutants.speculative_gains import GAINS
from autograder.mutants.speculative_loops import LOOPS
from autograder.mutants.speculative_residual import RESIDUAL
from autograder.mutants.speculative_verify import BATCH, VERIFY

MUTANTS = [*DISTRIBUTION, *RESIDUAL, *VERIFY, *LOOPS, *GAINS, *BATCH]
