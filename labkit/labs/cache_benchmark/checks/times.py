"""Checks of lab 3's predicted times.

Models are those of the fact tables, machines a few numbers; both are built where the student's code
runs, and what is expected comes with the case.
"""

from collections.abc import Callable
from dataclasses import astuple, dataclass, field, replace
from functools import partial
from typing import Any

from labkit.bridge.requests import hold
from labkit.bridge.student import Proxy, Student
from labkit.checks.compare import expect_number
from labkit.checks.core import Wrong, check
from labkit.checks.slips import cause_by_replay, slip_in_numbers
from labkit.labs.cache_benchmark.checks.costs import LLAMA, SINGLE_PRECISION
from labkit.measuring.roofline import Floor, ModelWork, Roofline, pass_floor

_time = partial(check, "predicted_time_s", parts=("generation_passes",), gate=True)


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


def _seconds(student: Student, case: TimeCase) -> Any:
    machine, work = case.machine.build(student), hold(student.ModelWork.of, case.model)
    arguments = (machine, work, case.n_prompt, case.n_new, case.use_cache)
    given = {"launch_s": case.launch_s} if case.launch_s else {}
    given |= {"dtype": case.dtype} if case.dtype != "float16" else {}
    return student.predicted_time_s(*arguments, **given)


def _expect_time(student: Student, case: TimeCase) -> None:
    """The seconds are right, unless all of them are those of a slip that another check names."""
    probes = [(probe,) for probe in (*OPEN_CASES["predicted_time_s"], MANY_LAUNCHES, case)]
    ask = partial(_seconds, student)

    def named(probe: TimeCase) -> dict[str, float]:
        return _slips(probe)[case.kind]

    def others(probe: TimeCase) -> dict[str, float]:
        elsewhere = [slips for kind, slips in _slips(probe).items() if kind != case.kind]
        return {sentence: seconds for slips in elsewhere for sentence, seconds in slips.items()}

    with cause_by_replay(ask, probes, named, relative=SINGLE_PRECISION):
        try:
            expect_number(ask(case), case.expected_s, "the seconds", relative=SINGLE_PRECISION)
        except Wrong:
            if not slip_in_numbers(ask, probes, others, SINGLE_PRECISION):
                raise


def _floors(case: TimeCase) -> list[Floor]:
    """The floor of each pass of the generation."""
    machine, work = Roofline("the case", *astuple(case.machine)), ModelWork.of(case.model)
    lengths = range(case.n_prompt, case.n_prompt + case.n_new)
    cached = [n - 1 if case.use_cache and n > case.n_prompt else 0 for n in lengths]
    return [
        pass_floor(machine, work, n - n_cached, n_cached, dtype=case.dtype)
        for n, n_cached in zip(lengths, cached, strict=True)
    ]


def _summed(case: TimeCase, of_pass: Callable[[Floor], float]) -> float:
    """The seconds if a pass takes so long by its floor, and at least its launch."""
    return sum(max(case.launch_s, of_pass(floor)) for floor in _floors(case))


def _right_s(case: TimeCase, **changed: Any) -> float:
    """The right seconds of the case with some of its fields changed."""
    return _summed(replace(case, **changed), lambda floor: floor.seconds)


def _slips(case: TimeCase) -> dict[str, dict[str, float]]:
    """What known mistakes give, by the kind of the cases whose check names them."""
    floors = _floors(case)
    sums_s = (sum(each.moving_s for each in floors), sum(each.computing_s for each in floors))
    passes_s, launches_s = _right_s(case, launch_s=0.0), case.n_new * case.launch_s
    return {
        "floors": {
            "That is milliseconds: return seconds.": 1e3 * _right_s(case),
            "Computing takes time too. Take `seconds` of each floor, not `moving_s`.": (
                _summed(case, lambda floor: floor.moving_s)
            ),
            "Moving takes time too. Take `seconds` of each floor, not `computing_s`.": (
                _summed(case, lambda floor: floor.computing_s)
            ),
            "Moving and computing overlap. Take the longer one, not the sum.": (
                _summed(case, lambda floor: floor.moving_s + floor.computing_s)
            ),
            "Take the longest time in each pass, and then add up the passes.": (
                max(*sums_s, launches_s)
            ),
        },
        "launch": {
            "You add launch_s to each pass. "
            "Launching and the pass overlap, so take the longer one.": passes_s + launches_s,
            "You compare two sums. Compare launch_s with the floor in each pass.": max(
                passes_s, launches_s
            ),
            "Here launch_s changes nothing. "
            "Compare it with the floor of each pass, not with their sum.": passes_s,
        },
        "uncached": {
            "You always use a cache. Pass use_cache to generation_passes.": (
                _right_s(case, use_cache=True)
            ),
            "You never use a cache. Pass use_cache to generation_passes.": (
                _right_s(case, use_cache=False)
            ),
        },
        "dtype": {
            "You always take float16. Pass dtype to pass_floor.": _right_s(case, dtype="float16"),
        },
    }


@_time("floors", hint="Take the floor of each pass, and add the seconds.")
def each_pass_has_its_own_limit(student: Student, case: TimeCase) -> None:
    """Each pass takes the longer of its own moving and computing."""
    _expect_time(student, case)


@_time("launch", hint="Take max(launch_s, floor) in each pass.")
def no_pass_is_shorter_than_its_launch(student: Student, case: TimeCase) -> None:
    """A pass whose floor is below the launch time takes the launch time."""
    _expect_time(student, case)


@_time("uncached", hint="Pass use_cache to generation_passes.")
def without_a_cache_passes_grow(student: Student, case: TimeCase) -> None:
    """Without a cache, each pass is a prefill, longer than the one before."""
    _expect_time(student, case)


@_time("dtype", hint="Pass dtype to pass_floor.")
def floors_follow_the_dtype(student: Student, case: TimeCase) -> None:
    """The dtype decides the bytes of a number and the peak rate."""
    _expect_time(student, case)


MACHINE = MachineSpec(bandwidth=300e9, peaks={"float16": 30e12, "float32": 10e12})
_RUN = (MACHINE, LLAMA, 1000)  # a prompt of 1,000 tokens

# All launches together take longer than all floors, but the prefill takes longer than its launch.
MANY_LAUNCHES = TimeCase("launch", *_RUN, 9, True, 0.22708063655253334, launch_s=0.02)
OPEN_CASES = {
    "predicted_time_s": [
        TimeCase("floors", *_RUN, 5, True, 0.10047368615253334),
        TimeCase("launch", *_RUN, 5, True, 0.14708063655253334, launch_s=0.02),
        TimeCase("uncached", *_RUN, 5, False, 0.3360957248853333),
        TimeCase("dtype", *_RUN, 1, True, 0.2012419096576, dtype="float32"),
    ],
}
