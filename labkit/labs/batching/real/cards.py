"""The loops and the scheduler of lab 5 on the serving engine: two GPUs, or one that does all.

The servers of `labkit.labs.batching.servers` and the card of `labkit.labs.batching.card`, done on
`labkit.engine.serving` in real seconds: a pass ends when its tokens are on the host. Weights are
random, so the job says when a text ends; the tokens that the model makes are kept beside.
"""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Sequence
from contextlib import contextmanager
from dataclasses import replace
from math import inf
from typing import Any

import torch
from torch import Tensor

from labkit.labs.batching import card as cards
from labkit.labs.batching import servers
from labkit.labs.batching.driver import Loop
from labkit.labs.batching.log import DECODE, PREFILL, Event, Run, jobs_by_id
from labkit.labs.batching.real.engine import Engine, Link, Parcel, Tokens, prompt_of
from labkit.labs.batching.real.one_process import acts, keep
from labkit.labs.batching.real.servers import Clock
from labkit.labs.batching.workload import Job, Setup

NAP_S = 0.0002  # before a loop that had nothing to do is called again
SWITCH_S = 0.0001  # after which a thread lets the other have Python


class Store(servers.Store):
    """Where KV caches wait: as parcels on the second card, or in their slots if there is one."""

    def __init__(self, room: int | None, link: Link | None, run: Run) -> None:
        super().__init__(room)
        self.open = set(run.jobs)
        self.link, self.parcels = link, {}
        self.first: dict[int, int] = {}
        self._on_the_way: list[Job] = []

    def send(self, job: Job) -> None:
        """Let a KV cache leave the first card."""
        self.parcels[job.id] = self.link.send(job.id, job.n_input) if self.link else None
        self._held[job.id] = job.n_input
        self._on_the_way.append(job)

    def look(self, now_s: float) -> None:
        """See what has come."""
        while self._on_the_way:
            parcel: Parcel | None = self.parcels[self._on_the_way[0].id]
            if parcel is not None and not parcel.has_come():
                return
            self.coming.append((now_s, self._on_the_way.pop(0).id))

    def remove(self, request_id: int) -> None:
        """Forget a KV cache."""
        super().remove(request_id)
        self.parcels.pop(request_id, None)


class _OnEngine(servers.Server):
    """What the servers share. made: the model's own tokens."""

    def __init__(self, run: Run, store: Store, clock: Clock, engine: Engine, made: Tokens) -> None:
        super().__init__(run, None, store, clock)
        self.engine, self.made = engine, made

    def finish(self, request_id: int) -> None:
        """The request has all its tokens."""
        super().finish(request_id)
        self._store.open.discard(request_id)

    def _note(self, what: str, ids: Sequence[int], tokens: int = 0, seconds: float = 0.0,
              note: str = "") -> None:  # fmt: skip
        """Log what has just ended, and took these seconds."""
        end_s = self.clock.now_s
        event = Event(end_s - seconds, end_s, self.name, what, tuple(ids), tokens, note)
        self.run.log.append(event)


class PrefillServer(_OnEngine, servers.PrefillServer):
    """Computes prompts, packed, and sends their KV caches away."""

    def run_prefill(self, ids: Sequence[int]) -> list[int]:
        """The first new token of each of these requests."""
        jobs = self._batch(ids)
        self.room_taken |= {job.id: job.n_input for job in jobs}
        begin_s = self.clock.now_s
        vocab = self.engine.decoder.shape.vocab_size
        tokens = self.engine.prefill({job.id: prompt_of(job, vocab) for job in jobs})
        self._act("prefill", ids, sum(job.n_input for job in jobs), self.clock.now_s - begin_s)
        first = dict(zip(ids, tokens, strict=True))
        self._store.first |= first
        keep(self.made, first)
        return [job.token(0, self.eos) for job in jobs]

    def save_kv(self, request_id: int) -> None:
        """Send a request's KV cache to the store; it arrives there while other work goes on."""
        job, begin_s = self._job(request_id), self.clock.now_s
        self._store.send(job)
        self._act("save", [request_id], job.n_input, self.clock.now_s - begin_s)

    def free_kv(self, request_id: int) -> None:
        """Give back the room of a request here; on a card that does all, a saved cache stays."""
        super().free_kv(request_id)
        if self._store.link or request_id not in self._store.parcels:
            self.engine.free(request_id)

    def refuse(self, request_id: int, reason: str = "") -> None:
        """Refuse a request."""
        super().refuse(request_id, reason)
        self._store.open.discard(request_id)


class DecodeServer(_OnEngine, servers.DecodeServer):
    """Takes KV caches in, and makes one token per request and step."""

    def begin_step(self) -> None:
        self._store.look(self.clock.now_s)
        super().begin_step()

    def load_kv(self, request_id: int, reserve: int) -> None:
        """Put a stored KV cache into pages here, with room for `reserve` tokens in all."""
        job, begin_s = self._job(request_id), self.clock.now_s
        if type(reserve) is not int or not 0 <= reserve < servers.MAX_RESERVE:
            raise ValueError(f"wanted a number of tokens to reserve, got {reserve!r:.40}")
        if request_id not in self._store.parcels:
            raise ValueError(f"there is no stored KV cache of request {request_id}")
        if self._store.link:
            self._store.link.take_in(request_id, self._store.parcels[request_id], reserve)
        else:
            slot = self.engine.slot_of[request_id]
            self.engine.pages.reserve(slot, max(reserve, job.n_input))
        self.room_taken[request_id] = reserve
        self._n_made.setdefault(request_id, 1)
        self._act("load", [request_id], reserve, self.clock.now_s - begin_s)

    def decode_step(self, ids: Sequence[int]) -> list[int]:
        """One more token for each of these requests."""
        jobs, made, begin_s = self._batch(ids), self._n_made, self.clock.now_s
        new = self.engine.decode({i: self.made[i][-1] for i in ids})
        n_cached = sum(job.n_input + made[job.id] for job in jobs)
        self._act("decode", ids, n_cached, self.clock.now_s - begin_s)
        keep(self.made, dict(zip(ids, new, strict=True)))
        tokens = [job.token(made[job.id], self.eos) for job in jobs]
        for i in ids:
            made[i] += 1
        return tokens

    def free_kv(self, request_id: int) -> None:
        """Give back the room of a request on this server, and its pages."""
        super().free_kv(request_id)
        self.engine.free(request_id)


def serve_on_gpus(
    jobs: Sequence[Job],
    setup: Setup,
    prefill_loop: Loop,
    decode_loop: Loop,
    engines: Sequence[Engine],
    *,
    timeout_s: float = 120.0,
) -> tuple[Run, Tokens]:
    """Serve all jobs and return the log, in real seconds, and the model's own tokens.

    engines: of two cards, each with a loop of its own, in a thread of its own; or of one card that
    both loops share. timeout_s: after that no further step begins, and `run.stopped` says so.
    Raises: any exception of a loop.
    """
    run, made = Run(jobs_by_id(jobs), setup), {}
    is_apart = len(engines) > 1
    store = Store(setup.storage, Link(*engines) if is_apart else None, run)
    for engine in engines:
        engine.clear()
    clock = Clock(time.perf_counter())
    both = (
        (PrefillServer(run, store, clock, engines[0], made), prefill_loop),
        (DecodeServer(run, store, clock, engines[-1], made), decode_loop),
    )
    with _short_turns():
        if is_apart:
            _in_threads(run, store, both, clock, timeout_s)
        else:
            while _goes_on(run, store, clock, timeout_s):
                if not sum([acts(*each) for each in both]):
                    _nap(clock, [server for server, _ in both])
    _in_order(run)
    return run, made


def serve_on_gpu_card(
    jobs: Sequence[Job],
    setup: Setup,
    scheduler: Loop,
    engine: Engine,
    *,
    timeout_s: float = 120.0,
) -> tuple[Run, Tokens]:
    """As `serve_on_gpus`, with a scheduler that fills the passes of one card.

    The blocks of setup are pages of the engine, so block_size is a multiple of 16.
    """
    run, made = Run(jobs_by_id(jobs), setup), {}
    engine.clear()
    card = Card(run, engine, Clock(time.perf_counter()), made)
    while not run.stopped and card.has_work():
        if card.clock.now_s > timeout_s:
            run.stopped = f"{timeout_s:g} seconds are over"
        elif not acts(card, scheduler):
            _nap(card.clock, [card])
    engine.clear()
    _in_order(run)
    return run, made


class Card(cards.Card):
    """One card of `labkit.labs.batching.card`, whose passes the engine makes."""

    def __init__(self, run: Run, engine: Engine, clock: Clock, made: Tokens) -> None:
        super().__init__(run, None)
        self.engine, self.clock, self.made = engine, clock, made
        self._prompts: dict[int, Tensor] = {}
        self._blocks_of: dict[int, list[int]] = {}

    def run_pass(self, pieces: Sequence[tuple]) -> list[int | None]:
        """Compute these pieces in one pass; the next token of each that ends its request's."""
        fed, made = self._checked(pieces), self.made
        self._grow(fed)
        begin_s = self.clock.now_s
        running, chunks, ends = {}, {}, {}
        for i, start, n, blocks in fed:
            slot, job = self._slot(i, start, blocks), self.run.jobs[i]
            ends[i] = start + n == job.n_input + self._n_made.get(i, 0)
            if n == 1 and start >= job.n_input:
                running[i] = (slot, made[i][start - job.n_input])
            else:
                chunks[i] = (slot, self._known(job)[start : start + n])
        new = self.engine.decoder.step(dict(running.values()), dict(chunks.values()))
        token_of = dict(zip([*running, *chunks], new, strict=True))
        seconds = self.clock.now_s - begin_s
        self._act("pass", [piece.id for piece in fed], sum(p.n for p in fed), seconds)
        self.run.log[-1] = replace(self.run.log[-1], pieces=fed)
        return self._given([piece.id for piece in fed], ends, token_of, begin_s, seconds)

    def _given(self, ids: list[int], ends: dict, token_of: dict, begin_s: float,
               seconds: float) -> list[int | None]:  # fmt: skip
        """Count the tokens and note whose they are, as the simulated card does."""
        jobs, made, tokens = self.run.jobs, self._n_made, []
        kinds: dict[tuple[str, str], list[int]] = {(DECODE, "decode"): [], (PREFILL, "prefill"): []}
        for i in ids:
            tokens.append(jobs[i].token(made.get(i, 0), self.eos) if ends[i] else None)
            if ends[i]:
                kinds[(DECODE, "decode") if made.get(i) else (PREFILL, "prefill")].append(i)
                made[i] = made.get(i, 0) + 1
                keep(self.made, {i: token_of[i]})
        for (server, what), some in kinds.items():
            if some:
                n = sum(jobs[i].n_input + made[i] - 1 for i in some)
                event = Event(begin_s, begin_s + seconds, server, what, tuple(some), n)
                self.run.log.append(event)
        return tokens

    def _slot(self, i: int, start: int, blocks: Sequence[int]) -> int:
        """The slot of a request, with its pages as the scheduler says."""
        slot, pages = self.engine.take(i), self.engine.pages
        if self._blocks_of.get(i) != list(blocks):
            self._blocks_of[i] = list(blocks)
            pages.assign(slot, pages_of(blocks, self.block_size))
        if pages.n_cached[slot] != start:
            pages.rewind(slot, start)
        return slot

    def _known(self, job: Job) -> Tensor:
        """The tokens of a request: its prompt, and those that it was given."""
        if job.id not in self._prompts:
            self._prompts[job.id] = prompt_of(job, self.engine.decoder.shape.vocab_size)
        given = self.made.get(job.id)
        prompt = self._prompts[job.id]
        return torch.cat([prompt, torch.tensor(given)]) if given else prompt

    def _free(self, request_id: int) -> None:
        super()._free(request_id)
        self._blocks_of.pop(request_id, None)
        if request_id in self.engine.slot_of:  # its blocks may be another's by now
            self.engine.pages.assign(self.engine.slot_of[request_id], [])
            self.engine.free(request_id)

    def _note(self, what: str, ids: Sequence[int], tokens: int = 0, seconds: float = 0.0,
              note: str = "") -> None:  # fmt: skip
        end_s = self.clock.now_s
        event = Event(end_s - seconds, end_s, self.name, what, tuple(ids), tokens, note)
        self.run.log.append(event)


def pages_of(blocks: Sequence[int], block_size: int) -> list[int]:
    """The pages of blocks; page 0 belongs to nobody. block_size: a multiple of a page's 16."""
    n = block_size // 16
    return [1 + block * n + i for block in blocks for i in range(n)]


def _in_threads(run: Run, store: Store, both: Any, clock: Clock, timeout_s: float) -> None:
    errors: list[BaseException] = []

    def work(server: servers.Server, loop: Loop) -> None:
        try:
            while not errors and _goes_on(run, store, clock, timeout_s):
                if not acts(server, loop):
                    _nap(clock, [server])
        except BaseException as error:  # whatever a loop raises: it is the caller's
            errors.append(error)

    threads = [threading.Thread(target=work, args=each, daemon=True) for each in both]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def _goes_on(run: Run, store: Store, clock: Clock, timeout_s: float) -> bool:
    """Whether any request is neither finished nor refused, and the time is not up."""
    if clock.now_s > timeout_s:
        run.stopped = run.stopped or f"{timeout_s:g} seconds are over"
    return bool(store.open) and not run.stopped


def _nap(clock: Clock, some: Sequence[servers.Server]) -> None:
    """Sleep until something may have come."""
    next_s = min((each.next_s() for each in some), default=inf)
    time.sleep(max(0.0, min(NAP_S, next_s - clock.now_s)))


def _in_order(run: Run) -> None:
    """Calls of the loops leave the log, as in `one_process.finish`."""
    run.log[:] = sorted((e for e in run.log if e.what != "step"), key=lambda event: event.begin_s)


@contextmanager
def _short_turns() -> Any:
    """Threads take turns in Python often, so that a short step does not wait for a long one."""
    before_s = sys.getswitchinterval()
    sys.setswitchinterval(SWITCH_S)
    try:
        yield
    finally:
        sys.setswitchinterval(before_s)
