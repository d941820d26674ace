"""Right answers to `DecodeLoop`, written differently."""

# %% peeks and pops on a list: nobody passes the first
class DecodeLoop:
    def __init__(self):
        self.queue = []
        self.batch = []

    def step(self, server):
        for fields in server.arrivals():
            request = Request(fields, server.max_length)
            request.add_token(fields["token"], server.eos)
            self.queue.append(request)
        while self.queue and len(self.batch) < server.max_batch:
            if self.queue[0].size > server.free_tokens():
                break
            request = self.queue.pop(0)
            server.load_kv(request.id, request.size)
            server.free_stored(request.id)
            self.batch.append(request)
        if self.batch:
            ids = [request.id for request in self.batch]
            tokens = server.decode_step(ids)
            for i in reversed(range(len(ids))):
                self.batch[i].add_token(tokens[i], server.eos)
                if self.batch[i].state == "done":
                    server.finish(ids[i])
                    server.free_kv(ids[i])
                    del self.batch[i]

# %% the shortest first, but nobody is passed over more than twice; its own count of the room
class DecodeLoop:
    def __init__(self):
        self.waiting, self.running, self.used = [], {}, 0
        self.n_passed = {}

    def step(self, server):
        for fields in server.arrivals():
            request = Request(fields, server.max_length)
            request.add_token(fields["token"], server.eos)
            self.waiting.append(request)
        while len(self.running) < server.max_batch:
            fitting = [one for one in self.waiting if self.used + one.size <= server.capacity]
            if not fitting:
                break
            oldest, request = fitting[0], min(fitting, key=lambda one: one.limit)
            n_passed = self.n_passed.get(oldest.id, 0)
            if n_passed == 2:
                request = oldest
            elif request is not oldest:
                self.n_passed[oldest.id] = n_passed + 1
            self.waiting.remove(request)
            self.used += request.size
            server.load_kv(request.id, request.size)
            server.free_stored(request.id)
            self.running[request.id] = request
        ids = list(self.running)
        for i, token in zip(ids, server.decode_step(ids) if ids else []):
            self.running[i].add_token(token, server.eos)
            if self.running[i].state == "done":
                self.used -= self.running.pop(i).size
                server.free_kv(i)
                server.finish(i)

# %% fixed slots, who is done is let out at the beginning of the next call
class DecodeLoop:
    def __init__(self):
        self.slots = None
        self.queue = RequestQueue()

    def step(self, server):
        if self.slots is None:
            self.slots = [None] * server.max_batch
        for i, request in enumerate(self.slots):
            if request is not None and request.state == "done":
                server.finish(request.id)
                server.free_kv(request.id)
                self.slots[i] = None
        for fields in server.arrivals():
            request = Request(fields, server.max_length)
            request.add_token(fields["token"], server.eos)
            self.queue.add(request)
        for i in range(server.max_batch):
            if self.slots[i] is None:
                self.slots[i] = self.queue.constrained_get(
                    lambda request: does_fit(request.size, self.sizes(), server.capacity)
                )
                if self.slots[i] is not None:
                    server.load_kv(self.slots[i].id, self.slots[i].size)
                    server.free_stored(self.slots[i].id)
        taken = [request for request in self.slots if request is not None]
        if taken:
            for request, token in zip(taken, server.decode_step([one.id for one in taken])):
                request.add_token(token, server.eos)

    def sizes(self):
        return [request.size for request in self.slots if request is not None]

# %% an endless loop that pauses; the store is freed after the first step of each request
class DecodeLoop:
    def __init__(self):
        self.life = self.live()
        next(self.life)

    def step(self, server):
        self.life.send(server)

    def live(self):
        waiting, running = [], []
        server = yield
        while True:
            for fields in server.arrivals():
                request = Request(fields, server.max_length)
                request.add_token(fields["token"], server.eos)
                waiting.append(request)
            for request in list(waiting):
                if len(running) == server.max_batch:
                    break
                if does_fit(request.size, [each.size for each in running], server.capacity):
                    waiting.remove(request)
                    running.append(request)
                    server.load_kv(request.id, request.size)
            if running:
                tokens = server.decode_step([each.id for each in running])
                for request, token in zip(list(running), tokens):
                    request.add_token(token, server.eos)
                    if len(request.tokens) == 2:
                        server.free_stored(request.id)
                    if request.state == "done":
                        running.remove(request)
                        server.free_kv(request.id)
                        server.finish(request.id)
            server = yield

# %% one waiting line per size, no room for the last token, which nobody reads
class DecodeLoop:
    def __init__(self):
        self.lines, self.n_seen = {}, 0
        self.active = {}

    def step(self, server):
        for fields in server.arrivals():
            request = Request(fields, server.max_length)
            request.add_token(fields["token"], server.eos)
            self.lines.setdefault(request.size - 1, []).append((self.n_seen, request))
            self.n_seen += 1
        while len(self.active) < server.max_batch:
            free = server.free_tokens()
            fitting = [line for size, line in self.lines.items() if line and size <= free]
            if not fitting:
                break
            _, request = min(fitting, key=lambda line: line[0][0]).pop(0)
            server.load_kv(request.id, request.size - 1)
            server.free_stored(request.id)
            self.active[request.id] = request
        if not self.active:
            return None
        tokens = dict(zip(self.active, server.decode_step(tuple(self.active))))
        for i, token in tokens.items():
            self.active[i].add_token(token, server.eos)
        for i in [i for i, request in self.active.items() if request.state == "done"]:
            del self.active[i]
            server.finish(i)
            server.free_kv(i)
        return len(self.active)
