"""Bounds of both loops on crowds: in how few batches and steps is the work done?

These are what the exercises are about, and each has one that is a gate: without batches of similar
prompts `PrefillLoop` earns at most half, without continuous batching `DecodeLoop` does. So does a
loop that exceeds a memory, loses a KV cache, or idles beside work.
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
FEW, LITTLE = 1.5, 2.0  # batches and padding, over those of `grouped`

AMPLE = Setup(decode_batch=8, prefill_batch=8, tolerance=8, max_length=128)
CROWDED = Setup(decode_capacity=96, decode_batch=8, tolerance=100)


@dataclass(frozen=True, slots=True)
class LoadCase:
    """Several crowds, over which a mean is taken.

    kind: "lengths" where prompts differ, "slots" where memory is ample, "memory" where it is not.
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


def grouped(lengths: Sequence[int], setup: Setup) -> list[list[int]]:
    """Batches of prompts in order: the first one left, and those of nearly its length.

    This makes batches without memory limits.
    """
    left, batches = list(lengths), []
    while left:
        batch: list[int] = []
        for length in left:
            together = [*batch, length]
            is_alike = max(together) - min(together) <= setup.tolerance
            if is_alike and len(batch) < setup.prefill_batch:
                batch = together
        for length in batch:
            left.remove(length)
        batches.append(batch)
    return batches


def _padding(batches: Sequence[Sequence[int]]) -> int:
    return sum(max(batch) * len(batch) - sum(batch) for batch in batches)


@loop_check(
    "PrefillLoop",
    "lengths",
    hint="Add the requests within `tolerance`, of any length: they need little padding.",
    weight=3,
    gate=True,
)
def similar_prompts_share_a_batch(student: Student, case: LoadCase) -> None:
    """A crowd with ample memory is computed in few batches, with little padding.

    Both are compared with a simple loop: oldest first, with all that differ by at most tolerance.
    """
    batches: list[list[int]] = []
    simple: list[list[int]] = []
    for run in _runs(student, case, "PrefillLoop"):
        done: set[int] = set()
        for event in run.events("prefill"):
            new = set(event.ids) - done  # to compute one again is another fault
            batches += [[run.jobs[i].n_input for i in new]] if new else []
            done |= new
        simple += grouped([job.n_input for job in run.arriving if job.id in done], run.setup)
    if len(batches) > FEW * len(simple):
        what = f"the prefill batches of {sum(map(len, batches))} prompts"
        most = f"at most {FEW:g} times the {len(simple)} of a simple loop"
        is_exact = all(len(set(batch)) == 1 for batch in batches)
        why = "Each of your batches has prompts of one length only." if is_exact else ""
        cause = "too many prefill batches"
        raise Wrong(what, expected=most, got=str(len(batches)), why=why, cause=cause)
    if _padding(batches) > LITTLE * _padding(simple):
        what = f"the tokens of padding in {len(batches)} prefill batches"
        most = f"at most {LITTLE:g} times the {_padding(simple)} of a simple loop"
        raise Wrong(what, expected=most, got=str(_padding(batches)), cause="too much padding")


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
