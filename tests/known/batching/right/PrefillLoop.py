"""Right answers to `PrefillLoop`, written differently."""

# %% the oldest begins every batch, and if it has no room, all wait
class PrefillLoop:
    def __init__(self):
        self.line = []

    def step(self, server):
        for fields in server.arrivals():
            one = Request(fields, server.max_length)
            fits = one.input_length <= server.capacity and one.size <= server.decode_capacity
            fits = fits and (server.storage is None or one.input_length <= server.storage)
            if one.limit > 0 and fits:
                self.line.append(one)
            else:
                server.refuse(one.id, "impossible")
        if not self.line:
            return
        room, store = server.free_tokens(), server.storage_room()
        first, batch, rest = self.line[0], [], []
        for one in self.line:
            total = sum(each.input_length for each in [*batch, one])
            fits = total <= room and (store is None or total <= store)
            fits = fits and (not batch or total <= server.budget)
            if len(batch) < server.max_batch and fits:
                batch.append(one)
            elif one is first:
                return
            else:
                rest.append(one)
        self.line = rest
        for one, token in zip(batch, server.run_prefill([one.id for one in batch])):
            one.add_token(token, server.eos)
            (server.finish if one.state == "done" else server.save_kv)(one.id)
            server.free_kv(one.id)

# %% a heap in which shorter prompts go a little ahead
import heapq


class PrefillLoop:
    AGEING = 32  # tokens that one place in the queue outweighs

    def __init__(self):
        self.heap, self.n_seen = [], 0

    def step(self, server):
        for fields in server.arrivals():
            request = Request(fields, server.max_length)
            small = min(server.capacity, server.storage or server.capacity)
            if request.limit <= 0:
                server.refuse(request.id, "nothing to do")
            elif request.input_length > small or request.size > server.decode_capacity:
                server.refuse(request.id, "too long")
            else:
                rank = self.n_seen + request.input_length / self.AGEING
                heapq.heappush(self.heap, (rank, self.n_seen, request))
                self.n_seen += 1
        batch, left = [], []
        room, store = server.free_tokens(), server.storage_room()
        while self.heap:
            entry = heapq.heappop(self.heap)
            total = sum(r.input_length for r in batch) + entry[2].input_length
            fits = len(batch) < server.max_batch and total <= room
            fits = fits and (store is None or total <= store)
            if fits and (total <= server.budget or not batch):
                batch.append(entry[2])
            else:
                left.append(entry)
        self.heap = left
        heapq.heapify(self.heap)
        if not batch:
            return
        for request, token in zip(batch, server.run_prefill([r.id for r in batch])):
            request.add_token(token, server.eos)
            (server.finish if request.state == "done" else server.save_kv)(request.id)
            server.free_kv(request.id)

# %% in order: the first that does not fit beside the batch ends it
class PrefillLoop:
    def __init__(self):
        self.waiting = RequestQueue()

    def step(self, server):
        for fields in server.arrivals():
            request = Request(fields, server.max_length)
            if self.can_run(request, server):
                self.waiting.add(request)
            else:
                server.refuse(request.id, "it cannot run")
        if not len(self.waiting):
            return
        store = server.storage_room()
        room = server.free_tokens() if store is None else min(store, server.free_tokens())
        batch = []
        while len(self.waiting) and len(batch) < server.max_batch:
            oldest = self.waiting.oldest()
            room -= oldest.input_length
            if room < 0:
                break
            batch.append(self.waiting.constrained_get(lambda request: True))
            room = min(room, server.budget - sum(each.input_length for each in batch))
        if not batch:
            return
        tokens = server.run_prefill([request.id for request in batch])
        for request, token in zip(batch, tokens):
            request.add_token(token, server.eos)
            (server.finish if request.state == "done" else server.save_kv)(request.id)
        for request in batch:
            server.free_kv(request.id)

    def can_run(self, request, server):
        if request.limit < 1 or request.input_length > server.capacity:
            return False
        if server.storage is not None and request.input_length > server.storage:
            return False
        return request.size <= server.decode_capacity

# %% the oldest that fits, then the longest that still fit
class PrefillLoop:
    def __init__(self):
        self.waiting = []

    def step(self, server):
        inf = float("inf")
        store = inf if server.storage is None else server.storage
        for fields in server.arrivals():
            n, wanted = fields["input_length"], fields["output_length"]
            room = server.max_length - n
            limit = room if wanted is None else min(wanted, room)
            if limit < 1 or n > min(server.capacity, store) or n + limit > server.decode_capacity:
                server.refuse(fields["id"], f"{n} and {limit} tokens do not fit")
            else:
                self.waiting.append((fields["id"], n, limit))
        left = server.storage_room()
        left = min(server.free_tokens(), inf if left is None else left)
        first = next((each for each in self.waiting if each[1] <= left), None)
        if first is None:
            return
        batch, left = [first], min(left, server.budget) - first[1]
        for each in sorted(self.waiting, key=lambda each: -each[1]):
            if each is not first and each[1] <= left and len(batch) < server.max_batch:
                batch.append(each)
                left -= each[1]
        self.waiting = [each for each in self.waiting if each not in batch]
        for (i, _, limit), token in zip(batch, server.run_prefill([each[0] for each in batch])):
            if limit == 1 or token == server.eos:
                server.free_kv(i)
                server.finish(i)
            else:
                server.save_kv(i)
                server.free_kv(i)

# %% an endless loop that pauses, with its own count of the room
class PrefillLoop:
    def __init__(self):
        self.life = None

    def step(self, server):
        self.server = server
        if self.life is None:
            self.life = self.live()
        next(self.life)

    def live(self):
        waiting, used = [], 0
        while True:
            for fields in self.server.arrivals():
                request = Request(fields, self.server.max_length)
                if self.too_large(request):
                    self.server.refuse(request.id, "it can never run")
                else:
                    waiting.append(request)
            batch = self.pick(waiting, self.server.capacity - used)
            if batch:
                ids = [request.id for request in batch]
                used += sum(request.input_length for request in batch)
                for request, token in zip(batch, self.server.run_prefill(ids)):
                    request.add_token(token, self.server.eos)
                    if request.state == "done":
                        self.server.finish(request.id)
                    else:
                        self.server.save_kv(request.id)
                    self.server.free_kv(request.id)
                used = 0
            yield

    def pick(self, waiting, room):
        store = self.server.storage_room()
        if store is None:
            store = 10**9
        batch = []
        for request in list(waiting):
            if len(batch) == self.server.max_batch:
                break
            most = min(room, store)
            if batch:
                most = min(most, self.server.budget - sum(r.input_length for r in batch))
            if request.input_length <= most:
                store -= request.input_length
                room -= request.input_length
                batch.append(request)
                waiting.remove(request)
        return batch

    def too_large(self, request):
        server = self.server
        if request.limit < 1 or request.size > server.decode_capacity:
            return True
        rooms = [room for room in (server.capacity, server.storage) if room is not None]
        return request.input_length > min(rooms)

# %% computes in one call, sends in the next
class PrefillLoop:
    def __init__(self):
        self.waiting = RequestQueue()
        self.computed = []

    def step(self, server):
        for request in self.computed:
            if request.state == "done":
                server.finish(request.id)
            else:
                server.save_kv(request.id)
            server.free_kv(request.id)
        self.computed = []
        for fields in server.arrivals():
            request = Request(fields, server.max_length)
            rooms = {server.capacity: request.input_length, server.decode_capacity: request.size}
            if server.decode_capacity == server.capacity:
                rooms[server.capacity] = request.size
            if request.limit < 1:
                server.refuse(request.id, "no token is wanted, or possible")
            elif any(size > room for room, size in rooms.items()):
                server.refuse(request.id, "no server has that much room")
            elif server.storage is not None and request.input_length > server.storage:
                server.refuse(request.id, "it cannot be stored")
            else:
                self.waiting.add(request)
        room, store = server.free_tokens(), server.storage_room()

        def joins(request):
            total = request.input_length + sum(each.input_length for each in self.computed)
            stored = 0 if store is None else total - store
            most = server.budget if self.computed else room
            return total <= min(most, room) and stored <= 0

        while len(self.computed) < server.max_batch:
            request = self.waiting.constrained_get(joins)
            if request is None:
                break
            self.computed.append(request)
        if self.computed:
            ids = [request.id for request in self.computed]
            for request, token in zip(self.computed, server.run_prefill(ids)):
                request.add_token(token, server.eos)
