"""The primitives of `servers`, done for real: on a model, in real seconds.

Prompts are computed, KV caches written to pages, moved and freed, tokens made, greedily. Room is
still only counted, so that it can be exceeded; but what nothing can be computed for raises an
error: a KV cache that is not there, or none left of the pages.
"""

import time
from collections.abc import Callable, Sequence
from typing import Any

from torch import Tensor

from labkit.labs.batching import servers
from labkit.labs.batching.log import Event, Run
from labkit.labs.batching.real.paged_model import BLOCK_SIZE, PagedModel
from labkit.labs.batching.workload import Job
from labkit.zoo import LoadedModel


class Clock:
    """Real seconds since `start_s` of `time.perf_counter`."""

    def __init__(self, start_s: float) -> None:
        self._start_s = start_s

    @property
    def now_s(self) -> float:
        """Seconds since the start."""
        return time.perf_counter() - self._start_s

    @now_s.setter
    def now_s(self, _: float) -> None:
        """Nothing to do: time passes by itself."""


class Store(servers.Store):
    """Where KV caches wait between the servers, in `caches`. first: each request's first token."""

    def __init__(self, room: int | None) -> None:
        super().__init__(room)
        self.caches: dict[int, dict[str, Tensor]] = {}
        self.first: dict[int, int] = {}

    def remove(self, request_id: int) -> None:
        """Forget a KV cache."""
        super().remove(request_id)
        self.caches.pop(request_id, None)


class _RealServer(servers.Server):
    """The shared part of both servers. keep_tokens: called with each request's new token."""

    def __init__(
        self,
        run: Run,
        loaded: LoadedModel,
        store: Store,
        clock: Clock,
        keep_tokens: Callable[[dict[int, int]], Any],
    ) -> None:
        super().__init__(run, None, store, clock)
        n_blocks = self.capacity // BLOCK_SIZE + len(run.jobs)  # of each, the last may not be full
        self._model, self._keep_tokens = PagedModel(loaded.model, n_blocks), keep_tokens
        self.eos = loaded.model.generation_config.eos_token_id

    def free_kv(self, request_id: int) -> None:
        """Give back the room of a request on this server, and its pages."""
        super().free_kv(request_id)
        self._model.free(request_id)

    def _need(self, ids: Sequence[int], cached: bool) -> None:
        if len(set(ids)) < len(ids):
            raise ValueError(f"a request is twice in the batch {list(ids)}")
        for i in ids:
            if (i in self._model.n_kept) != cached:
                has = "no" if cached else "already a"
                raise ValueError(f"the {self.name} has {has} KV cache of request {i}")

    def _note(self, what: str, ids: Sequence[int], tokens: int = 0, seconds: float = 0.0,
              note: str = "") -> None:  # fmt: skip
        """Log what has just ended, and took these seconds."""
        end_s = self.clock.now_s
        event = Event(end_s - seconds, end_s, self.name, what, tuple(ids), tokens, note)
        self.run.log.append(event)


class PrefillServer(_RealServer, servers.PrefillServer):
    """Computes prompts, in batches, and saves their KV caches."""

    def __init__(self, *shared: Any, prompts: Sequence[Sequence[int]]) -> None:
        super().__init__(*shared)
        self._prompts = prompts

    def run_prefill(self, ids: Sequence[int]) -> list[int]:
        """The first new token of each of these requests; takes room for all their prompts."""
        lengths = {job.id: job.n_input for job in self._batch(ids)}
        self._need(ids, cached=False)
        self.room_taken |= lengths
        begin_s = self.clock.now_s
        tokens = self._model.forward(ids, [self._prompts[i] for i in ids])
        self._act("prefill", ids, sum(lengths.values()), self.clock.now_s - begin_s)
        made = dict(zip(ids, tokens, strict=True))
        self._store.first |= made
        self._keep_tokens(made)
        return tokens

    def save_kv(self, request_id: int) -> None:
        """Copy a request's KV cache to the store."""
        job = self._job(request_id)
        self._need([request_id], cached=True)
        begin_s = self.clock.now_s
        self._store.caches[request_id] = self._model.read(request_id)
        self._act("save", [request_id], job.n_input, self.clock.now_s - begin_s)
        self._store.put(job, self.clock.now_s)


class DecodeServer(_RealServer, servers.DecodeServer):
    """Takes KV caches from the store, and makes one token per request and step."""

    def __init__(self, *shared: Any) -> None:
        super().__init__(*shared)
        self._last: dict[int, int] = {}  # the token that each request is fed next

    def load_kv(self, request_id: int, reserve: int) -> None:
        """Copy a stored KV cache to pages here, and count room for `reserve` tokens in all."""
        self._job(request_id)
        self._need([request_id], cached=False)
        if type(reserve) is not int or not 0 <= reserve < servers.MAX_RESERVE:
            raise ValueError(f"wanted a number of tokens to reserve, got {reserve!r:.40}")
        if request_id not in self._store.caches:
            raise ValueError(f"there is no stored KV cache of request {request_id}")
        begin_s = self.clock.now_s
        self._model.write(request_id, self._store.caches[request_id])
        self._last[request_id] = self._store.first[request_id]
        self.room_taken[request_id] = reserve
        self._act("load", [request_id], reserve, self.clock.now_s - begin_s)

    def decode_step(self, ids: Sequence[int]) -> list[int]:
        """One more token for each of these requests."""
        self._batch(ids)
        self._need(ids, cached=True)
        begin_s = self.clock.now_s
        tokens = self._model.forward(ids, [[self._last[i]] for i in ids])
        n_cached = sum(self._model.n_kept[i] for i in ids)
        self._act("decode", ids, n_cached, self.clock.now_s - begin_s)
        self._last |= zip(ids, tokens, strict=True)
        self._keep_tokens(dict(zip(ids, tokens, strict=True)))
        return tokens

    def _described(self, job: Job) -> dict:
        return job.as_request() | {"token": self._store.first[job.id]}
