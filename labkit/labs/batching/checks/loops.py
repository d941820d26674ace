"""What the checks of the two loops share: cases, how one is played, and what fails.

The servers, their log and the other loop are the checks' own. The student's loop is called with an
`Offer` of its server, so all that it does goes through calls that are logged here.
"""

from dataclasses import dataclass, field, replace
from typing import Any

from labkit.bridge.student import Offer, Proxy, Student, StudentError, hold, hold_attribute
from labkit.checks.core import Wrong
from labkit.labs.batching.checks.partners import BatchByBatchDecode, OneByOnePrefill
from labkit.labs.batching.serving.costs import FixedCosts
from labkit.labs.batching.serving.driver import serve
from labkit.labs.batching.serving.log import PREFILL, Run
from labkit.labs.batching.serving.rules import RULES, Fault, in_words
from labkit.labs.batching.serving.servers import Server
from labkit.labs.batching.serving.workload import Job, Setup

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


def expect_rules(student: Student, case: LoopCase, exercise: str, *rules: str) -> None:
    """The run keeps these rules of `serving.rules`, and at least half of the work was done."""
    run = run_of(student, case, exercise)
    for rule in rules:
        if (fault := next(RULES[rule](run), None)) is not None:
            raise Wrong(in_words(run, fault), cause=RULES[rule].__doc__.splitlines()[0])
    _expect_work(run, exercise)


def n_steps_of(student: Student, case: LoopCase) -> int:
    """The decode steps of a run in which at least half of the work was done."""
    run = run_of(student, case, "DecodeLoop")
    _expect_work(run, "DecodeLoop")
    return sum(1 for _ in run.events("decode"))


def _expect_work(run: Run, exercise: str) -> None:
    if not _has_worked(run, exercise):
        too_little = "not half of the work was done"
        fault = Fault(None, len(run.log), run.stopped or too_little)
        raise Wrong(in_words(run, fault), cause=too_little)


def _has_worked(run: Run, exercise: str) -> bool:
    """Whether at least half of what was to be done was done: an idle loop breaks few rules."""
    jobs = [job for job in run.jobs.values() if not run.setup.refuses(job)]
    if len(jobs) < 4:  # where one mistake may be all there is
        return True
    if exercise == "PrefillLoop":
        return 2 * len({i for e in run.events("prefill") for i in e.ids}) >= len(jobs)
    n_due = sum(job.n_output(run.setup.max_length) - 1 for job in jobs)
    return 2 * sum(len(event.ids) for event in run.events("decode")) >= n_due


SMALL = Setup(
    prefill_capacity=96,
    decode_capacity=96,
    prefill_batch=4,
    decode_batch=4,
    tolerance=4,
    max_length=64,
)
WITH_STORE = Setup(
    prefill_capacity=96,
    decode_capacity=60,
    prefill_batch=4,
    decode_batch=2,
    tolerance=100,
    max_length=64,
    storage=40,
)

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
