"""The shared parts of the two loops' checks: cases, runs, and failures.

The servers, their log and the other loop are the checks' own. The student's loop is called with an
`Offer` of its server, so all that it does goes through calls that are logged here.
"""

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import wraps
from typing import Any

from labkit.bridge.helped import Helped
from labkit.bridge.requests import hold, hold_attribute
from labkit.bridge.student import Offer, Proxy, Student, StudentError
from labkit.checks.core import NotJudged, Wrong, check
from labkit.checks.wrong import Useless
from labkit.labs.batching.card import serve_on_card
from labkit.labs.batching.checks.partners import BatchByBatchDecode, OneByOnePrefill
from labkit.labs.batching.driver import serve
from labkit.labs.batching.log import CARD, DECODE, PREFILL, Run
from labkit.labs.batching.passes import replay_card
from labkit.labs.batching.replay import Fault, Rule, faults_of, in_words, replay
from labkit.labs.batching.servers import Server
from labkit.labs.batching.workload import FixedCosts, Job, Setup

OFFERED = {
    "PrefillLoop": (
        *("capacity", "max_batch", "budget", "max_length", "eos", "decode_capacity", "storage"),
        *("arrivals", "now", "free_tokens", "storage_room", "run_prefill", "save_kv", "free_kv"),
        *("finish", "refuse"),
    ),
    "Scheduler": (
        *("budget", "max_batch", "n_blocks", "block_size", "max_length", "eos", "arrivals", "now"),
        *("run_pass", "preempt", "finish", "refuse"),
    ),
    "DecodeLoop": (
        *("capacity", "max_batch", "max_length", "eos", "arrivals", "now", "free_tokens"),
        *("load_kv", "free_stored", "decode_step", "finish", "free_kv"),
    ),
}
PARTS = {
    "Scheduler": ("Request",),
    "PrefillLoop": ("Request", "RequestQueue"),
    "DecodeLoop": ("Request", "RequestQueue", "does_fit"),
}
READS = {"Scheduler": replay_card}  # how a log is read; `replay` for the others
GATES: set[str] = set()  # rules of the scheduler whose faults lead to others
RULES: dict[str, list[Rule]] = {}  # by exercise: a log is read once for all of them


@dataclass(frozen=True, slots=True, eq=False)
class LoopCase:
    """A workload, the servers for it, and the order in which the loops are called.

    Two are equal only if they are one: to compare all jobs, for each check, takes long.
    """

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
class Together:
    """All workloads of a set: together they have enough events to judge a rule."""

    workloads: tuple[LoopCase, ...]

    def __str__(self) -> str:
        return f"all {len(self.workloads)} workloads"


def requests(*lengths: tuple, every_s: float = 0.0, first_id: int = 1) -> tuple[Job, ...]:
    """Requests from (n_input, max_new) or (n_input, max_new, stops_after), `every_s` seconds."""
    jobs = (Job(first_id + i, *each) for i, each in enumerate(lengths))
    return tuple(replace(job, arrival_s=i * every_s) for i, job in enumerate(jobs))


class StudentLoop:
    """The student's loop as the driver calls it."""

    def __init__(self, made: Proxy) -> None:
        self.step = hold_attribute(made, "step")


def run_of(student: Student, case: LoopCase, exercise: str) -> Run:
    """The run of a case with the student's loop beside one of ours, played once for all checks.

    Raises: StudentError if the loop cannot be made, or is not written yet.
    """
    return student.once((exercise, case), lambda: _play(student, case, exercise))


def _play(student: Student, case: LoopCase, exercise: str) -> Run:
    theirs = StudentLoop(hold(getattr(student, exercise)))
    own = CARD if exercise == "Scheduler" else DECODE if exercise == "DecodeLoop" else PREFILL

    def offered(server: Server) -> Any:
        if server.name != own:
            return server
        attributes = {name: getattr(server, name) for name in OFFERED[exercise]}
        return Offer(attributes=attributes, name="card" if own == CARD else "server")

    more = {"costs": case.costs, "offered": offered, "errors": (StudentError,)}
    if own == CARD:
        run = serve_on_card(case.jobs, case.setup, theirs, **more)
    else:
        loops = [OneByOnePrefill(), BatchByBatchDecode()]
        loops[own == DECODE] = theirs
        more |= {"order": case.order, "seed": case.seed}
        run = serve(case.jobs, case.setup, *loops, **more)
    is_with_our_parts = isinstance(student, Helped)  # an attribute of their own may be missing
    if run.error is not None and (is_with_our_parts or run.error.is_unwritten):
        raise run.error
    return run


def rule(
    exercise: str,
    name: str,
    on: str,
    *,
    hint: str,
    weight: float = 1,
    gate: bool = False,
    also: tuple[Callable, ...] = (),
) -> Callable[[Callable], Callable]:
    """Mark a function as a rule of this name (`Rule.broken`), and make a check of it.

    on: the kinds of events at which the rule can be broken, with commas between. The check has the
    function's name and claims what the first line of its docstring says; it fails if a run breaks
    the rule, or one of those in `also`. A run that stops early is judged by what happened until
    then; but all runs together need enough work to judge (`expect_work`). If the loop raises, its
    unfinished work is no extra fault: the exception is reported instead.
    """

    def mark(broken: Callable) -> Callable:
        broken.rule = Rule(name, tuple(on.split(", ")), broken)
        rules = [each.rule for each in (broken, *also)]
        RULES.setdefault(exercise, []).extend(rules)
        if gate and exercise in READS:
            GATES.update(each.name for each in rules)

        @loop_check(exercise, hint=hint, weight=weight, gate=gate, applies_to=is_workload)
        @wraps(broken)
        def play(student: Student, case: LoopCase | Together) -> None:
            if isinstance(case, Together):
                runs = [run_of(student, each, exercise) for each in case.workloads]
                work = student.once(("work", exercise, case), lambda: work_in(runs, exercise))
                return expect_work(runs, work, exercise, broken.rule.on)
            run = run_of(student, case, exercise)
            found = student.once(("faults", exercise, case), lambda: _faults(run, exercise))
            for each in rules:
                if each.name in found:
                    fault = found[each.name]
                    if run.error is not None and fault.place == len(run.log):
                        raise run.error
                    raise Wrong(in_words(run, fault), cause=each.claim)

        broken.check = play.check
        return broken

    return mark


def _faults(run: Run, exercise: str) -> dict[str, Fault]:
    """The faults of a run; of a scheduler, none that one before it may have led to.

    It plans each pass by what it did before, so one wrong pass makes later ones wrong. Waste alone
    hides no gate.
    """
    found = faults_of(run, RULES[exercise], READS.get(exercise, replay))
    if exercise not in READS:
        return found
    first = min((fault.place for fault in found.values()), default=0)
    serious = min((found[name].place for name in GATES & found.keys()), default=len(run.log))
    return {
        name: fault
        for name, fault in found.items()
        if fault.place <= (serious if name in GATES else first)
    }


def loop_check(exercise: str, *kinds: str, **more: Any) -> Callable[[Callable], Callable]:
    """`check` for a loop; mistakes of its requests and its queue do not count."""
    return check(exercise, *kinds, parts=PARTS[exercise], **more)


def is_workload(case: Any) -> bool:
    """Whether the rules are judged by this case."""
    return isinstance(case, LoopCase | Together)


def work_in(runs: Sequence[Run], exercise: str) -> dict[str, tuple[int, int]]:
    """By kind of event, how often all runs together should have one, and how often they do."""
    work = {}
    for kind, (_, n_due_of) in WORK[exercise].items():
        n_due = n_done = 0
        for run in runs:
            wanted = n_due_of(run)
            done = Counter(i for event in run.events(kind) for i in event.ids)
            n_due += sum(wanted.values())
            n_done += sum(min(n, done[i]) for i, n in wanted.items())
        work[kind] = n_due, n_done
    return work


def expect_work(
    runs: Sequence[Run],
    work: Mapping[str, tuple[int, int]],
    exercise: str,
    kinds: Sequence[str] = (),
) -> None:
    """At least a quarter of the work was done: a loop that does nothing breaks few rules.

    work: as from `work_in`. kinds: the events to judge by. The loop's main work counts, and the
    first of these that is work.
    Raises: if less was done, what ended a run; else Useless if the main work leads to nothing, for
    the second was never done; else NotJudged.
    """
    main = next(iter(work))
    own = next((kind for kind in kinds if kind in work), main)
    for kind in dict.fromkeys((main, own)):
        (words, _), (n_due, n_done) = WORK[exercise][kind], work[kind]
        if 4 * n_done < n_due:
            for run in runs:
                if run.error is not None:
                    raise run.error
            what = words.format(n_done=n_done, n_due=n_due)
            raise (
                NotJudged(what)
                if n_done or kind == main
                else Useless(what, cause="too little was done")
            )


def _prompts(run: Run) -> dict[int, int]:
    """Each request that can be served, once."""
    return {i: 1 for i, job in run.jobs.items() if not run.setup.refuses(job)}


def _caches(run: Run) -> dict[int, int]:
    """Each request that goes to the decode server, once."""
    return dict.fromkeys(_tokens(run), 1)


def _tokens(run: Run) -> dict[int, int]:
    """The steps in which each request of the decode server has to be."""
    n_steps = {i: run.jobs[i].n_output(run.setup.max_length) - 1 for i in _prompts(run)}
    return {i: n for i, n in n_steps.items() if n}


def _on_card(run: Run) -> dict[int, int]:
    """The new tokens of each request that a card can serve."""
    setup = run.setup
    served = {i: job for i, job in run.jobs.items() if not setup.refuses_on_card(job)}
    return {i: job.n_output(setup.max_length) for i, job in served.items()}


def _once(run: Run) -> dict[int, int]:
    return dict.fromkeys(_on_card(run), 1)


WORK = {  # what there is to do, the main work first: how it is said, and how often for whom
    "PrefillLoop": {
        "prefill": ("{n_done} of {n_due} prompts were computed", _prompts),
        "save": ("{n_done} of {n_due} KV caches were saved", _caches),
    },
    "Scheduler": {
        "pass": ("{n_done} of {n_due} tokens were made", _on_card),
        "finish": ("{n_done} of {n_due} requests were finished", _once),
    },
    "DecodeLoop": {
        "decode": ("{n_done} of {n_due} tokens were made", _tokens),
        "load": ("{n_done} of {n_due} KV caches were loaded", _caches),
        "finish": ("{n_done} of {n_due} requests were finished", _caches),
    },
}
