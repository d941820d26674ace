"""A run told again, event by event: who waited, and who held what, before each of them."""

import math
from collections.abc import Iterator
from dataclasses import dataclass, field

from labkit.labs.batching.serving.log import DECODE, PREFILL, Event, Run
from labkit.labs.batching.serving.workload import Job


@dataclass(frozen=True, slots=True)
class Fault:
    """A broken rule. id: of which request, or None; place: index in the log, or its length."""

    id: int | None
    place: int
    sentence: str


@dataclass(slots=True)
class State:
    """What is known at a place in the log. All dicts are by request, oldest first.

    waiting: can be prefilled. unsent: prefilled, and neither saved nor finished yet. unsaved: those
    of them that go to the store, in tokens.
    prefill_room, stored, reserved: tokens held on the prefill server, between the servers and on
    the decode server. ready: can be loaded. running: loaded and not finished. n_tokens: new tokens
    so far. finished: by which server. refused: for what reason.
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
        """Room left on the decode server."""
        return self.run.setup.decode_capacity - sum(self.reserved.values())

    def n_output(self, request_id: int) -> int:
        """How many tokens a request must be given."""
        return self.run.jobs[request_id].n_output(self.run.setup.max_length)

    def n_made(self, request_id: int) -> int:
        """How many tokens a request has; one comes from the prefill."""
        return self.n_tokens.get(request_id, 1)

    def oldest_to_prefill(self) -> Job | None:
        """The oldest waiting request for which there is room, here and in the store."""
        return next((job for job in self.waiting.values() if self.has_prefill_room(job)), None)

    def has_prefill_room(self, job: Job) -> bool:
        """Whether there is room for this prompt, here and in the store."""
        return job.n_input <= min(self.prefill_free, self.store_free)

    def oldest_can_join(self, n_running: int) -> Job | None:
        """The oldest request to load, if it fits beside those on the decode server."""
        setup, oldest = self.run.setup, next(iter(self.ready.values()), None)
        if oldest is None or n_running >= setup.decode_batch:
            return None
        return oldest if oldest.size(setup.max_length) <= self.decode_free else None

    def apply(self, event: Event) -> None:
        """Go on past an event."""
        for i in event.ids:
            job = self.run.jobs[i]
            match event.what, event.server:
                case "ready", server if server == PREFILL:
                    if not self.run.setup.refuses(job):
                        self.waiting[i] = job
                case "ready", _:
                    self.ready[i] = job
                case "prefill", _:
                    self._prefilled(job, event.tokens // len(event.ids))
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

    def _prefilled(self, job: Job, room: int) -> None:
        self.waiting.pop(job.id, None)
        self.prefill_room[job.id] = room
        self.n_tokens.setdefault(job.id, 1)
        if job.id not in self.saved and job.id not in self.finished:
            self.unsent[job.id] = job
            if self.n_output(job.id) > 1:
                self.unsaved[job.id] = job.n_input

    def _loaded(self, job: Job, reserve: int) -> None:
        self.ready.pop(job.id, None)
        self.loaded.add(job.id)
        self.reserved[job.id] = reserve
        if job.id not in self.finished:
            self.running[job.id] = job


def replay(run: Run) -> Iterator[tuple[int, Event, State]]:
    """Each event with its place and the state before it; the last is an event called "end"."""
    state = State(run)
    for place, event in enumerate(run.log):
        yield place, event, state
        state.apply(event)
    end_s = run.makespan_s
    yield len(run.log), Event(end_s, end_s, "", "end"), state


def too_many(run: Run, what: str, most: int, kind: str) -> Iterator[Fault]:
    """The events of a kind with more requests than that."""
    for place, event in enumerate(run.log):
        if event.what == what and len(event.ids) > most:
            text = f"{len(event.ids)} requests are in a {kind}, which may have {most}"
            yield Fault(event.ids[0], place, text)


def idle_calls(run: Run, server: str) -> Iterator[tuple[int, State]]:
    """The calls of a server's loop in which nothing was done."""
    for place, event, state in replay(run):
        if event.what == "step" and event.server == server:
            after = run.log[place + 1].what if place + 1 < len(run.log) else "step"
            if after in ("step", "ready"):
                yield place, state


__all__ = ["DECODE", "PREFILL", "Fault", "State", "idle_calls", "replay", "too_many"]
