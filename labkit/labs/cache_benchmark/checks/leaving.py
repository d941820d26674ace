"""Checks of the length at which a pass of lab 3 leaves its launch floor.

Models and machines are as in the checks of predicted times.
"""

from dataclasses import dataclass
from functools import partial
from typing import Any

from labkit.bridge.requests import hold
from labkit.bridge.student import Student
from labkit.checks.compare import expect_number, number_in, refuse_blank, show
from labkit.checks.core import Wrong, check
from labkit.checks.slips import is_number
from labkit.labs.cache_benchmark.checks.costs import LLAMA
from labkit.labs.cache_benchmark.checks.times import MACHINE, MachineSpec

_floor = partial(check, "leaves_launch_floor_at", gate=True)


@dataclass(frozen=True, slots=True)
class LeavingCase:
    """Where the uncached pass leaves the launch floor; expected is above 1 and never the context's
    last length.

    above_all_s: a launch time that no pass of the context exceeds; below_all_s: one that the
    shortest pass does.
    """

    machine: MachineSpec
    model: str
    launch_s: float
    n_context: int
    expected: int
    above_all_s: float
    below_all_s: float
    float32_expected: int

    def __str__(self) -> str:
        return (
            f"{self.model} at {self.machine.bandwidth / 1e9:g} GB/s, "
            f"{1e3 * self.launch_s:g} ms to launch a pass, up to {self.n_context:,} tokens"
        )


def _leaves(student: Student, case: LeavingCase, launch_s: float, n_context: int, **more: str):
    """The student's result as a plain value; None stays None."""
    machine = case.machine.build(student)
    work = hold(student.ModelWork.of, case.model)
    got = student.leaves_launch_floor_at(machine, work, launch_s, n_context, **more)
    refuse_blank(got)
    return got


def _expect_length(got: Any, expected: int, what: str) -> None:
    if got is None:
        raise Wrong(what, expected=show(expected), got="None")
    short = "That is the longest length that does not take longer. Return the next one."
    expect_number(got, expected, what, slips={expected - 1: short} if expected > 1 else {})


def _length_found(student: Student, case: LeavingCase) -> float:
    """The length of the case, whichever it is: there is one."""
    got = _leaves(student, case, case.launch_s, case.n_context)
    if got is None:
        raise Wrong("the length in this context", expected="a number", got="None")
    return number_in(got, "the length in this context")


@_floor(hint="Call pass_floor without cached tokens for each length.")
def the_first_length_above_the_launch_is_found(student: Student, case: LeavingCase) -> None:
    """The result is the shortest length whose floor is above launch_s."""
    got = _leaves(student, case, case.launch_s, case.n_context)
    _expect_length(got, case.expected, "the length")


@_floor(hint="Try the length n_context, too.")
def the_last_length_of_the_context_counts(student: Student, case: LeavingCase) -> None:
    """n_context itself is one of the lengths."""
    got = _leaves(student, case, case.launch_s, case.expected)
    _expect_length(got, case.expected, "the length if the context ends there")
    within = _length_found(student, case)
    if not within < case.n_context:
        what = "the length in a longer context"
        raise Wrong(what, expected=f"less than {case.n_context:,}", got=show(within))


@_floor(hint="Return None if no floor is longer than launch_s.")
def none_if_no_length_leaves_it(student: Student, case: LeavingCase) -> None:
    """If no pass takes longer than its launch, the result is None."""
    for launch_s, n_context in (
        (case.above_all_s, case.n_context),
        (case.launch_s, case.expected - 1),
        (case.launch_s, 1),
    ):
        got = _leaves(student, case, launch_s, n_context)
        if got is not None:
            why = _why_not_none(student, case) if launch_s == case.above_all_s else ""
            raise Wrong("if no floor is above launch_s", expected="None", got=show(got), why=why)
    _length_found(student, case)


def _why_not_none(student: Student, case: LeavingCase) -> str:
    """The sentence for n_context if its floor equals the launch time, by a longer launch time."""
    times_s = (case.above_all_s, 2 * case.above_all_s)
    equal, longer = (_leaves(student, case, launch_s, case.n_context) for launch_s in times_s)
    if not is_number(equal, case.n_context):
        return ""
    if longer is None:
        return "A floor equal to the launch time is not longer than it."
    is_same = is_number(longer, case.n_context)
    return "You return n_context, also with twice that launch time." * is_same


@_floor(hint="Begin with length 1.")
def one_token_can_be_too_long(student: Student, case: LeavingCase) -> None:
    """If moving the weights takes longer than launching, the result is 1."""
    for n_context in (case.n_context, 1):
        got = _leaves(student, case, case.below_all_s, n_context)
        what = f"the length up to {n_context:,} tokens if every floor is above launch_s"
        _expect_length(got, 1, what)
    longer = _length_found(student, case)
    if not longer > 1:
        raise Wrong(
            "the length if launching takes longer", expected="more than 1", got=show(longer)
        )


@_floor(hint="Pass dtype to pass_floor.")
def the_floor_of_the_dtype_is_taken(student: Student, case: LeavingCase) -> None:
    """The dtype changes the length: in float32 it is shorter."""
    got = _leaves(student, case, case.launch_s, case.n_context, dtype="float32")
    _expect_length(got, case.float32_expected, "the length in float32")


OPEN_CASES = {
    "leaves_launch_floor_at": [
        LeavingCase(MACHINE, LLAMA, 0.02, 1024, 305, 0.137, 0.001, float32_expected=103),
    ],
}
