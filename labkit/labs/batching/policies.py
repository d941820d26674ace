"""Other ways to make batches on the decode server, to hold continuous batching against.

Each is a gate in front of a decode loop. The loop sees a request only when its turn has come, and
lets it in at once, because the gate lets through no more than fit. So a gate works with any loop
that lets in all requests that fit, also a student's. Prefill and decode on one processor are no
policy, but `serve(..., shared=True)` with any of these.
"""

from collections.abc import Callable
from math import inf
from typing import Any

from labkit.batching import DecodeLoop
from labkit.labs.batching.driver import Loop

Key = Callable[[dict], Any]


class Gate:
    """Lets requests through to a decode loop as soon as they fit.

    key: those with the smallest key go first; as they came if None.
    """

    def __init__(self, loop: Loop | None = None, *, key: Key | None = None) -> None:
        self.loop = continuous(loop)
        self.waiting: list[dict] = []
        self.since_s: dict[int, float] = {}  # when each request came
        self.inside: dict[int, int] = {}  # the room that each request may come to need
        self._key = key

    def step(self, server: Any) -> None:
        """Release the allowed arrivals, and call the loop."""
        came = server.arrivals()
        self.waiting += came
        self.since_s |= dict.fromkeys((each["id"] for each in came), server.now())
        if came and self._key:
            self.waiting.sort(key=self._key)
        chosen = self.choose(server)
        if chosen:
            self.inside |= {each["id"]: size_of(each, server) for each in chosen}
            self.waiting = [each for each in self.waiting if each["id"] not in self.inside]
        self.loop.step(_BehindTheGate(server, chosen, self.inside))

    def choose(self, server: Any) -> list[dict]:
        """Who may go in now."""
        return self.fitting(server)

    def fitting(self, server: Any) -> list[dict]:
        """Those that wait and fit together, beside those inside, in order."""
        chosen: list[dict] = []
        n_slots, room = server.max_batch - len(self.inside), server.capacity
        room -= sum(self.inside.values())
        for request in self.waiting:
            if len(chosen) >= n_slots:
                break
            room -= size_of(request, server)
            if room < 0:
                break
            chosen.append(request)
        return chosen


class StaticDecodeLoop(Gate):
    """Lets requests in only when its batch is empty, and runs until all of them are done.

    A batch starts with all requests that have arrived: it is unknown whether more will come.
    """

    def choose(self, server: Any) -> list[dict]:
        """The next batch; empty while one is running."""
        return [] if self.inside else self.fitting(server)


class DynamicDecodeLoop(StaticDecodeLoop):
    """Static batches that start when they are full, or when someone has waited here for wait_s.

    A batch is full when all slots are taken, or the next request does not fit.
    """

    def __init__(self, loop: Loop | None = None, *, wait_s: float = 0.05, **order: Any) -> None:
        super().__init__(loop, **order)
        self._wait_s = wait_s

    def choose(self, server: Any) -> list[dict]:
        """The next batch if it may start; otherwise the server is asked to call again in time."""
        batch = super().choose(server)
        if len(batch) == server.max_batch or len(batch) < len(self.waiting):
            return batch
        until_s = self._wait_s + min((self.since_s[each["id"]] for each in batch), default=-inf)
        if server.now() >= until_s:
            return batch
        server.wake_at(until_s)
        return []


class _BehindTheGate:
    """A server as the loop behind a gate sees it: only those come whom the gate has let through."""

    def __init__(self, server: Any, chosen: list[dict], inside: dict[int, int]) -> None:
        self._server, self._chosen, self._inside = server, chosen, inside

    def __getattr__(self, name: str) -> Any:
        return getattr(self._server, name)

    def arrivals(self) -> list[dict]:
        chosen, self._chosen = self._chosen, []
        return chosen

    def finish(self, request_id: int) -> None:
        self._inside.pop(request_id, None)
        self._server.finish(request_id)


def size_of(request: dict, server: Any) -> int:
    """Tokens that a request may come to need: all that fit if the client did not say how many."""
    wanted, length = request["output_length"], request["input_length"]
    return server.max_length if wanted is None else min(server.max_length, length + wanted)


def shortest_first(request: dict) -> tuple[float, int]:
    """By the new tokens wanted; those that did not say come last."""
    wanted = request["output_length"]
    return inf if wanted is None else wanted, request["id"]


def continuous(loop: Loop | None = None) -> Loop:
    """No gate: the oldest that fits comes in between any two steps."""
    return DecodeLoop() if loop is None else loop


POLICIES: dict[str, Callable[..., Loop]] = {
    "continuous": continuous,
    "dynamic": DynamicDecodeLoop,
    "static": StaticDecodeLoop,
}
