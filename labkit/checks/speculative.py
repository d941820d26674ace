"""All checks of lab 06, and its open cases; the checks are written in the modules imported here."""

from __future__ import annotations

# Everything, so that no check can be forgotten here.
from labkit.checks.speculative_answers import *  # noqa: F403
from labkit.checks.speculative_answers import CASES as ANSWERS
from labkit.checks.speculative_batch import *  # noqa: F403
from labkit.checks.speculative_batch import CASES as BATCH
from labkit.checks.speculative_distribution import *  # noqa: F403
from labkit.checks.speculative_distribution import CASES as DISTRIBUTION
from labkit.checks.speculative_gains import *  # noqa: F403
from labkit.checks.speculative_gains import CASES as GAINS
from labkit.checks.speculative_loops import *  # noqa: F403
from labkit.checks.speculative_loops import CASES as LOOPS
from labkit.checks.speculative_residual import *  # noqa: F403
from labkit.checks.speculative_residual import CASES as RESIDUAL
from labkit.checks.speculative_verify import *  # noqa: F403
from labkit.checks.speculative_verify import CASES as VERIFY

PUBLIC_CASES: dict[str, list] = {
    **DISTRIBUTION,
    **RESIDUAL,
    **VERIFY,
    **LOOPS,
    **GAINS,
    **BATCH,
    **ANSWERS,
}
