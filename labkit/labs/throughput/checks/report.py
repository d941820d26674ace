"""Checks of the answer on the flawed report: six faults, each in an entry of its own."""

from functools import partial

from labkit.bridge.student import Student
from labkit.checks.answers import AnswerCase, choice_in, fields_of
from labkit.checks.core import Wrong, check

_report = partial(check, "flawed_report")

ENTRIES = tuple("ABCDEFGHIJKLMNOPQR")
FAULTS = (
    "cold_start",
    "impossible_row",
    "mean_of_rates",
    "wrong_unit",
    "batch_mislabelled",
    "mha_taken_for_gqa",
)


def _expect_entry(student: Student, case: AnswerCase, fault: str) -> None:
    """The entry named for a fault is named for no other, and, where that is known, has it."""
    answer = fields_of(student, case, FAULTS)
    entries = {name: choice_in(answer[name], ENTRIES, name) for name in FAULTS}
    entry = entries[fault]
    others = [name for name in FAULTS if name != fault and entries[name] == entry]
    if others:
        what = f"is named for {fault} and for {others[0]}: each fault has its own entry"
        raise Wrong(f"{entry} {what}", cause=f"one entry {what}")
    if case.right is not None and entry != case.right[fault]:
        raise Wrong(f"{entry} is not the entry with this fault", cause=f"the entry with {fault}")


@_report(hint="Look for a time that is longer than that of a run with more tokens.")
def the_cold_start_is_named(student: Student, case: AnswerCase) -> None:
    """You name one entry for the run without warm-up, and name it for no other fault."""
    _expect_entry(student, case, "cold_start")


@_report(hint="Compare the times with the floors of their passes.")
def the_impossible_row_is_named(student: Student, case: AnswerCase) -> None:
    """You name one entry for the impossible row, and name it for no other fault."""
    _expect_entry(student, case, "impossible_row")


@_report(hint="Divide all tokens of table 1 by all its seconds. Compare with the text.")
def the_mean_of_rates_is_named(student: Student, case: AnswerCase) -> None:
    """You name one entry for the mean of rates, and name it for no other fault."""
    _expect_entry(student, case, "mean_of_rates")


@_report(hint="Look for a number that is a thousand times too large.")
def the_wrong_unit_is_named(student: Student, case: AnswerCase) -> None:
    """You name one entry for the number with a wrong unit, and name it for no other fault."""
    _expect_entry(student, case, "wrong_unit")


@_report(hint="Compute batch * new tokens / seconds for each row.")
def the_mislabelled_batch_is_named(student: Student, case: AnswerCase) -> None:
    """You name one entry for the row with another batch, and name it for no other fault."""
    _expect_entry(student, case, "batch_mislabelled")


@_report(hint="Compare the text with the heads that section 7 prints for each model.")
def the_confused_heads_are_named(student: Student, case: AnswerCase) -> None:
    """You name one entry for the wrong statement on KV heads, and name it for no other fault."""
    _expect_entry(student, case, "mha_taken_for_gqa")


OPEN_CASES = {"flawed_report": [AnswerCase("flawed_report")]}
