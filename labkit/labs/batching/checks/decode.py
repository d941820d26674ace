"""Checks of `DecodeLoop`; the prefill loop is ours."""

from functools import partial
from statistics import fmean

from labkit.bridge.student import Student
from labkit.checks.core import Wrong, check
from labkit.labs.batching.checks.loops import (
    WORKLOADS,
    LoadCase,
    LoopCase,
    crowded,
    expect_rules,
    n_steps_of,
    requests,
)
from labkit.labs.batching.serving.yardsticks import least_steps, most_steps

NEAR = 1.35  # mean of steps / least steps


def is_workload(case: LoopCase | LoadCase) -> bool:
    """Whether the rules are judged by this case."""
    return isinstance(case, LoopCase)


def has_bound(case: LoopCase | LoadCase) -> bool:
    """Whether the steps of this case are bounded, whatever the loop's order."""
    return isinstance(case, LoopCase) and case.is_there_at_once


def is_load(case: LoopCase | LoadCase) -> bool:
    """Whether a mean is taken over this case."""
    return isinstance(case, LoadCase)


_rule = partial(check, "DecodeLoop", applies_to=is_workload)


@_rule(hint="Who is finished leaves your list of running requests.")
def every_request_is_finished_once(student: Student, case: LoopCase) -> None:
    """No request is finished twice, or without having been loaded."""
    expect_rules(student, case, "DecodeLoop", "finished once")


@_rule(hint="The token that comes with a request is its first.")
def output_ends_where_it_should(student: Student, case: LoopCase) -> None:
    """Output ends with the end-of-text token or at the limit, the prefill's token counted."""
    expect_rules(student, case, "DecodeLoop", "ends at its limit")


@_rule(hint="Add up what is reserved for all in memory.")
def decode_memory_is_never_exceeded(student: Student, case: LoopCase) -> None:
    """What is reserved on the decode server fits its capacity."""
    expect_rules(student, case, "DecodeLoop", "decode memory")


@_rule(hint="Reserve for the prompt and all that may follow.")
def reservations_cover_growth(student: Student, case: LoopCase) -> None:
    """No KV cache outgrows what was reserved for it."""
    expect_rules(student, case, "DecodeLoop", "reservation covers growth")


@_rule(hint="Load, free in the store; at its end finish, free here.")
def caches_are_moved_and_freed_once(student: Student, case: LoopCase) -> None:
    """Each KV cache is loaded once, then freed in the store; freed here once, at its end."""
    expect_rules(student, case, "DecodeLoop", "moved once, freed once")


@_rule(hint="Nobody joins when `max_batch` requests run.")
def decode_steps_keep_their_size(student: Student, case: LoopCase) -> None:
    """No decode step has more than `max_batch` requests."""
    expect_rules(student, case, "DecodeLoop", "decode batch size")


@_rule(hint="One step for all that run, each of them once.")
def everybody_runs_in_every_step(student: Student, case: LoopCase) -> None:
    """Each decode step has every request that is loaded and not done, and nobody else."""
    expect_rules(student, case, "DecodeLoop", "everybody runs")


@_rule(hint="Finish and free right after the step that made the last token.")
def who_is_done_leaves_at_once(student: Student, case: LoopCase) -> None:
    """At a decode step nobody who is done is in the batch or in memory."""
    expect_rules(student, case, "DecodeLoop", "done leave at once")


@_rule(hint="Let requests in before every step, not only into an empty batch.", weight=4)
def who_fits_joins_at_the_next_step(student: Student, case: LoopCase) -> None:
    """No decode step starts without the oldest waiting request if that one fits."""
    expect_rules(student, case, "DecodeLoop", "who fits joins")


@_rule(
    hint="Return after a step: what comes meanwhile is in the next call's `arrivals()`.", weight=2
)
def one_call_makes_one_step(student: Student, case: LoopCase) -> None:
    """A call of `step` makes at most one decode step, so that whoever comes is seen at once."""
    expect_rules(student, case, "DecodeLoop", "one step in a call")


@_rule(hint="Do not wait for more requests: those that are there can run.")
def decode_never_idles_beside_work(student: Student, case: LoopCase) -> None:
    """No call does nothing while a request is loaded, or waits and fits."""
    expect_rules(student, case, "DecodeLoop", "no idle decode")


@_rule(hint="Keep who does not fit yet, and try again.")
def decode_serves_to_the_end(student: Student, case: LoopCase) -> None:
    """The run goes on until every request is finished or refused, and then ends."""
    expect_rules(student, case, "DecodeLoop", "all is served")


@check("DecodeLoop", hint="Reserve a request's size, and no more than that.", applies_to=has_bound)
def steps_stay_below_the_bound(student: Student, case: LoopCase) -> None:
    """There are no more decode steps than letting in whoever fits can ever take."""
    n_steps, most = n_steps_of(student, case), most_steps(case.jobs, case.setup)
    if n_steps > most:
        raise Wrong("the decode steps", expected=f"at most {most}", got=str(n_steps))


@check("DecodeLoop", hint="Which room is kept that nobody will ever need?", applies_to=is_load)
def steps_are_near_the_least(student: Student, case: LoadCase) -> None:
    """On crowded workloads, decode steps are on average at most 1.35 times the least possible."""
    ratios = [
        n_steps_of(student, load) / max(1, least_steps(load.jobs, load.setup))
        for load in case.loads
    ]
    if fmean(ratios) > NEAR:
        raise Wrong(
            "the decode steps, divided by the least possible",
            expected=f"at most {NEAR} on average",
            got=f"{fmean(ratios):.2f}",
        )


_LENGTHS = [(1 + 7 * i % 20, 2 + (5 * i + i // 7) % 11) for i in range(30)]

LOADS = [LoadCase((crowded(requests(*_LENGTHS)), crowded(requests(*_LENGTHS[::-1]))))]


OPEN_CASES = {"DecodeLoop": [*WORKLOADS, *LOADS]}
