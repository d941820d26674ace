"""Right answers of lab 06, written otherwise, by the parts that its checks are written in."""

from autograder.labs.speculative.variants.gains import GAINS
from autograder.labs.speculative.variants.loops import LOOPS
from autograder.labs.speculative.variants.steps import DISTRIBUTION, RESIDUAL
from autograder.labs.speculative.variants.verify import BATCH, VERIFY

VARIANTS = [*DISTRIBUTION, *RESIDUAL, *VERIFY, *LOOPS, *GAINS, *BATCH]
