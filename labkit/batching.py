"""Continuous batching on two servers: which requests run when, and where their KV caches are.

One loop looks after the prefill server, one after the decode server. Each is called again and again
(`step`) and does what can be done now, by calling its server's primitives
(`labkit.labs.batching.servers`). The loops share nothing but the store between the servers: in
earnest they are two processes.

Requests travel as dicts {"id", "input_length", "output_length"}, lengths in tokens; output_length
is None where the client did not say. On the way to the decode server "token", the first new token,
is added.
"""

from collections import deque
from collections.abc import Callable, Sequence
from itertools import islice
from typing import Any

STATES = ("queued", "prefill", "decode", "done")
LOOK_AHEAD = 256  # requests that a loop looks through for one that fits


class Request:
    """One request: its `state` is "queued", "prefill", "decode", then "done".

    fields: {"id", "input_length", "output_length"}; the last is None if the
    client did not say.
    id, input_length: as in `fields`.
    tokens: the list of the new tokens that it has so far.
    limit: how many new tokens it may have. This is the smaller of what the
    client wants and what max_length leaves after the prompt. It is below 1 if
    there is no room for a token.
    """

    def __init__(self, fields: dict, max_length: int) -> None:
        self.id, self.input_length = fields["id"], fields["input_length"]
        room, wanted = max_length - self.input_length, fields["output_length"]
        self.limit = room if wanted is None else min(room, wanted)
        self.state = "queued"
        self.tokens: list[int] = []

    @property
    def size(self) -> int:
        """Tokens to reserve for it: its prompt, and the most new tokens."""
        return self.input_length + self.limit

    def add_token(self, token: int, eos: int) -> None:
        """Keep a new token. End of text, or the last allowed, makes it "done"."""
        self.tokens.append(token)
        if token == eos or len(self.tokens) >= self.limit:
            self.state = "done"


def does_fit(size: int, in_memory: Sequence[int], capacity: int) -> bool:
    """Whether a request fits beside those in memory. Sizes and capacity in tokens.

    Sizes are what was reserved (`Request.size`), because nobody knows when a
    request will stop. A request may fill the capacity exactly.
    """
    return size + sum(in_memory) <= capacity


class RequestQueue:
    """Requests in the order in which they came."""

    def __init__(self) -> None:
        self._requests: deque = deque()

    def __len__(self) -> int:
        return len(self._requests)

    def add(self, request: Any) -> None:
        """Put a request at the end."""
        self._requests.append(request)

    def oldest(self) -> Any:
        """The request at the front, which stays. Raises: IndexError without one."""
        return self._requests[0]

    def constrained_get(
        self,
        condition: Callable[[Any], bool],
        n_most: int | None = None,
    ) -> Any:
        """Take out and return the oldest request that meets condition(request).

        Returns None if there is no such request. All other requests keep their
        places. n_most: look only at that many requests, from the front; None
        means all.
        """
        for i, request in enumerate(islice(self._requests, n_most)):
            if condition(request):
                del self._requests[i]
                return request
        return None


class PrefillLoop:
    """Computes prompts in batches of `budget` tokens at most, and saves them.

    step(server) is called again and again. The server has these numbers:
    capacity, max_batch, budget, max_length, eos, decode_capacity, and
    storage (None without a limit). The last two only help to decide what to
    refuse. Its functions: arrivals(), free_tokens(), storage_room(),
    run_prefill(ids), save_kv(id), free_kv(id), finish(id), refuse(id, reason).
    """

    def __init__(self) -> None:
        self.waiting = RequestQueue()

    def step(self, server: Any) -> None:
        """Take what has arrived, and run one batch of those that fit."""
        for fields in server.arrivals():
            request = Request(fields, server.max_length)
            if reason := self._why_never(request, server):
                server.refuse(request.id, reason)
            else:
                self.waiting.add(request)
        batch = self._next_batch(server)
        if not batch:
            return
        for request in batch:
            request.state = "prefill"
        first = server.run_prefill([request.id for request in batch])
        for request, token in zip(batch, first, strict=True):
            request.add_token(token, server.eos)
            if request.state == "done":
                server.finish(request.id)
            else:
                server.save_kv(request.id)
            server.free_kv(request.id)

    def _why_never(self, request: Request, server: Any) -> str:
        """Why a request can never run; empty if it can."""
        if request.limit < 1:
            return "no room for a token"
        rooms = [(request.input_length, server.capacity), (request.size, server.decode_capacity)]
        rooms += [] if server.storage is None else [(request.input_length, server.storage)]
        return "too large" if any(size > room for size, room in rooms) else ""

    def _next_batch(self, server: Any) -> list[Request]:
        """The oldest request that fits, and later ones that fit beside it."""
        room, stored = server.free_tokens(), server.storage_room()
        room = room if stored is None else min(room, stored)
        batch: list[Request] = []
        n_tokens = 0

        def fits(request: Request) -> bool:
            n = n_tokens + request.input_length
            return n <= room and (not batch or n <= server.budget)

        while len(batch) < server.max_batch:
            request = self.waiting.constrained_get(fits, LOOK_AHEAD)
            if request is None:
                break
            batch.append(request)
            n_tokens += request.input_length
        return batch


class DecodeLoop:
    """Makes the tokens, in a batch that requests join and leave between steps.

    step(server) is called again and again. The server has these numbers:
    capacity, max_batch, max_length, eos. Its functions: arrivals(),
    free_tokens(), load_kv(id, reserve), free_stored(id), decode_step(ids),
    finish(id), free_kv(id).
    """

    def __init__(self) -> None:
        self.waiting = RequestQueue()
        self.running: list[Request] = []

    def step(self, server: Any) -> None:
        """Let in what fits, make one token for each, let out the finished ones."""
        for fields in server.arrivals():
            request = Request(fields, server.max_length)
            request.add_token(fields["token"], server.eos)
            self.waiting.add(request)
        self._let_in(server)
        if not self.running:
            return
        tokens = server.decode_step([request.id for request in self.running])
        for request, token in zip(self.running, tokens, strict=True):
            request.add_token(token, server.eos)
            if request.state == "done":
                server.finish(request.id)
                server.free_kv(request.id)
        self.running = [request for request in self.running if request.state != "done"]

    def _let_in(self, server: Any) -> None:
        in_memory = [request.size for request in self.running]

        def fits(request: Request) -> bool:
            return does_fit(request.size, in_memory, server.capacity)

        while len(self.running) < server.max_batch:
            request = self.waiting.constrained_get(fits, LOOK_AHEAD)
            if request is None:
                return
            server.load_kv(request.id, request.size)
            server.free_stored(request.id)
            request.state = "decode"
            self.running.append(request)
            in_memory.append(request.size)


class Scheduler:
    """Fills each pass of one card: running requests first, then pieces of prompts.

    step(card) is called again and again, and runs one pass if there is work.
    The card has these numbers: budget, max_batch, n_blocks, block_size,
    max_length, eos. Its functions: arrivals(), run_pass(pieces), preempt(id),
    finish(id), refuse(id, reason). A piece is (id, start, n, blocks).
    """

    def __init__(self) -> None:
        self.waiting: deque = deque()
        self.running: list[Request] = []  # the newest at the end
        self.free: deque = deque()  # blocks without a user, the longest free first
        self.n_users: dict[int, int] = {}  # by block
        self.block_of: dict = {}  # by hash
        self.hash_of: dict = {}  # by block

    def step(self, card: Any) -> None:
        """Take what has arrived, and run one pass."""
        if not self.n_users:
            self.free.extend(range(card.n_blocks))
            self.n_users = dict.fromkeys(self.free, 0)
        for fields in card.arrivals():
            self._arrive(fields, card)
        planned = self._plan(card)
        if not planned:
            return
        tokens = card.run_pass([(r.id, r.n_cached, n, r.blocks) for r, n in planned.items()])
        for (request, n), token in zip(planned.items(), tokens, strict=True):
            self._computed(request, n, card)
            if token is None:
                continue
            request.add_token(token, card.eos)
            if request.state == "done":
                card.finish(request.id)
                self._give_back(request)
                self.running.remove(request)

    def _arrive(self, fields: dict, card: Any) -> None:
        request = Request(fields, card.max_length)
        request.hashes, request.blocks, request.n_cached = fields["hashes"], [], 0
        if request.limit < 1:
            card.refuse(request.id, "no room for a token")
        elif request.size > card.n_blocks * card.block_size:
            card.refuse(request.id, "too large")
        else:
            self.waiting.append(request)

    def _plan(self, card: Any) -> dict[Request, int]:
        """How many tokens of which request the next pass computes."""
        planned, left, is_full = {}, card.budget, False
        for request in [*self.running]:
            n = min(left, self._n_due(request))
            while n and request in self.running and not self._take(request, n, card):
                newest, is_full = self.running.pop(), True
                card.preempt(newest.id)
                self._give_back(newest)
                self.waiting.appendleft(newest)
            if n and request in self.running:
                planned[request] = n
                left -= n
        while self.waiting and left and len(self.running) < card.max_batch and not is_full:
            request = self.waiting[0]
            self._share(request, card)
            n = min(left, self._n_due(request))
            if not self._take(request, n, card):
                self._give_back(request)
                break
            self.running.append(self.waiting.popleft())
            planned[request] = n
            left -= n
        return planned

    @staticmethod
    def _n_due(request: Request) -> int:
        """Its tokens that are known and not in the cache yet."""
        return request.input_length + len(request.tokens) - request.n_cached

    def _share(self, request: Request, card: Any) -> None:
        """Give it the blocks that hold its first tokens; one token is left."""
        for each in request.hashes[: (self._n_due(request) - 1) // card.block_size]:
            if each not in self.block_of:
                break
            block = self.block_of[each]
            if not self.n_users[block]:
                self.free.remove(block)
            self.n_users[block] += 1
            request.blocks.append(block)
        request.n_cached = len(request.blocks) * card.block_size

    def _take(self, request: Request, n: int, card: Any) -> bool:
        """Take blocks for n more tokens; False if there are too few."""
        n_more = -(-(request.n_cached + n) // card.block_size) - len(request.blocks)
        if n_more > len(self.free):
            return False
        for _ in range(n_more):
            block = self.free.popleft()
            if self.block_of.get(old := self.hash_of.pop(block, None)) == block:
                del self.block_of[old]
            self.n_users[block] = 1
            request.blocks.append(block)
        return True

    def _computed(self, request: Request, n: int, card: Any) -> None:
        """n more tokens are cached; full blocks can be found by hash."""
        first = request.n_cached // card.block_size
        request.n_cached += n
        full = request.hashes[: request.n_cached // card.block_size]
        for block, each in list(zip(request.blocks, full, strict=False))[first:]:
            self.block_of[each], self.hash_of[block] = block, each

    def _give_back(self, request: Request) -> None:
        for block in reversed(request.blocks):
            self.n_users[block] -= 1
            if not self.n_users[block]:
                self.free.append(block)
        request.blocks, request.n_cached = [], 0
