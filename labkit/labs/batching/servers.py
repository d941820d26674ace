"""The primitives that a scheduler calls. They carry out each call, and log it.

A server prevents no mistake: memory can be exceeded and freed twice here. What may not happen is
read off the log afterwards (`labkit.labs.batching.rules`), so that one mistake hides no
other. Every primitive takes and gives plain values, so that it can stand on the other side of a
wall.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from math import inf
from typing import NoReturn

from labkit.labs.batching.log import DECODE, PREFILL, Event, Run
from labkit.labs.batching.workload import Costs, Job

MAX_POLLS = 300, 40  # questions without anything done: in a step, and more for each request
MAX_RESERVE = 1 << 32
TOO_MANY = "far more calls than these requests can need"


class Clock:
    """Virtual time; two servers that share a processor share it."""

    def __init__(self) -> None:
        self.now_s = 0.0


class Server:
    """What both servers have: a clock, room, and what can be taken from now on."""

    name = ""

    def __init__(self, run: Run, costs: Costs, capacity: int, clock: Clock) -> None:
        self.run, self.costs, self.capacity, self.clock = run, costs, capacity, clock
        self.room_taken: dict[int, int] = {}
        self.coming: deque[tuple[float, int]] = deque()  # (from when on, request), in order
        self.alarm_s = inf
        self.n_actions = 0
        self.max_length, self.eos = run.setup.max_length, run.setup.eos
        self._ready: list[int] = []
        self._n_polls, self._most_polls = 0, MAX_POLLS[0] + MAX_POLLS[1] * len(run.jobs)
        self._most_actions = run.most_calls()

    def begin_step(self) -> None:
        """Called by the driver before it calls the loop."""
        ready = []
        while self.coming and self.coming[0][0] <= self.clock.now_s:
            ready.append(self.coming.popleft()[1])
        if ready:
            self._ready += ready
            self._note("ready", ready)
        self._n_polls, self.alarm_s = 0, inf
        self._note("step", ())

    def next_s(self) -> float:
        """When something comes, or the alarm rings; infinite if neither will."""
        return min(self.coming[0][0] if self.coming else inf, self.alarm_s)

    def note_error(self, error: Exception) -> None:
        """Called by the driver if the loop raises."""
        self._note("error", (), note=getattr(error, "kind", str(error))[:80])

    def arrivals(self) -> list[dict]:
        """The requests that have come since it was last asked, oldest first."""
        self._poll()
        come, self._ready = self._ready, []
        return [self._described(self.run.jobs[i]) for i in come]

    def now(self) -> float:
        """Seconds since the beginning."""
        self._poll()
        return self.clock.now_s

    def wake_at(self, when_s: float) -> None:
        """Ask to be called at this time at the latest, though nothing may have come by then."""
        self._poll()
        if not when_s > self.clock.now_s:
            raise ValueError(f"wanted a time after {self.clock.now_s}, got {when_s!r:.40}")
        self.alarm_s = when_s

    def free_tokens(self) -> int:
        """Room left on this server, in tokens."""
        self._poll()
        return self.capacity - sum(self.room_taken.values())

    def free_kv(self, request_id: int) -> None:
        """Give back the room of a request on this server."""
        self._job(request_id)
        self.room_taken.pop(request_id, None)
        self._act("free", [request_id])

    def finish(self, request_id: int) -> None:
        """The request has all its tokens."""
        self._job(request_id)
        self._act("finish", [request_id])

    def _described(self, job: Job) -> dict:
        return job.as_request()

    def _job(self, request_id: int) -> Job:
        if type(request_id) is not int or request_id not in self.run.jobs:
            raise ValueError(f"there is no request {request_id!r:.40}")
        return self.run.jobs[request_id]

    def _batch(self, ids: Sequence[int]) -> list[Job]:
        if not isinstance(ids, list | tuple) or not ids:
            raise ValueError(f"wanted a list of at least one request's id, got {ids!r:.60}")
        if len(ids) > 2 * len(self.run.jobs):
            raise ValueError(f"got {len(ids)} ids, and there are {len(self.run.jobs)} requests")
        jobs = self.run.jobs
        if {*map(type, ids)} == {int} and jobs.keys() >= {*ids}:
            return [jobs[i] for i in ids]
        return [self._job(i) for i in ids]  # raises for the first that there is not

    def _poll(self) -> None:
        self._n_polls += 1
        if self._n_polls > self._most_polls:
            self._stop(f"the loop of the {self.name} asks again and again, and does nothing")

    def _stop(self, why: str) -> NoReturn:
        """End the run, even if the loop goes on after the error."""
        self.run.stopped = self.run.stopped or why
        raise RuntimeError(why)

    def _act(self, what: str, ids: Sequence[int], tokens: int = 0, seconds: float = 0.0,
             note: str = "") -> None:  # fmt: skip
        """Something is done: it takes its time, and is noted."""
        if self.n_actions >= self._most_actions:
            self._stop(TOO_MANY)
        self._n_polls = 0
        self.n_actions += 1
        self._note(what, ids, tokens, seconds, note)
        self.clock.now_s += seconds

    def _note(self, what: str, ids: Sequence[int], tokens: int = 0, seconds: float = 0.0,
              note: str = "") -> None:  # fmt: skip
        begin_s = self.clock.now_s
        event = Event(begin_s, begin_s + seconds, self.name, what, tuple(ids), tokens, note)
        self.run.log.append(event)


class PrefillServer(Server):
    """Computes prompts, in packed batches, and saves their KV caches."""

    name = PREFILL

    def __init__(self, run: Run, costs: Costs, store: Store, clock: Clock) -> None:
        setup = run.setup
        super().__init__(run, costs, setup.prefill_capacity, clock)
        self.max_batch, self.budget = setup.prefill_batch, setup.prefill_budget
        self.decode_capacity, self.storage = setup.decode_capacity, setup.storage
        self._store = store
        self.coming.extend((job.arrival_s, job.id) for job in run.arriving)

    def storage_room(self) -> int | None:
        """Room left in the store, in tokens; None if it has no limit."""
        self._poll()
        return self._store.room()

    def run_prefill(self, ids: Sequence[int]) -> list[int]:
        """The first new token of each of these requests; takes room for all their prompts."""
        jobs = self._batch(ids)
        lengths = [job.n_input for job in jobs]
        self.room_taken |= {job.id: job.n_input for job in jobs}
        self._act("prefill", ids, sum(lengths), self.costs.prefill_s(lengths))
        return [job.token(0, self.eos) for job in jobs]

    def save_kv(self, request_id: int) -> None:
        """Send a request's KV cache to the store; it arrives there while other work goes on."""
        job = self._job(request_id)
        seconds = self.costs.transfer_s(job.n_input)
        begin_s = self.clock.now_s
        self._act("save", [request_id], job.n_input)
        self._store.put(job, begin_s + seconds)

    def refuse(self, request_id: int, reason: str = "") -> None:
        """Refuse a request: report to the client that it will not be served, and why."""
        self._job(request_id)
        self._act("refuse", [request_id], note=str(reason)[:80])


class DecodeServer(Server):
    """Takes KV caches from the store, and makes one token per request and step."""

    name = DECODE

    def __init__(self, run: Run, costs: Costs, store: Store, clock: Clock) -> None:
        super().__init__(run, costs, run.setup.decode_capacity, clock)
        self.max_batch = run.setup.decode_batch
        self._store = store
        store.coming = self.coming
        self._n_made: dict[int, int] = {}

    def load_kv(self, request_id: int, reserve: int) -> None:
        """Bring a stored KV cache here, and reserve room for `reserve` tokens in all."""
        self._job(request_id)
        if type(reserve) is not int or not 0 <= reserve < MAX_RESERVE:
            raise ValueError(f"wanted a number of tokens to reserve, got {reserve!r:.40}")
        self.room_taken[request_id] = reserve
        self._n_made.setdefault(request_id, 1)  # the prefill made the first
        self._act("load", [request_id], reserve)

    def free_stored(self, request_id: int) -> None:
        """Give back a request's room in the store."""
        self._job(request_id)
        self._store.remove(request_id)
        self._act("free stored", [request_id])

    def decode_step(self, ids: Sequence[int]) -> list[int]:
        """One more token for each of these requests."""
        jobs, made, n_cached = self._batch(ids), self._n_made, 0
        tokens = []
        for job in jobs:
            n_made = made.get(job.id, 1)
            tokens.append(job.token(n_made, self.eos))
            made[job.id] = n_made + 1
            n_cached += job.n_input + n_made
        self._act("decode", ids, n_cached, self.costs.decode_s(len(jobs), n_cached))
        return tokens

    def _described(self, job: Job) -> dict:
        return job.as_request() | {"token": job.token(0, self.eos)}


class Store:
    """Where KV caches wait between the servers."""

    def __init__(self, room: int | None) -> None:
        self._room, self._held = room, {}
        self.coming: deque[tuple[float, int]] = deque()

    def put(self, job: Job, from_s: float) -> None:
        """Hold a KV cache from now on; it can be taken from `from_s` on."""
        self._held[job.id] = job.n_input
        self.coming.append((max(from_s, self.coming[-1][0] if self.coming else 0.0), job.id))

    def remove(self, request_id: int) -> None:
        """Forget a KV cache."""
        self._held.pop(request_id, None)

    def is_empty(self) -> bool:
        """Whether no KV cache is here."""
        return not self._held

    def room(self) -> int | None:
        """Tokens that still fit."""
        return None if self._room is None else self._room - sum(self._held.values())
