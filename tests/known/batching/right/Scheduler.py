"""Right answers to `Scheduler` of other designs."""

# %% like vLLM: computed and known tokens, a queue of free blocks with what they hold
from collections import OrderedDict


class Scheduler:
    def __init__(self):
        self.waiting, self.running = [], []
        self.free = None

    def step(self, card):
        if self.free is None:
            self.free = OrderedDict.fromkeys(range(card.n_blocks))
            self.count = [0] * card.n_blocks
            self.cached = {}
            self.name = [None] * card.n_blocks
        for fields in card.arrivals():
            limit = card.max_length - fields["input_length"]
            if fields["output_length"] is not None:
                limit = min(limit, fields["output_length"])
            if limit <= 0 or fields["input_length"] + limit > card.n_blocks * card.block_size:
                card.refuse(fields["id"], "cannot be served")
                continue
            self.waiting.append(
                {**fields, "limit": limit, "made": 0, "computed": 0, "blocks": []}
            )
        budget, scheduled, preempted = card.budget, {}, []
        place = 0
        while place < len(self.running) and budget:
            request = self.running[place]
            n_new = min(self.known(request) - request["computed"], budget)
            while not self.allocate(request, n_new, card.block_size):
                victim = self.running.pop()
                self.release(victim)
                card.preempt(victim["id"])
                preempted.append(victim)
                self.waiting.insert(0, victim)
                if victim is request:
                    break
            else:
                scheduled[request["id"]] = (request, n_new)
                budget -= n_new
                place += 1
                continue
            break
        while not preempted and self.waiting and budget and len(self.running) < card.max_batch:
            request = self.waiting[0]
            hits = self.find(request, card.block_size)
            for block in hits:
                self.touch(block)
            request["blocks"], request["computed"] = hits, len(hits) * card.block_size
            n_new = min(self.known(request) - request["computed"], budget)
            if not self.allocate(request, n_new, card.block_size):
                self.release(request)
                break
            self.running.append(self.waiting.pop(0))
            scheduled[request["id"]] = (request, n_new)
            budget -= n_new
        if scheduled:
            self.run(card, list(scheduled.values()))

    def run(self, card, scheduled):
        out = card.run_pass([(r["id"], r["computed"], n, r["blocks"]) for r, n in scheduled])
        for (request, n), token in zip(scheduled, out):
            request["computed"] += n
            full = min(request["computed"] // card.block_size, len(request["hashes"]))
            for block, name in zip(request["blocks"][:full], request["hashes"]):
                if name not in self.cached:
                    self.cached[name], self.name[block] = block, name
            if token is not None:
                request["made"] += 1
                if token == card.eos or request["made"] == request["limit"]:
                    self.running.remove(request)
                    self.release(request)
                    card.finish(request["id"])

    @staticmethod
    def known(request):
        return request["input_length"] + request["made"]

    def find(self, request, size):
        hits = []
        for name in request["hashes"]:
            if name not in self.cached or (len(hits) + 1) * size >= self.known(request):
                break
            hits.append(self.cached[name])
        return hits

    def touch(self, block):
        if self.count[block] == 0:
            del self.free[block]
        self.count[block] += 1

    def allocate(self, request, n_new, size):
        n_blocks = (request["computed"] + n_new + size - 1) // size
        n_missing = n_blocks - len(request["blocks"])
        if n_missing > len(self.free):
            return False
        for _ in range(n_missing):
            block, _ = self.free.popitem(last=False)
            if self.name[block] is not None:
                del self.cached[self.name[block]]
                self.name[block] = None
            self.count[block] = 1
            request["blocks"].append(block)
        return True

    def release(self, request):
        for block in reversed(request["blocks"]):
            self.count[block] -= 1
            if self.count[block] == 0:
                self.free[block] = None
        request["blocks"] = []


# %% like nano-vllm: a manager of blocks; a request begins only if its whole prompt has blocks
class BlockManager:
    def __init__(self, n_blocks, size):
        self.size = size
        self.users = {i: 0 for i in range(n_blocks)}
        self.free = deque(range(n_blocks))
        self.by_hash = {}
        self.hash_of = {}

    def hits(self, request):
        found = []
        for each in request.hashes[: (request.n_known() - 1) // self.size]:
            block = self.by_hash.get(each)
            if block is None or self.hash_of.get(block) != each:
                break
            found.append(block)
        return found

    def can_begin(self, request):
        hits = self.hits(request)
        n_new = -(-request.n_known() // self.size) - sum(self.users[b] > 0 for b in hits)
        return n_new <= len(self.free)

    def begin(self, request):
        request.table = self.hits(request)
        for block in request.table:
            if self.users[block] == 0:
                self.free.remove(block)
            self.users[block] += 1
        request.n_cached = len(request.table) * self.size

    def grow(self, request, n):
        while len(request.table) * self.size < request.n_cached + n:
            if not self.free:
                return False
            block = self.free.popleft()
            self.hash_of.pop(block, None)
            self.users[block] = 1
            request.table.append(block)
        return True

    def keep(self, request):
        for i in range(min(request.n_cached // self.size, len(request.hashes))):
            block = request.table[i]
            if self.hash_of.get(block) is None:
                self.hash_of[block] = request.hashes[i]
                self.by_hash[request.hashes[i]] = block

    def leave(self, request):
        for block in reversed(request.table):
            self.users[block] -= 1
            if self.users[block] == 0:
                self.free.append(block)
        request.table, request.n_cached = [], 0


class Sequence_:
    def __init__(self, fields, max_length):
        self.request = Request(fields, max_length)
        self.id, self.hashes = fields["id"], list(fields["hashes"])
        self.table, self.n_cached = [], 0

    def n_known(self):
        return self.request.input_length + len(self.request.tokens)


class Scheduler:
    def __init__(self):
        self.waiting, self.running, self.blocks = deque(), deque(), None

    def step(self, card):
        if self.blocks is None:
            self.blocks = BlockManager(card.n_blocks, card.block_size)
        for fields in card.arrivals():
            one = Sequence_(fields, card.max_length)
            if one.request.limit < 1 or one.request.size > card.n_blocks * card.block_size:
                card.refuse(one.id, "too long")
            else:
                self.waiting.append(one)
        pieces, left, is_short = [], card.budget, False
        planned = deque()
        while self.running:
            one = self.running.popleft()
            n = min(left, one.n_known() - one.n_cached)
            while n and not self.blocks.grow(one, n):
                is_short = True
                victim = self.running.pop() if self.running else one
                self.blocks.leave(victim)
                card.preempt(victim.id)
                self.waiting.appendleft(victim)
                if victim is one:
                    break
            else:
                planned.append(one)
                if n:
                    pieces.append((one, n))
                    left -= n
        self.running = planned
        while self.waiting and left and len(self.running) < card.max_batch and not is_short:
            one = self.waiting[0]
            if not self.blocks.can_begin(one):
                break
            self.waiting.popleft()
            self.blocks.begin(one)
            n = min(left, one.n_known() - one.n_cached)
            self.blocks.grow(one, n)
            self.running.append(one)
            pieces.append((one, n))
            left -= n
        if not pieces:
            return
        answers = card.run_pass([(one.id, one.n_cached, n, list(one.table)) for one, n in pieces])
        for (one, n), token in zip(pieces, answers):
            one.n_cached += n
            self.blocks.keep(one)
            if token is None:
                continue
            one.request.add_token(token, card.eos)
            if one.request.state == "done":
                self.blocks.leave(one)
                self.running.remove(one)
                card.finish(one.id)


# %% tables alone: who uses a block is read off all tables in each step; the lowest number is next
import heapq


class Scheduler:
    def __init__(self):
        self.queue, self.active = [], []
        self.holds = {}

    def step(self, card):
        size = card.block_size
        for fields in card.arrivals():
            request = Request(fields, card.max_length)
            request.names, request.table, request.done = fields["hashes"], [], 0
            if not 0 < request.limit or request.size > size * card.n_blocks:
                card.refuse(request.id, "never")
                continue
            self.queue.append(request)
        plan, budget, preempted = {}, card.budget, False
        for request in list(self.active):
            if request not in self.active:
                continue
            n = min(self.due(request), budget)
            while n and not self.enough(request, n, card):
                last = self.active.pop()
                preempted = True
                card.preempt(last.id)
                last.table, last.done = [], 0
                self.queue.insert(0, last)
                if last is request:
                    n = 0
            if n:
                plan[request.id] = n
                budget -= n
        while self.queue and budget > 0 and len(self.active) < card.max_batch and not preempted:
            request = self.queue[0]
            request.table = self.same(request, size)
            request.done = size * len(request.table)
            n = min(self.due(request), budget)
            self.active.append(request)
            if not self.enough(request, n, card):
                self.active.pop()
                request.table, request.done = [], 0
                break
            self.queue.pop(0)
            plan[request.id] = n
            budget -= n
        running = [request for request in self.active if request.id in plan]
        if running:
            self.run(card, running, plan)

    def run(self, card, running, plan):
        pieces = [[r.id, r.done, plan[r.id], r.table] for r in running]
        for request, token in zip(running, card.run_pass(pieces)):
            request.done += plan[request.id]
            for k in range(request.done // card.block_size):
                if k < len(request.names):
                    self.holds[request.table[k]] = request.names[k]
            if token is not None:
                request.add_token(token, card.eos)
        for request in running:
            if request.state == "done":
                card.finish(request.id)
                self.active.remove(request)

    def due(self, request):
        return request.input_length + len(request.tokens) - request.done

    def same(self, request, size):
        where = {name: block for block, name in self.holds.items()}
        found = []
        for k in range((self.due(request) + request.done - 1) // size):
            if k >= len(request.names) or request.names[k] not in where:
                break
            found.append(where[request.names[k]])
        return found

    def enough(self, request, n, card):
        used = {block for each in self.active for block in each.table}
        free = [block for block in range(card.n_blocks) if block not in used]
        heapq.heapify(free)
        n_more = -(-(request.done + n) // card.block_size) - len(request.table)
        if n_more > len(free):
            return False
        for _ in range(n_more):
            block = heapq.heappop(free)
            self.holds.pop(block, None)
            request.table.append(block)
        return True


# %% with one block ahead, if one is free
class Scheduler:
    def __init__(self):
        self.wait, self.run_now, self.tables = [], [], {}
        self.cached, self.users, self.names, self.free = {}, {}, {}, None

    def step(self, card):
        if self.free is None:
            self.free = list(range(card.n_blocks))
            self.users = dict.fromkeys(self.free, 0)
        for fields in card.arrivals():
            request = Request(fields, card.max_length)
            request.names = fields["hashes"]
            fits = request.size <= card.n_blocks * card.block_size
            if request.limit < 1 or not fits:
                card.refuse(request.id, "no")
            else:
                self.wait.append(request)
        left, pieces, short = card.budget, [], False
        for request in self.run_now[:]:
            n = min(left, self.known(request) - self.cached.get(request.id, 0))
            if request not in self.run_now or not n:
                continue
            while request in self.run_now and not self.get(request, n, card):
                newest = self.run_now.pop()
                card.preempt(newest.id)
                self.drop(newest)
                self.wait.insert(0, newest)
                short = True
            if request in self.run_now:
                pieces.append((request, n))
                left -= n
        while left and self.wait and len(self.run_now) < card.max_batch and not short:
            request = self.wait[0]
            self.begin(request, card.block_size)
            n = min(left, self.known(request) - self.cached[request.id])
            if not self.get(request, n, card):
                self.drop(request)
                break
            self.run_now.append(self.wait.pop(0))
            pieces.append((request, n))
            left -= n
        for request, _ in pieces:
            if self.free and len(self.free) > len(pieces):
                n_needed = -(-self.known(request) // card.block_size)
                if len(self.tables[request.id]) <= n_needed and request.tokens:
                    self.take(request)
        if not pieces:
            return
        given = [(r.id, self.cached[r.id], n, tuple(self.tables[r.id])) for r, n in pieces]
        for (request, n), token in zip(pieces, card.run_pass(given)):
            self.cached[request.id] += n
            for k, name in enumerate(request.names[: self.cached[request.id] // card.block_size]):
                self.names[self.tables[request.id][k]] = name
            if token is not None:
                request.add_token(token, card.eos)
        for request in [each for each in self.run_now if each.state == "done"]:
            self.run_now.remove(request)
            self.drop(request)
            card.finish(request.id)

    def known(self, request):
        return request.input_length + len(request.tokens)

    def begin(self, request, size):
        blocks = {name: block for block, name in self.names.items()}
        table = self.tables[request.id] = []
        for name in request.names[: (self.known(request) - 1) // size]:
            if name not in blocks:
                break
            block = blocks[name]
            if not self.users[block]:
                self.free.remove(block)
            self.users[block] += 1
            table.append(block)
        self.cached[request.id] = len(table) * size

    def take(self, request):
        block = self.free.pop(0)
        self.names.pop(block, None)
        self.users[block] = 1
        self.tables[request.id].append(block)

    def get(self, request, n, card):
        table = self.tables[request.id]
        n_more = -(-(self.cached[request.id] + n) // card.block_size) - len(table)
        if n_more > len(self.free):
            return False
        for _ in range(n_more):
            self.take(request)
        return True

    def drop(self, request):
        for block in self.tables.pop(request.id)[::-1]:
            self.users[block] -= 1
            if not self.users[block]:
                self.free.append(block)
        self.cached.pop(request.id)
