"""Bounds of both loops on crowds: in how few batches and steps is the work done?

These are what the exercises are about, and each has one that is a gate: without full batches
`PrefillLoop` earns at most half, without continuous batching `DecodeLoop` does. So does a loop that
exceeds a memory, loses a KV cache, or idles beside work.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from labkit.bridge.student import Student
from labkit.checks.core import Wrong
from labkit.labs.batching.checks.loops import LoopCase, expect_work, loop_check, run_of, work_in
from labkit.labs.batching.log import Run
from labkit.labs.batching.metrics import least_steps, most_steps
from labkit.labs.batching.workload import FixedCosts, Job, Setup

NEAR = 1.35  # steps, over the least possible
FEW = 1.5  # batches, over those of `packed`

AMPLE = Setup(decode_batch=8, prefill_batch=8, prefill_budget=320, max_length=128)
CROWDED = Setup(decode_capacity=96, decode_batch=8)


@dataclass(frozen=True, slots=True)
class LoadCase:
    """Several crowds, over which a mean is taken.

    kind: "prompts" where their batches count, "slots" where memory is ample, "memory" where it is
    not.
    """

    kind: str
    loads: tuple[LoopCase, ...]

    def __str__(self) -> str:
        memory = "too little memory for all" if self.kind == "memory" else "memory for all"
        return f"{len(self.loads)} crowds, with {memory}"


def load_case(kind: str, *crowds: tuple[Job, ...]) -> LoadCase:
    """Crowds that are there at once."""
    setup, costs = CROWDED if kind == "memory" else AMPLE, FixedCosts(prefill=0.0)
    return LoadCase(
        kind, tuple(LoopCase("a crowd", jobs, setup, "prefill first", costs) for jobs in crowds)
    )


def _runs(student: Student, case: LoadCase, exercise: str) -> list[Run]:
    runs = [run_of(student, load, exercise) for load in case.loads]
    expect_work(runs, work_in(runs, exercise), exercise)
    return runs


def packed(lengths: Sequence[int], setup: Setup) -> list[list[int]]:
    """Batches of prompts in order: each is full when the next one does not fit.

    This makes batches without memory limits.
    """
    batches: list[list[int]] = []
    for length in lengths:
        batch = batches[-1] if batches else []
        has_room = sum(batch) + length <= setup.prefill_budget
        if batch and len(batch) < setup.prefill_batch and has_room:
            batch.append(length)
        else:
            batches.append([length])
    return batches


@loop_check(
    "PrefillLoop",
    "prompts",
    hint="Add requests until `budget` or `max_batch` is reached.",
    weight=3,
    gate=True,
)
def a_crowd_shares_few_batches(student: Student, case: LoadCase) -> None:
    """A crowd with ample memory is computed in few batches.

    Their number is compared with a simple loop: oldest first, until the next one does not fit.
    """
    n_batches = n_prompts = n_simple = 0
    for run in _runs(student, case, "PrefillLoop"):
        done: set[int] = set()
        for event in run.events("prefill"):
            n_batches += not done.issuperset(event.ids)  # to compute one again is another fault
            done |= {*event.ids}
        n_prompts += len(done)
        n_simple += len(packed([j.n_input for j in run.arriving if j.id in done], run.setup))
    if n_batches > FEW * n_simple:
        what = f"the prefill batches of {n_prompts} prompts"
        most = f"at most {FEW:g} times the {n_simple} of a simple loop"
        raise Wrong(what, expected=most, got=str(n_batches), cause="too many prefill batches")


def _expect_near_the_least(student: Student, case: LoadCase) -> None:
    runs = _runs(student, case, "DecodeLoop")
    n_steps = sum(1 for run in runs for _ in run.events("decode"))
    least = sum(least_steps(list(run.jobs.values()), run.setup) for run in runs)
    if n_steps > NEAR * least:
        most = f"at most {NEAR} times {least}, the smallest possible number"
        raise Wrong("the decode steps", expected=most, got=str(n_steps), cause="too many steps")


@loop_check(
    "DecodeLoop",
    "slots",
    hint="Let a waiting request join as soon as another one is done.",
    weight=3,
    gate=True,
)
def slots_are_taken_while_others_run(student: Student, case: LoadCase) -> None:
    """A crowd with ample memory takes at most 1.35 times the least possible number of steps."""
    _expect_near_the_least(student, case)


@loop_check(
    "DecodeLoop",
    "memory",
    hint="Reserve no more than size, and free it as soon as a request is done.",
)
def steps_are_near_the_least(student: Student, case: LoadCase) -> None:
    """A crowd with little memory takes at most 1.35 times the least possible number of steps."""
    _expect_near_the_least(student, case)


def has_bound(case: LoopCase) -> bool:
    """Whether the memory of this case bounds the steps, for loops of any order."""
    if not isinstance(case, LoopCase) or not case.is_there_at_once:
        return False
    sizes = [job.size(case.setup.max_length) for job in case.jobs]
    return sum(sizes) > case.setup.decode_capacity


@loop_check(
    "DecodeLoop", hint="Reserve a request's size, and no more than that.", applies_to=has_bound
)
def steps_stay_below_the_bound(student: Student, case: LoopCase) -> None:
    """There are no more decode steps than if every request that fits joins at once."""
    run = run_of(student, case, "DecodeLoop")
    expect_work([run], work_in([run], "DecodeLoop"), "DecodeLoop")
    n_steps, most = sum(1 for _ in run.events("decode")), most_steps(case.jobs, case.setup)
    if n_steps > most:
        raise Wrong("the decode steps", expected=f"at most {most}", got=str(n_steps))
