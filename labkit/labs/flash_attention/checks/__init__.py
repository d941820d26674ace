"""All checks of lab 07, and its open cases; the checks are written in the modules imported here."""

# Everything, so that no check can be forgotten here.
from labkit.labs.flash_attention.checks.counts import *  # noqa: F403
from labkit.labs.flash_attention.checks.counts import CASES as COUNTS
from labkit.labs.flash_attention.checks.kernels import *  # noqa: F403
from labkit.labs.flash_attention.checks.kernels import CASES as KERNELS
from labkit.labs.flash_attention.checks.softmax import *  # noqa: F403
from labkit.labs.flash_attention.checks.softmax import CASES as SOFTMAX

PUBLIC_CASES: dict[str, list] = {**SOFTMAX, **KERNELS, **COUNTS}
