"""Checks of lab 3's predicted times.

Models are those of the fact tables, machines a few numbers; both are built where the student's code
runs, and what is expected comes with the case.
"""

from dataclasses import dataclass, field
from functools import partial
from typing import Any

from labkit.bridge.student import Proxy, Student, hold
from labkit.checks.compare import expect_number, number_in, refuse_blank, show
from labkit.checks.core import Wrong, check
from labkit.checks.slips import cause_by_replay, is_number
from labkit.labs.cache_benchmark.checks.costs import LLAMA, SINGLE_PRECISION


@dataclass(frozen=True, slots=True)
class MachineSpec:
    """A roofline by its numbers, to be built where the student's code runs."""

    bandwidth: float
    peaks: dict[str, float] = field(default_factory=dict)

    def build(self, student: Student) -> Proxy:
        name = f"{self.bandwidth / 1e9:g} GB/s"
        return hold(student.Roofline, name=name, bandwidth=self.bandwidth, peaks=self.peaks)


@dataclass(frozen=True, slots=True)
class TimeCase:
    """A generation on a machine, and the seconds it should take; kind: which rule it is about."""

    kind: str
    machine: MachineSpec
    model: str
    n_prompt: int
    n_new: int
    use_cache: bool
    expected_s: float
    launch_s: float = 0.0
    dtype: str = "float16"

    def __str__(self) -> str:
        how = "with" if self.use_cache else "without"
        return (
            f"{self.model} at {self.machine.bandwidth / 1e9:g} GB/s, {self.n_new} tokens after a "
            f"prompt of {self.n_prompt}, {how} a cache, {1e3 * self.launch_s:g} ms to launch a "
            f"pass, {self.dtype}"
        )


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


_time = partial(check, "predicted_time_s", parts=("generation_passes",))


def _seconds(student: Student, case: TimeCase, launch_s: float) -> Any:
    machine = case.machine.build(student)
    work = hold(student.ModelWork.of, case.model)
    arguments = (machine, work, case.n_prompt, case.n_new, case.use_cache)
    return student.predicted_time_s(*arguments, launch_s=launch_s, dtype=case.dtype)


def _expect_time(student: Student, case: TimeCase, why: str = "") -> None:
    got = _seconds(student, case, case.launch_s)
    factors = {1e3: "That is milliseconds: return seconds."}
    expect_number(
        got, case.expected_s, "the seconds", relative=SINGLE_PRECISION, factors=factors, why=why
    )


@_time(
    "floors",
    hint="Take the floor of each pass, and add the seconds.",
    gate=True,
)
def each_pass_has_its_own_limit(student: Student, case: TimeCase) -> None:
    """Each pass takes the longer of its own moving and computing."""
    _expect_time(student, case, "Take the longer time in each pass, and add then.")


@_time("launch", hint="Take max(launch_s, floor) in each pass.", gate=True)
def no_pass_is_shorter_than_its_launch(student: Student, case: TimeCase) -> None:
    """A pass whose floor is below the launch time takes the launch time."""

    def added_s(launch_s: float) -> float:
        """How much longer it takes because of launching."""
        with_s, without_s = (_seconds(student, case, one) for one in (launch_s, 0.0))
        return number_in(with_s, "the seconds") - number_in(without_s, "the seconds")

    slips = {
        "You add launch_s to each pass. Launching and the pass overlap, so take the longer one.": (
            lambda launch_s: case.n_new * launch_s
        ),
        "Here launch_s changes nothing. Compare it with the floor of each pass, not with their "
        "sum.": lambda launch_s: 0.0,
    }
    why = "Launching and the pass overlap, so take the longer one. Do this in every pass."
    with cause_by_replay(added_s, [(case.launch_s,)], slips):
        _expect_time(student, case, why)


@_time("uncached", hint="Pass use_cache to generation_passes.", gate=True)
def without_a_cache_passes_grow(student: Student, case: TimeCase) -> None:
    """Without a cache, each pass is a prefill, longer than the one before."""
    _expect_time(student, case)


@_time("dtype", hint="Pass dtype to pass_floor.", gate=True)
def floors_follow_the_dtype(student: Student, case: TimeCase) -> None:
    """The dtype decides the bytes of a number and the peak rate."""
    _expect_time(student, case)


def _leaves(student: Student, case: LeavingCase, launch_s: float, n_context: int, **more: str):
    """What the student says, as a plain value; None stays None."""
    machine = case.machine.build(student)
    work = hold(student.ModelWork.of, case.model)
    got = student.leaves_launch_floor_at(machine, work, launch_s, n_context, **more)
    refuse_blank(got)
    return got


def _expect_length(got: Any, expected: int, what: str) -> None:
    if got is None:
        raise Wrong(what, expected=show(expected), got="None")
    expect_number(got, expected, what)


def _length_found(student: Student, case: LeavingCase) -> float:
    """The length of the case, whichever it is: there is one."""
    got = _leaves(student, case, case.launch_s, case.n_context)
    if got is None:
        raise Wrong("the length in this context", expected="a number", got="None")
    return number_in(got, "the length in this context")


@check(
    "leaves_launch_floor_at",
    hint="Call pass_floor without cached tokens for each length.",
    gate=True,
)
def the_first_length_above_the_launch_is_found(student: Student, case: LeavingCase) -> None:
    """The result is the shortest length whose floor is above launch_s."""
    got = _leaves(student, case, case.launch_s, case.n_context)
    _expect_length(got, case.expected, "the length")


@check("leaves_launch_floor_at", hint="Try the length n_context, too.", gate=True)
def the_last_length_of_the_context_counts(student: Student, case: LeavingCase) -> None:
    """n_context itself is one of the lengths."""
    got = _leaves(student, case, case.launch_s, case.expected)
    _expect_length(got, case.expected, "the length if the context ends there")
    within = _length_found(student, case)
    if not within < case.n_context:
        what = "the length in a longer context"
        raise Wrong(what, expected=f"less than {case.n_context:,}", got=show(within))


@check("leaves_launch_floor_at", hint="Return None if no floor is longer than launch_s.", gate=True)
def none_if_no_length_leaves_it(student: Student, case: LeavingCase) -> None:
    """If no pass takes longer than its launch, the result is None."""
    for launch_s, n_context in (
        (case.above_all_s, case.n_context),
        (case.launch_s, case.expected - 1),
    ):
        got = _leaves(student, case, launch_s, n_context)
        if got is not None:
            why = _why_not_none(student, case) if launch_s == case.above_all_s else ""
            raise Wrong("if no floor is above launch_s", expected="None", got=show(got), why=why)
    _length_found(student, case)


def _why_not_none(student: Student, case: LeavingCase) -> str:
    """What is said of n_context where its floor equals the launch time, by a longer launch time."""
    times_s = (case.above_all_s, 2 * case.above_all_s)
    equal, longer = (_leaves(student, case, launch_s, case.n_context) for launch_s in times_s)
    if not is_number(equal, case.n_context):
        return ""
    if longer is None:
        return "A floor equal to the launch time is not longer than it."
    is_same = is_number(longer, case.n_context)
    return "You return n_context, also with twice that launch time." * is_same


@check("leaves_launch_floor_at", hint="Begin with length 1.", gate=True)
def one_token_can_be_too_long(student: Student, case: LeavingCase) -> None:
    """If moving the weights takes longer than launching, the result is 1."""
    got = _leaves(student, case, case.below_all_s, case.n_context)
    _expect_length(got, 1, "the length if every floor is above launch_s")
    longer = _length_found(student, case)
    if not longer > 1:
        raise Wrong(
            "the length if launching takes longer", expected="more than 1", got=show(longer)
        )


@check("leaves_launch_floor_at", hint="Pass dtype to pass_floor.", gate=True)
def the_floor_of_the_dtype_is_taken(student: Student, case: LeavingCase) -> None:
    """The dtype changes the length: in float32 it is shorter."""
    got = _leaves(student, case, case.launch_s, case.n_context, dtype="float32")
    _expect_length(got, case.float32_expected, "the length in float32")


_MACHINE = MachineSpec(bandwidth=300e9, peaks={"float16": 30e12, "float32": 10e12})
_RUN = (_MACHINE, LLAMA, 1000)  # a prompt of 1,000 tokens

OPEN_CASES = {
    "predicted_time_s": [
        TimeCase("floors", *_RUN, 5, True, 0.10047368615253334),
        TimeCase("launch", *_RUN, 5, True, 0.14708063655253334, launch_s=0.02),
        TimeCase("uncached", *_RUN, 5, False, 0.3360957248853333),
        TimeCase("dtype", *_RUN, 1, True, 0.2012419096576, dtype="float32"),
    ],
    "leaves_launch_floor_at": [
        LeavingCase(_MACHINE, LLAMA, 0.02, 1024, 305, 0.137, 0.001, float32_expected=103),
    ],
}
