"""What the checks of the two loops share: cases, how one is played, and what fails.

The servers, their log and the other loop are the checks' own. The student's loop is called with an
`Offer` of its server, so all that it does goes through calls that are logged here.
"""

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any

from labkit.bridge.student import Offer, Proxy, Student, StudentError, hold, hold_attribute
from labkit.checks.core import Wrong, check
from labkit.labs.batching.checks.partners import BatchByBatchDecode, OneByOnePrefill
from labkit.labs.batching.driver import serve
from labkit.labs.batching.log import PREFILL, Run
from labkit.labs.batching.replay import Fault, Rule, faults_of, in_words
from labkit.labs.batching.servers import Server
from labkit.labs.batching.workload import FixedCosts, Job, Setup

OFFERED = {
    "PrefillLoop": (
        *("capacity", "max_batch", "tolerance", "max_length", "eos", "decode_capacity", "storage"),
        *("arrivals", "now", "free_tokens", "storage_room", "run_prefill", "save_kv", "free_kv"),
        *("finish", "refuse"),
    ),
    "DecodeLoop": (
        *("capacity", "max_batch", "max_length", "eos", "arrivals", "now", "free_tokens"),
        *("load_kv", "free_stored", "decode_step", "finish", "free_kv"),
    ),
}


@dataclass(frozen=True, slots=True)
class LoopCase:
    """A workload, the servers for it, and the order in which the loops are called."""

    name: str
    jobs: tuple[Job, ...]
    setup: Setup = field(default_factory=Setup)
    order: str = "by time"
    costs: FixedCosts = field(default_factory=FixedCosts)
    seed: int = 0

    def __str__(self) -> str:
        n_jobs = f"{len(self.jobs)} request" + ("s" if len(self.jobs) != 1 else "")
        return f"{self.name} ({n_jobs}, called {self.order})"

    @property
    def is_there_at_once(self) -> bool:
        """Whether all prompts are computed and moved before the first decode step."""
        no_time = not (self.costs.prefill or self.costs.transfer)
        no_time = no_time and not any(job.arrival_s for job in self.jobs)
        return no_time and self.order == "prefill first" and self.setup.storage is None


@dataclass(frozen=True, slots=True)
class LoadCase:
    """Several crowded workloads, over which a mean is taken."""

    loads: tuple[LoopCase, ...]

    def __str__(self) -> str:
        return f"{len(self.loads)} crowded workloads"


def crowded(jobs: tuple[Job, ...]) -> LoopCase:
    """A workload that is there at once and fills the memory; for counting decode steps."""
    setup = Setup(decode_capacity=96, decode_batch=8, tolerance=100)
    return LoopCase("crowded", jobs, setup, "prefill first", FixedCosts(prefill=0.0))


def requests(*lengths: tuple, every_s: float = 0.0, first_id: int = 1) -> tuple[Job, ...]:
    """Requests from (n_input, max_new) or (n_input, max_new, stops_after), `every_s` seconds."""
    jobs = (Job(first_id + i, *each) for i, each in enumerate(lengths))
    return tuple(replace(job, arrival_s=i * every_s) for i, job in enumerate(jobs))


class StudentLoop:
    """The student's loop as the driver calls it. error: what it raised."""

    def __init__(self, made: Proxy) -> None:
        self._step, self.error = hold_attribute(made, "step"), None

    def step(self, server: Offer) -> None:
        try:
            self._step(server)
        except StudentError as error:
            self.error = error
            raise


def run_of(student: Student, case: LoopCase, exercise: str) -> Run:
    """The run of a case with the student's loop beside one of ours, played once for all checks.

    Raises: StudentError if the loop cannot be made, or is not written yet.
    """
    return student.once((exercise, case), lambda: _play(student, case, exercise))


def _play(student: Student, case: LoopCase, exercise: str) -> Run:
    theirs = StudentLoop(hold(getattr(student, exercise)))
    is_prefill = exercise == "PrefillLoop"
    loops = (theirs, BatchByBatchDecode()) if is_prefill else (OneByOnePrefill(), theirs)

    def offered(server: Server) -> Any:
        if (server.name == PREFILL) != is_prefill:
            return server
        return Offer(attributes={name: getattr(server, name) for name in OFFERED[exercise]})

    run = serve(
        case.jobs,
        case.setup,
        *loops,
        costs=case.costs,
        order=case.order,
        seed=case.seed,
        offered=offered,
        errors=(StudentError,),
    )
    if theirs.error is not None and theirs.error.is_a("NotImplementedError"):
        raise theirs.error
    return run


def rule(
    exercise: str,
    name: str,
    on: str,
    *,
    hint: str,
    weight: float = 1,
    also: tuple[Callable, ...] = (),
) -> Callable[[Callable], Callable]:
    """Mark a function as a rule of this name (`Rule.broken`), and make a check of it.

    on: the kinds of events at which the rule can be broken, with commas between. The check has the
    function's name and claims what the first line of its docstring says; it fails if the run
    breaks the rule, or one of those in `also`, or if not half of the work was done.
    """

    def mark(broken: Callable) -> Callable:
        broken.rule = Rule(name, tuple(on.split(", ")), broken)
        rules = [each.rule for each in (broken, *also)]

        @check(exercise, hint=hint, weight=weight, applies_to=is_workload)
        @wraps(broken)
        def play(student: Student, case: LoopCase) -> None:
            run = run_of(student, case, exercise)
            found = faults_of(run, rules)
            for each in rules:
                if each.name in found:
                    raise Wrong(in_words(run, found[each.name]), cause=each.claim)
            _expect_work(run, exercise)

        broken.check = play.check
        return broken

    return mark


def is_workload(case: LoopCase | LoadCase) -> bool:
    """Whether the rules are judged by this case."""
    return isinstance(case, LoopCase)


def n_steps_of(student: Student, case: LoopCase) -> int:
    """The decode steps of a run in which at least half of the work was done."""
    run = run_of(student, case, "DecodeLoop")
    _expect_work(run, "DecodeLoop")
    return sum(1 for _ in run.events("decode"))


def _expect_work(run: Run, exercise: str) -> None:
    """At least half of what was to be done was done: an idle loop breaks few rules."""
    jobs = [job for job in run.jobs.values() if not run.setup.refuses(job)]
    if len(jobs) < 4:  # where one mistake may be all there is
        return
    if exercise == "PrefillLoop":
        n_due, n_done = len(jobs), len({i for e in run.events("prefill") for i in e.ids})
    else:
        n_due = sum(job.n_output(run.setup.max_length) - 1 for job in jobs)
        n_done = sum(len(event.ids) for event in run.events("decode"))
    if 2 * n_done < n_due:
        too_little = "not half of the work was done"
        fault = Fault(None, len(run.log), run.stopped or too_little)
        raise Wrong(in_words(run, fault), cause=too_little)


SMALL = Setup(
    prefill_capacity=96,
    decode_capacity=96,
    prefill_batch=4,
    decode_batch=4,
    tolerance=4,
    max_length=64,
)
WITH_STORE = replace(SMALL, decode_capacity=60, decode_batch=2, tolerance=100, storage=40)

WORKLOADS = [
    LoopCase("nobody comes", (), SMALL),
    LoopCase("equal lengths", requests(*[(12, 4)] * 9), SMALL, "decode first"),
    LoopCase(
        "first tokens that are the last",
        requests(
            (10, 1), (12, 5), (12, 6, 1), (63, 9), (11, 4), (61, 9), (63, None, 1), (10, 3, 2)
        ),
        SMALL,
        "random",
    ),
    LoopCase(
        "short and long prompts",
        requests((5, 3), (40, 4), (6, 2), (7, 8), (42, 3), (5, 5), (9, 2), (41, 6), every_s=0.7),
        SMALL,
    ),
    LoopCase(
        "one long prompt in a crowd of short ones",
        requests(*[(6, 2)] * 5, (40, 3), *[(5, 2)] * 12),
        replace(SMALL, prefill_batch=2),
    ),
    LoopCase(
        "some that can never run",
        requests((32, 5), (128, 3), (18, 0), (33, 6), (70, 40), (31, 4), (97, 2), (60, 36), (9, 3)),
        replace(SMALL, max_length=128),
        "prefill first",
    ),
    LoopCase(
        "a small store and a slow decode server",
        requests((10, 6), (20, 5), (12, 7), (40, 3), (9, 8), (15, 4), (41, 3), (8, 5), (12, 2)),
        WITH_STORE,
        costs=FixedCosts(prefill=0.1, transfer=0.3),
    ),
    LoopCase(
        "nobody says when to stop",
        requests(*[(4 + 3 * i % 7, None, 5 + i % 6) for i in range(14)], (4, None)),
        replace(SMALL, max_length=32, decode_batch=8),
        "prefill first",
        FixedCosts(prefill=0.0),
    ),
]
