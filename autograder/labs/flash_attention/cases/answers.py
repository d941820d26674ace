"""Hidden cases of lab 07's answer cells: the right functions, for whatever the student's id is."""

from labkit.checks.answers import AnswerCase
from labkit.labs.flash_attention.tiling import counts


def answer_cases() -> dict[str, list]:
    """The cases by cell."""
    return {name: [AnswerCase(name, counts)] for name in ("my_head", "slide", "homework")}
