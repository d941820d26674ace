"""Lets a prefill loop and a decode loop run: in the order of time, or in an order made to hurt.

A loop is anything with a method `step(server)`, which calls the primitives of its server. The run
ends when every request is finished or refused, after a last call of each loop if memory is still
held; or when nothing more can happen, a loop raises, or the log has grown past all measure, and
then says so.
"""

import random
from collections.abc import Callable, Sequence
from math import inf
from typing import Any, Protocol

from labkit.labs.batching.log import Run, jobs_by_id
from labkit.labs.batching.servers import (
    TOO_MANY,
    Clock,
    DecodeServer,
    PrefillServer,
    Server,
    Store,
)
from labkit.labs.batching.workload import Costs, FixedCosts, Job, Setup

ORDERS = ("by time", "prefill first", "decode first", "random")
IDLE_ROUNDS = 3  # calls of both loops in which nothing is done, before a run is given up


class Loop(Protocol):
    """One of the two loops of a scheduler."""

    def step(self, server: Any) -> Any:
        """Do what can be done now; called again and again."""


def serve(
    jobs: Sequence[Job],
    setup: Setup,
    prefill_loop: Loop,
    decode_loop: Loop,
    *,
    costs: Costs | None = None,
    order: str = "by time",
    seed: int = 0,
    shared: bool = False,
    offered: Callable[[Server], Any] = lambda server: server,
    errors: tuple[type[Exception], ...] = (),
) -> Run:
    """Serve all jobs and return the log.

    shared: both loops work on one processor and so on one clock; they take turns. offered: what a
    loop gets for a server. errors: exceptions of a loop that end the run instead of passing.
    Raises: ValueError for an unknown order.
    """
    if order not in ORDERS:
        raise ValueError(f"no order is called {order!r}; there are {', '.join(ORDERS)}")
    run, store = Run(jobs_by_id(jobs), setup), Store(setup.storage)
    clocks, costs = [Clock()] * 2 if shared else [Clock(), Clock()], costs or FixedCosts()
    servers = (
        PrefillServer(run, costs, store, clocks[0]),
        DecodeServer(run, costs, store, clocks[1]),
    )
    turns = _Turns(run, servers, store, order, random.Random(seed))
    loops = dict(zip(servers, (prefill_loop, decode_loop), strict=True))
    offers = {server: offered(server) for server in servers}
    while not run.stopped and (server := turns.next()) is not None:
        n_before = server.n_actions
        server.begin_step()
        try:
            loops[server].step(offers[server])
        except Exception as error:
            server.note_error(error)
            if not run.stopped and not isinstance(error, errors):
                raise
            run.stopped = run.stopped or f"the loop of the {server.name} raised {error}"
            run.error = run.error or error
        turns.done(server, server.n_actions > n_before)
    return run


class _Turns:
    """Whose turn it is, and when a run is over."""

    def __init__(
        self,
        run: Run,
        servers: tuple[Server, Server],
        store: Store,
        order: str,
        rng: random.Random,
    ) -> None:
        self._run, self._servers, self._store = run, servers, store
        self._order, self._rng = order, rng
        self._open, self._n_read = set(run.jobs), 0
        self._idle: set[Server] = set()
        self._last: Server | None = None
        self._n_idle_rounds = 0
        self._to_call_once_more = list(servers)
        self._most_lines = run.most_calls()

    def next(self) -> Server | None:
        """The server whose loop is called next; None if the run is over."""
        run = self._run
        for event in run.log[self._n_read :]:
            if event.what in ("finish", "refuse"):
                self._open.difference_update(event.ids)
        self._n_read = len(run.log)
        if not self._open:
            return self._last_call()
        if self._n_read > self._most_lines:
            run.stopped = TOO_MANY
            return None
        if len(self._idle) == 2 and not self._wake():
            self._n_idle_rounds += 1
            if self._n_idle_rounds >= IDLE_ROUNDS:
                some = sorted(self._open)
                run.stopped = f"nothing more is done, and request {some[0]} is not finished"
                return None
            self._idle.clear()
        self._last = self._pick([each for each in self._servers if each not in self._idle])
        return self._last

    def done(self, server: Server, acted: bool) -> None:
        """Note the effect of a loop's call; a loop that did nothing waits for the next event."""
        if acted:
            self._idle.clear()
            self._n_idle_rounds = 0
        elif not self._wait(server):
            self._idle.add(server)

    def _last_call(self) -> Server | None:
        """No request is waiting: each loop gets one call to free the memory that it still holds."""
        held = not self._store.is_empty() or any(each.room_taken for each in self._servers)
        return self._to_call_once_more.pop(0) if held and self._to_call_once_more else None

    def _wait(self, server: Server) -> bool:
        """Let a server's time pass while the other works; False if nothing will change by then."""
        other = next(each for each in self._servers if each is not server)
        until_s = min(server.next_s(), other.clock.now_s)
        if other in self._idle or until_s <= server.clock.now_s:
            return False
        server.clock.now_s = until_s
        return True

    def _pick(self, able: list[Server]) -> Server:
        if len(able) == 1:
            return able[0]
        prefill, decode = able
        match self._order:
            case "prefill first":
                return prefill
            case "decode first":
                return decode
            case "random":
                return self._rng.choice(able)
        if prefill.clock is decode.clock:
            return decode if self._last is prefill else prefill
        return prefill if prefill.clock.now_s <= decode.clock.now_s else decode

    def _wake(self) -> bool:
        """Both are idle: go on to when the next thing arrives. False if nothing will."""
        when_s = min(server.next_s() for server in self._servers)
        if when_s == inf:
            return False
        for server in self._servers:
            server.clock.now_s = max(server.clock.now_s, when_s)
        self._idle.clear()
        return True
