"""Wrong answers of lab 06, by the parts that its checks are written in."""

from autograder.labs.speculative.mutants.distribution import DISTRIBUTION
from autograder.labs.speculative.mutants.gains import GAINS
from autograder.labs.speculative.mutants.loops import LOOPS
from autograder.labs.speculative.mutants.residual import RESIDUAL
from autograder.labs.speculative.mutants.verify import BATCH, VERIFY

MUTANTS = [*DISTRIBUTION, *RESIDUAL, *VERIFY, *LOOPS, *GAINS, *BATCH]
