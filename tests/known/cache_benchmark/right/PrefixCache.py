"""Right answers to `PrefixCache`, written differently."""

# %% a dict with the time of the last use
class PrefixCache:
    def __init__(self, n_blocks, block_size):
        if n_blocks < 1 or block_size < 1:
            raise ValueError("at least one block and one token")
        self.n_blocks, self.block_size = n_blocks, block_size
        self.used, self.running, self.clock = {}, {}, 0

    @property
    def n_kept(self):
        return len(self.used)

    def has(self, block_hash):
        return block_hash in self.used

    def find(self, request_id, tokens, salt=""):
        if request_id in self.running:
            raise ValueError(f"{request_id} runs")
        hashes = block_hashes(tokens, self.block_size, salt)
        n = 0
        while n < len(hashes) and hashes[n] in self.used:
            n += 1
        if n * self.block_size >= len(tokens):
            n -= 1
        self.running[request_id] = set(hashes[:n])
        return n * self.block_size

    def keep(self, request_id, tokens, salt=""):
        if self.running.pop(request_id, None) is None:
            raise ValueError(f"{request_id} does not run")
        self.clock += 1
        hashes = block_hashes(tokens, self.block_size, salt)
        known = [h for h in hashes if h in self.used]
        for i, h in enumerate(hashes):
            locked = set().union(known, hashes[:i], *self.running.values())
            if h not in self.used and len(self.used) >= self.n_blocks:
                free = [other for other in self.used if other not in locked]
                if not free:
                    return
                del self.used[min(free, key=self.used.get)]
            self.used[h] = (self.clock, -i)

# %% a list, the most recently used in front
class PrefixCache:
    def __init__(self, n_blocks, block_size):
        if not (n_blocks > 0 and block_size > 0):
            raise ValueError(f"no room: {n_blocks} blocks of {block_size}")
        self.n_blocks, self.block_size = n_blocks, block_size
        self.order = []
        self.held = []  # pairs of a request and its hashes

    @property
    def n_kept(self):
        return len(self.order)

    def has(self, block_hash):
        return self.order.count(block_hash) > 0

    def find(self, request_id, tokens, salt=""):
        if any(request_id == other for other, _ in self.held):
            raise ValueError("twice")
        found = []
        for h in block_hashes(list(tokens)[:-1], self.block_size, salt):
            if h not in self.order:
                break
            found = found + [h]
        self.held.append((request_id, found))
        return self.block_size * len(found)

    def keep(self, request_id, tokens, salt=""):
        ids = [other for other, _ in self.held]
        if request_id not in ids:
            raise ValueError("never began")
        del self.held[ids.index(request_id)]
        own = block_hashes(tokens, self.block_size, salt)
        pinned = [h for _, found in self.held for h in found]
        others = [h for h in self.order if h not in own]
        n_must = sum(h in pinned for h in others)
        own = own[: max(0, self.n_blocks - n_must)]
        while len(own) + len(others) > self.n_blocks:
            last = max(i for i, h in enumerate(others) if h not in pinned)
            others.pop(last)
        self.order = own + others

# %% an OrderedDict that is shortened at the end
from collections import Counter, OrderedDict

class PrefixCache:
    def __init__(self, n_blocks, block_size):
        if min(n_blocks, block_size) <= 0:
            raise ValueError("too small")
        self.n_blocks, self.block_size = n_blocks, block_size
        self.blocks, self.users, self.requests = OrderedDict(), Counter(), {}

    n_kept = property(lambda self: len(self.blocks))

    def has(self, block_hash):
        return block_hash in self.blocks

    def find(self, request_id, tokens, salt=""):
        if request_id in self.requests:
            raise ValueError("this request is running")
        found = []
        for block_hash in block_hashes(tokens, self.block_size, salt):
            if block_hash not in self.blocks or (len(found) + 1) * self.block_size >= len(tokens):
                break
            found.append(block_hash)
        self.users.update(found)
        for block_hash in reversed(found):
            self.blocks.move_to_end(block_hash)
        self.requests[request_id] = found
        return len(found) * self.block_size

    def keep(self, request_id, tokens, salt=""):
        if request_id not in self.requests:
            raise ValueError("this request is not running")
        self.users.subtract(self.requests.pop(request_id))
        hashes = block_hashes(tokens, self.block_size, salt)
        n_others = sum(n > 0 and one not in hashes for one, n in self.users.items())
        for block_hash in reversed(hashes[: max(0, self.n_blocks - n_others)]):
            self.blocks[block_hash] = True
            self.blocks.move_to_end(block_hash)
        for block_hash in list(self.blocks):
            if len(self.blocks) <= self.n_blocks:
                return
            if not self.users[block_hash]:
                del self.blocks[block_hash]

# %% as vLLM: numbered blocks, a count of users, a queue of those without
from dataclasses import dataclass

@dataclass
class Slot:
    number: int
    users: int = 0
    name: object = None

class PrefixCache:
    def __init__(self, n_blocks, block_size):
        if n_blocks < 1:
            raise ValueError("no blocks")
        if block_size < 1:
            raise ValueError("no tokens")
        self.block_size = block_size
        self.slots = [Slot(i) for i in range(n_blocks)]
        self.queue = list(self.slots)  # of blocks that nobody uses, the next to be evicted first
        self.by_name = {}
        self.of_request = {}

    @property
    def n_kept(self):
        return len(self.by_name)

    def has(self, block_hash):
        return self.by_name.get(block_hash) is not None

    def find(self, request_id, tokens, salt=""):
        if request_id in self.of_request:
            raise ValueError("a request of this id is running")
        taken = []
        for name in block_hashes(tokens, self.block_size, salt)[: (len(tokens) - 1) // self.block_size]:
            slot = self.by_name.get(name)
            if slot is None:
                break
            self._take(slot)
            taken.append(slot)
        self.of_request[request_id] = taken
        return sum(self.block_size for _ in taken)

    def _take(self, slot):
        if not slot.users:
            self.queue = [other for other in self.queue if other is not slot]
        slot.users += 1

    def keep(self, request_id, tokens, salt=""):
        if request_id not in self.of_request:
            raise ValueError("no request of this id is running")
        held = self.of_request.pop(request_id)
        names = block_hashes(tokens, self.block_size, salt)
        for name in names[len(held) :]:
            slot = self.by_name.get(name)
            if slot is None:
                continue
            self._take(slot)
            held.append(slot)
        for name in names[len(held) :]:
            if not self.queue:
                break
            slot = self.queue[0]
            self.by_name.pop(slot.name, None)
            self._take(slot)
            slot.name = name
            self.by_name[name] = slot
            held.append(slot)
        for slot in held[::-1]:
            slot.users -= 1
            if not slot.users:
                self.queue.append(slot)

# %% arrays of NumPy: a row for each block of the budget
import numpy as np

class PrefixCache:
    def __init__(self, n_blocks, block_size):
        if n_blocks < 1 or block_size < 1:
            raise ValueError("at least one block of at least one token")
        self.block_size, self.clock, self.running = block_size, 0, {}
        self.names = np.full(n_blocks, None, dtype=object)
        self.last_use = np.zeros(n_blocks, dtype=np.int64)
        self.n_users = np.zeros(n_blocks, dtype=np.int64)

    @property
    def n_kept(self):
        return sum(name is not None for name in self.names)

    def _row(self, name):
        rows = np.flatnonzero([each == name for each in self.names])
        return int(rows[0]) if len(rows) else None

    def has(self, block_hash):
        return self._row(block_hash) is not None

    def find(self, request_id, tokens, salt=""):
        if request_id in self.running:
            raise ValueError("running")
        names = block_hashes(tokens, self.block_size, salt)
        rows = [self._row(name) for name in names[: (len(tokens) - 1) // self.block_size]]
        rows = rows[: rows.index(None)] if None in rows else rows
        self.n_users[rows] += 1
        self.running[request_id] = rows
        return len(rows) * self.block_size

    def keep(self, request_id, tokens, salt=""):
        if request_id not in self.running:
            raise ValueError("not running")
        self.n_users[self.running.pop(request_id)] -= 1
        names = block_hashes(tokens, self.block_size, salt)
        own = {name: self._row(name) for name in names}
        for i, name in enumerate(names):
            if own[name] is None:
                free = self.n_users == 0
                free[[row for row in own.values() if row is not None]] = False
                if not free.any():
                    break
                rows = np.flatnonzero(free)
                own[name] = int(rows[np.argmin(self.last_use[rows])])
                self.names[own[name]] = name
            self.last_use[own[name]] = self.clock + len(names) - i
        self.clock += len(names) + 1
