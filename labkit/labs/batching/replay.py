"""A log read again: who waited and who held what before each event, and which rules it breaks."""

import math
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field

from labkit.labs.batching.log import DECODE, PREFILL, Event, Run
from labkit.labs.batching.workload import Job


@dataclass(slots=True)
class State:
    """The state at a place in the log. All dicts are by request, oldest first.

    waiting: can be prefilled. unsent: prefilled, and neither saved nor finished yet. unsaved: those
    of them that go to the store, in tokens.
    prefill_room, stored, reserved: tokens held on the prefill server, between the servers and on
    the decode server. ready: can be loaded. running: loaded and not finished. n_tokens: new tokens
    so far. finished: by which server. refused: for what reason. hopeless: came and can never run,
    and nothing was done about it yet. n_left_out: prefill batches without a request that was the
    oldest that fits. overdue: in the batch of the last decode step, though finished or at their
    limit before it. passed: the oldest that fits when a newer one was loaded, since the last decode
    step; n_passed: for how many steps that was so. n_steps_in_call: decode steps since the decode
    loop was called, None if calls are not in the log. follows: what the next event is, "step" at
    the end.
    """

    run: Run
    waiting: dict[int, Job] = field(default_factory=dict)
    unsent: dict[int, Job] = field(default_factory=dict)
    unsaved: dict[int, int] = field(default_factory=dict)
    prefill_room: dict[int, int] = field(default_factory=dict)
    stored: dict[int, int] = field(default_factory=dict)
    saved: set[int] = field(default_factory=set)
    ready: dict[int, Job] = field(default_factory=dict)
    loaded: set[int] = field(default_factory=set)
    reserved: dict[int, int] = field(default_factory=dict)
    running: dict[int, Job] = field(default_factory=dict)
    n_tokens: dict[int, int] = field(default_factory=dict)
    finished: dict[int, str] = field(default_factory=dict)
    refused: dict[int, str] = field(default_factory=dict)
    hopeless: set[int] = field(default_factory=set)
    n_left_out: Counter[int] = field(default_factory=Counter)
    overdue: set[int] = field(default_factory=set)
    passed: set[int] = field(default_factory=set)
    n_passed: Counter[int] = field(default_factory=Counter)
    n_steps_in_call: int | None = None
    follows: str = "step"

    @property
    def does_nothing(self) -> bool:
        """Whether nothing comes of a call of a loop that begins here."""
        return self.follows in ("step", "ready")

    @property
    def prefill_free(self) -> int:
        """Room left on the prefill server."""
        return self.run.setup.prefill_capacity - sum(self.prefill_room.values())

    @property
    def store_free(self) -> float:
        """Room left in the store when all that was prefilled has been saved."""
        if self.run.setup.storage is None:
            return math.inf
        return self.run.setup.storage - sum(self.stored.values()) - sum(self.unsaved.values())

    @property
    def decode_free(self) -> int:
        """Room left on the decode server, if all had been reserved that may be needed."""
        jobs, max_length = self.run.jobs, self.run.setup.max_length
        held = (max(n, jobs[i].size(max_length)) for i, n in self.reserved.items())
        return self.run.setup.decode_capacity - sum(held)

    def n_output(self, request_id: int) -> int:
        """How many tokens a request must be given."""
        return self.run.jobs[request_id].n_output(self.run.setup.max_length)

    def n_made(self, request_id: int) -> int:
        """How many tokens a request has; one comes from the prefill."""
        return self.n_tokens.get(request_id, 1)

    def has_its_limit(self, request_id: int) -> bool:
        """Whether a request has as many tokens as it may have, wherever its text ended."""
        limit = self.run.jobs[request_id].limit(self.run.setup.max_length)
        return self.n_made(request_id) >= limit

    def oldest_to_prefill(self) -> Job | None:
        """The oldest waiting request for which there is room, here and in the store."""
        return next((job for job in self.waiting.values() if self.has_prefill_room(job)), None)

    def has_prefill_room(self, job: Job) -> bool:
        """Whether there is room for this prompt, here and in the store."""
        return job.n_input <= min(self.prefill_free, self.store_free)

    def oldest_can_join(self, n_running: int) -> Job | None:
        """The oldest request to load, if it fits beside those on the decode server."""
        oldest = next(iter(self.ready.values()), None)
        if oldest is None or n_running >= self.run.setup.decode_batch:
            return None
        return oldest if self.has_decode_room(oldest) else None

    def has_decode_room(self, job: Job) -> bool:
        """Whether all that this request may become fits on the decode server."""
        return job.size(self.run.setup.max_length) <= self.decode_free

    def room_for(self, job: Job) -> str:
        """The room that a request needs on the decode server, and the free room, in words."""
        return f"{job.size(self.run.setup.max_length)} tokens of {self.decode_free} free"

    def apply(self, event: Event) -> None:
        """Go on past an event."""
        is_new = not self.waiting.keys().isdisjoint(event.ids)  # to compute again is another fault
        if event.what == "prefill" and is_new and (oldest := self.oldest_to_prefill()) is not None:
            self.n_left_out[oldest.id] += oldest.id not in event.ids
        if event.server == DECODE and event.what == "step":
            self.n_steps_in_call = 0
        elif event.what == "decode":
            self._stepped({*event.ids, *self.running})
        for i in event.ids:
            job = self.run.jobs[i]
            match event.what, event.server:
                case "ready", server if server == PREFILL:
                    if not self.run.setup.refuses(job):
                        self.waiting[i] = job
                    elif i not in self.refused:
                        self.hopeless.add(i)
                case "ready", _:
                    self.ready[i] = job
                case "prefill", _:
                    self._prefilled(job)
                case "save", _:
                    self.stored[i] = event.tokens
                    self.saved.add(i)
                    self.unsent.pop(i, None)
                    self.unsaved.pop(i, None)
                case "free", server:
                    (self.prefill_room if server == PREFILL else self.reserved).pop(i, None)
                case "load", _:
                    self._loaded(job, event.tokens)
                case "free stored", _:
                    self.stored.pop(i, None)
                case "decode", _:
                    self.n_tokens[i] = self.n_made(i) + 1
                case "finish", server:
                    self.finished.setdefault(i, server)
                    self.unsent.pop(i, None)
                    self.unsaved.pop(i, None)
                    self.running.pop(i, None)
                case "refuse", _:
                    self.refused.setdefault(i, event.note)
                    self.waiting.pop(i, None)
                    self.hopeless.discard(i)

    def _prefilled(self, job: Job) -> None:
        self.waiting.pop(job.id, None)
        self.hopeless.discard(job.id)
        self.prefill_room[job.id] = job.n_input
        self.n_tokens.setdefault(job.id, 1)
        if job.id not in self.saved and job.id not in self.finished:
            self.unsent[job.id] = job
            if self.n_output(job.id) > 1:
                self.unsaved[job.id] = job.n_input

    def _stepped(self, in_batch: set[int]) -> None:
        if self.n_steps_in_call is not None:
            self.n_steps_in_call += 1
        self.overdue |= {i for i in in_batch if i in self.finished or self.has_its_limit(i)}
        self.n_passed.update(self.passed & self.ready.keys())
        self.passed.clear()

    def _loaded(self, job: Job, reserve: int) -> None:
        oldest = next((each for each in self.ready.values() if self.has_decode_room(each)), job)
        waiting = list(self.ready)
        if job.id in waiting and waiting.index(oldest.id) < waiting.index(job.id):
            self.passed.add(oldest.id)
        self.ready.pop(job.id, None)
        self.loaded.add(job.id)
        self.reserved[job.id] = reserve
        if job.id not in self.finished:
            self.running[job.id] = job


def replay(run: Run) -> Iterator[tuple[int, Event, State]]:
    """Each event with its place and the state before it; the last is an event called "end"."""
    state = State(run)
    for place, event in enumerate(run.log):
        state.follows = run.log[place + 1].what if place + 1 < len(run.log) else "step"
        yield place, event, state
        state.apply(event)
    end_s = run.makespan_s
    yield len(run.log), Event(end_s, end_s, "", "end"), state


@dataclass(frozen=True, slots=True)
class Rule:
    """Something that must hold in every run.

    on: the kinds of events at which it can be broken. broken: what is wrong with such an event, by
    the state before it: the request, or None, and a sentence.
    """

    name: str
    on: tuple[str, ...]
    broken: Callable[[Event, State], Iterator[tuple[int | None, str]]]

    @property
    def claim(self) -> str:
        """The rule as a sentence."""
        return self.broken.__doc__.splitlines()[0]


@dataclass(frozen=True, slots=True)
class Fault:
    """A broken rule. id: of which request, or None; place: index in the log, or its length."""

    id: int | None
    place: int
    sentence: str


def faults_of(
    run: Run, rules: Iterable[Rule], read: Callable[[Run], Iterator[tuple]] = replay
) -> dict[str, Fault]:
    """The first fault of each rule that is broken. read: gives the state before each event."""
    found, kept = {}, {rule.name: rule for rule in rules}
    for place, event, state in read(run):
        for rule in [rule for rule in kept.values() if event.what in rule.on]:
            if (first := next(rule.broken(event, state), None)) is not None:
                found[rule.name] = Fault(first[0], place, first[1])
                del kept[rule.name]
    return found


def in_words(run: Run, fault: Fault, n_lines: int = 10) -> str:
    """A fault with its time and the log before it: the last lines, or at the end those it is in."""
    if fault.place < len(run.log):
        text = f"at {run.log[fault.place].begin_s:.4f} s, {fault.sentence}"
        return f"{text}. The log up to there:\n{run.before(fault.place, n_lines)}"
    text = f"at the end, {fault.sentence}"
    if run.stopped not in ("", fault.sentence):
        text += f" (the run ended early: {run.stopped})"
    own = [str(event) for event in run.shown if fault.id in event.ids][-n_lines:]
    if own:
        return f"{text}. What the log says of request {fault.id}:\n" + "\n".join(own)
    return f"{text}. The log up to there:\n{run.before(fault.place, n_lines)}"
