"""All checks of lab 07, and its open cases; the checks are written in the modules imported here."""

from __future__ import annotations

# Everything, so that no check can be forgotten here.
from labkit.checks.flash_counts import *  # noqa: F403
from labkit.checks.flash_counts import CASES as COUNTS
from labkit.checks.flash_kernels import *  # noqa: F403
from labkit.checks.flash_kernels import CASES as KERNELS
from labkit.checks.flash_softmax import *  # noqa: F403
from labkit.checks.flash_softmax import CASES as SOFTMAX

PUBLIC_CASES: dict[str, list] = {**SOFTMAX, **KERNELS, **COUNTS}
