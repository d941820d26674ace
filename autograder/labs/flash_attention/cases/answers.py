"""Hidden cases of lab 07's answer cells: the right functions, for whatever the student's id is."""

from labkit import flash_attention as flash
from labkit.checks.answers import AnswerCase


def answer_cases() -> dict[str, list]:
    """The cases by cell."""
    return {name: [AnswerCase(name, flash)] for name in ("my_head", "slide", "homework")}
