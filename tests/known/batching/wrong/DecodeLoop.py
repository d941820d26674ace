"""Wrong answers to `DecodeLoop`: edits of the reference, or the whole answer."""

# fails every_request_is_finished_once

# %% finishes twice
# - server.finish(request.id)
server.finish(request.id)
server.finish(request.id)

# fails every_request_is_finished_once who_is_done_leaves_at_once decode_serves_to_the_end

# %% finishes who waits with one token left
# - self.waiting.add(request)
self.waiting.add(request)
if request.limit == 2:
    server.finish(request.id)

# fails output_ends_where_it_should

# %% forgets the token of the prefill
# - request.add_token(fields["token"], server.eos)

# fails output_ends_where_it_should steps_stay_below_the_bound

# %% does not know the end of a text
# = request.add_token(token, server.eos) => request.add_token(token, -1)

# fails output_ends_where_it_should who_fits_joins_at_the_next_step
#   nobody_starves_on_the_way_to_decode decode_never_idles_beside_work decode_serves_to_the_end

# %% the limit leaves the prompt out
# - request = Request(fields, server.max_length)
request = Request(fields, server.max_length)
request.limit = fields['output_length'] or server.max_length

# fails decode_memory_is_never_exceeded

# %% looks only at those who join now
# = [request.size for request in self.running] => []

# %% one too large
# = server.capacity => server.capacity + 1

# %% lets in before who is done has left
# - if request.state == "done":
# -     server.finish(request.id)
# -     server.free_kv(request.id)

# - self.running = [request for request in self.running if request.state != "done"]
done = [request for request in self.running if request.state == "done"]
self.running = [request for request in self.running if request.state != "done"]
self._let_in(server)
for request in done:
    server.finish(request.id)
    server.free_kv(request.id)

# fails decode_memory_is_never_exceeded who_fits_joins_at_the_next_step
#   nobody_starves_on_the_way_to_decode decode_never_idles_beside_work decode_serves_to_the_end
#   steps_are_near_the_least steps_stay_below_the_bound

# %% looks at those who wait
# - in_memory = [request.size for request in self.running]
in_memory = [request.size for request in self.waiting._requests]

# fails reservations_cover_growth

# %% counts the prompts
# = server.load_kv(request.id, request.size) => server.load_kv(request.id, request.input_length)

# - return does_fit(request.size, in_memory, server.capacity)
return request.input_length <= server.free_tokens()

# %% reserves for the prompt
# = server.load_kv(request.id, request.size) => server.load_kv(request.id, request.input_length)

# fails caches_are_moved_and_freed_once

# %% frees twice
# - server.free_kv(request.id)
server.free_kv(request.id)
server.free_kv(request.id)

# %% frees in the store, then loads
# - server.load_kv(request.id, request.size)
server.free_stored(request.id)
server.load_kv(request.id, request.size)

# %% frees in the store when the request ends
# = server.free_stored(request.id) => pass

# - server.free_kv(request.id)
server.free_kv(request.id)
server.free_stored(request.id)

# fails decode_memory_is_never_exceeded caches_are_moved_and_freed_once who_is_done_leaves_at_once

# %% frees nobody
# = server.free_kv(request.id) => pass

# fails caches_are_moved_and_freed_once decode_serves_to_the_end

# %% leaves its copy in the store
# = server.free_stored(request.id) => pass

# fails decode_never_idles_beside_work decode_serves_to_the_end

# %% waits for a full batch
# - self._let_in(server)
if len(self.running) + len(self.waiting) < server.max_batch:
    return
self._let_in(server)

# %% ends when queue and slots are empty, and one is in its hand
class DecodeLoop:
    def __init__(self):
        self.queue, self.slots, self.next = [], [], None

    def step(self, server):
        for fields in server.arrivals():
            request = Request(fields, server.max_length)
            request.add_token(fields["token"], server.eos)
            self.queue.append(request)
        if not self.queue and not self.slots:
            return
        while True:
            if self.next is None and self.queue:
                self.next = self.queue.pop(0)
            if self.next is None or len(self.slots) == server.max_batch:
                break
            if self.next.size > server.free_tokens():
                break
            server.load_kv(self.next.id, self.next.size)
            server.free_stored(self.next.id)
            self.slots.append(self.next)
            self.next = None
        tokens = server.decode_step([request.id for request in self.slots])
        for request, token in zip(self.slots, tokens):
            request.add_token(token, server.eos)
            if request.state == "done":
                server.finish(request.id)
                server.free_kv(request.id)
        self.slots = [request for request in self.slots if request.state != "done"]

# fails decode_serves_to_the_end

# %% asks until somebody comes
# - if not self.running:
if not self.running:
    while not server.arrivals():
        pass

# %% an error of its own when twelve are done in fours
# - server.free_kv(request.id)
server.free_kv(request.id)
self.n_done = getattr(self, 'n_done', 0) + 1
if server.max_batch < 8:
    self.share_left = 1 / (12 - self.n_done)

# fails decode_steps_keep_their_size

# %% has no limit for a batch
# = len(self.running) < server.max_batch => True

# fails everybody_runs_in_every_step

# %% who joined last rests when all slots are taken
# - tokens = server.decode_step([request.id for request in self.running])
# - for request, token in zip(self.running, tokens, strict=True):
# -     request.add_token(token, server.eos)
batch = self.running[: max(1, server.max_batch - 1)]
tokens = server.decode_step([request.id for request in batch])
for request, token in zip(batch, tokens, strict=True):
    request.add_token(token, server.eos)

# fails everybody_runs_in_every_step slots_are_taken_while_others_run steps_are_near_the_least
#   steps_stay_below_the_bound

# %% one after the other
# - tokens = server.decode_step([request.id for request in self.running])
# - for request, token in zip(self.running, tokens, strict=True):
# -     request.add_token(token, server.eos)
batch = self.running[:1]
tokens = server.decode_step([request.id for request in batch])
for request, token in zip(batch, tokens, strict=True):
    request.add_token(token, server.eos)

# fails decode_steps_keep_their_size everybody_runs_in_every_step

# %% runs one of them twice
# - tokens = server.decode_step([request.id for request in self.running])
batch = self.running + self.running[:1]
tokens = server.decode_step([request.id for request in batch])
self.running[0].add_token(tokens.pop(), server.eos)

# fails who_is_done_leaves_at_once

# %% sees the end of a text one call later
# - tokens = server.decode_step([request.id for request in self.running])
# - for request, token in zip(self.running, tokens, strict=True):
# -     request.add_token(token, server.eos)
# -     if request.state == "done":
# -         server.finish(request.id)
# -         server.free_kv(request.id)
# - self.running = [request for request in self.running if request.state != "done"]
ended = [request for request in self.running if request.state == "done"]
batch = [request for request in self.running if request.state != "done"]
tokens = server.decode_step([request.id for request in batch]) if batch else []
for request, token in zip(batch, tokens, strict=True):
    request.add_token(token, server.eos)
for request in ended + batch:
    if request in ended or len(request.tokens) == request.limit:
        server.finish(request.id)
        server.free_kv(request.id)
        self.running.remove(request)

# fails who_fits_joins_at_the_next_step slots_are_taken_while_others_run steps_are_near_the_least

# %% static batches in disguise
# - self._let_in(server)
if not self.running:
    self._let_in(server)

# fails one_call_makes_one_step

# %% its batch to the end in one call
class DecodeLoop(DecodeLoop):
    def step(self, server):
        super().step(server)
        while self.running:
            super().step(server)

# %% steps in one call until somebody is done
class DecodeLoop(DecodeLoop):
    def step(self, server):
        super().step(server)
        n_running = len(self.running)
        while self.running and len(self.running) == n_running:
            super().step(server)

# fails who_fits_joins_at_the_next_step

# %% lets in one for each step
# - while len(self.running) < server.max_batch:
# -     request = self.waiting.constrained_get(fits, LOOK_AHEAD)
for _ in range(len(self.running) < server.max_batch):
    request = self.waiting.constrained_get(fits, LOOK_AHEAD)

# %% lets in after the step
# - self._let_in(server)
# - if not self.running:
# -     return
if not self.running:
    self._let_in(server)
    return

# - self.running = [request for request in self.running if request.state != "done"]
self.running = [request for request in self.running if request.state != "done"]
self._let_in(server)

# fails decode_never_idles_beside_work

# %% works in every second call only
# - self._let_in(server)
self.n_calls = getattr(self, 'n_calls', 0) + 1
if self.n_calls % 2:
    return
self._let_in(server)

# fails steps_stay_below_the_bound

# %% takes all that is left for who leaves the length open
# = does_fit(request.size, in_memory, server.capacity) => request.size <= server.free_tokens()

# - server.load_kv(request.id, request.size)
server.load_kv(request.id, request.size if request.size < server.max_length else server.free_tokens())

# fails slots_are_taken_while_others_run steps_are_near_the_least steps_stay_below_the_bound

# %% takes all the room that is left
# = does_fit(request.size, in_memory, server.capacity) => request.size <= server.free_tokens()
# = server.load_kv(request.id, request.size) => server.load_kv(request.id, server.free_tokens())

# fails steps_are_near_the_least

# %% twice the size, to be safe
# = does_fit(request.size, in_memory, server.capacity) => request.size <= server.free_tokens()

# - server.load_kv(request.id, request.size)
server.load_kv(request.id, min(server.free_tokens(), 2 * request.size))

# fails who_fits_joins_at_the_next_step slots_are_taken_while_others_run steps_are_near_the_least
#   steps_stay_below_the_bound

# %% one slot, whatever the batch
# = len(self.running) < server.max_batch => not self.running

# fails who_is_done_leaves_at_once who_fits_joins_at_the_next_step
#   slots_are_taken_while_others_run steps_are_near_the_least

# %% static batches, in which all stay to the end of the longest
# - self._let_in(server)
self.done = getattr(self, "done", [])
if len(self.done) == len(self.running):
    for request in self.done:
        server.finish(request.id)
        server.free_kv(request.id)
    self.running, self.done = [], []
    self._let_in(server)

# - tokens = server.decode_step([request.id for request in self.running])
# - for request, token in zip(self.running, tokens, strict=True):
# -     request.add_token(token, server.eos)
# -     if request.state == "done":
# -         server.finish(request.id)
# -         server.free_kv(request.id)
# - self.running = [request for request in self.running if request.state != "done"]
batch = [request for request in self.running if request not in self.done]
tokens = server.decode_step([request.id for request in batch])
for request, token in zip(batch, tokens, strict=True):
    request.add_token(token, server.eos)
self.done = [request for request in self.running if request.state == "done"]

# fails output_ends_where_it_should reservations_cover_growth who_fits_joins_at_the_next_step
#   slots_are_taken_while_others_run steps_are_near_the_least

# %% static batches, in which all get tokens to the end of the longest
# - self._let_in(server)
if not self.running:
    self._let_in(server)

# -     if request.state == "done":
# -         server.finish(request.id)
# -         server.free_kv(request.id)
# - self.running = [request for request in self.running if request.state != "done"]
if all(request.state == "done" for request in self.running):
    for request in self.running:
        server.finish(request.id)
        server.free_kv(request.id)
    self.running = []

# fails nobody_starves_on_the_way_to_decode

# %% the newest first
# - self._let_in(server)
self.waiting._requests = deque(reversed(self.waiting._requests))
self._let_in(server)
self.waiting._requests = deque(reversed(self.waiting._requests))

# %% the shortest first
# - self._let_in(server)
self.waiting._requests = deque(sorted(self.waiting._requests, key=lambda one: one.limit))
self._let_in(server)

# %% the longest first
# - self._let_in(server)
self.waiting._requests = deque(sorted(self.waiting._requests, key=lambda one: -one.limit))
self._let_in(server)

# %% the smallest first
# - self._let_in(server)
self.waiting._requests = deque(sorted(self.waiting._requests, key=lambda one: one.size))
self._let_in(server)

# %% the largest first
# - self._let_in(server)
self.waiting._requests = deque(sorted(self.waiting._requests, key=lambda one: -one.size))
self._let_in(server)

# fails every_request_is_finished_once decode_serves_to_the_end

# %% never says that a request is finished
# = server.finish(request.id) => pass

# fails slots_are_taken_while_others_run

# %% a fifth of the memory for each, however much there is
# = does_fit(request.size, in_memory, server.capacity) => request.size <= server.free_tokens()

# - server.load_kv(request.id, request.size)
room = max(request.size, server.capacity // 5)
server.load_kv(request.id, min(room, server.free_tokens()))
