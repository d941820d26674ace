"""Checks, written once: played in the notebook on open cases, in the grader on hidden ones."""

from labkit.checks.core import (
    Check,
    Finding,
    Unfinished,
    Wrong,
    check,
    checks_of,
    play_check,
)
from labkit.checks.notebook import Checker, Report

__all__ = [
    "Check",
    "Checker",
    "Finding",
    "Report",
    "Unfinished",
    "Wrong",
    "check",
    "checks_of",
    "play_check",
]
