"""All checks of lab 06, and its open cases; the checks are written in the modules imported here."""

# Everything, so that no check can be forgotten here.
from labkit.labs.speculative.checks.answers import *  # noqa: F403
from labkit.labs.speculative.checks.answers import CASES as ANSWERS
from labkit.labs.speculative.checks.batch import *  # noqa: F403
from labkit.labs.speculative.checks.batch import CASES as BATCH
from labkit.labs.speculative.checks.distribution import *  # noqa: F403
from labkit.labs.speculative.checks.distribution import CASES as DISTRIBUTION
from labkit.labs.speculative.checks.gains import *  # noqa: F403
from labkit.labs.speculative.checks.gains import CASES as GAINS
from labkit.labs.speculative.checks.loops import *  # noqa: F403
from labkit.labs.speculative.checks.loops import CASES as LOOPS
from labkit.labs.speculative.checks.residual import *  # noqa: F403
from labkit.labs.speculative.checks.residual import CASES as RESIDUAL
from labkit.labs.speculative.checks.verify import *  # noqa: F403
from labkit.labs.speculative.checks.verify import CASES as VERIFY

PUBLIC_CASES: dict[str, list] = {
    **DISTRIBUTION,
    **RESIDUAL,
    **VERIFY,
    **LOOPS,
    **GAINS,
    **BATCH,
    **ANSWERS,
}
