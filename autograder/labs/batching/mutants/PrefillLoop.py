"""Wrong answers to `PrefillLoop`: edits of the reference, or the whole answer."""

# fails every_request_is_prefilled_once

# %% runs each prefill twice
# - first = server.run_prefill([request.id for request in batch])
first = server.run_prefill([request.id for request in batch])
first = server.run_prefill([request.id for request in batch])

# fails every_request_is_prefilled_once the_first_token_counts only_what_cannot_run_is_refused
#   prefill_memory_is_never_exceeded caches_are_saved_then_freed_once
#   prompts_of_a_batch_are_similar prefill_batches_keep_their_size prefill_batches_are_filled
#   prefill_never_idles_beside_work a_batch_is_sent_before_the_next nobody_is_passed_over
#   the_store_is_never_exceeded

# %% loses who does not fit
# - request = self.waiting.constrained_get(fits, LOOK_AHEAD)
request = self.waiting.constrained_get(lambda request: True)
if request is not None and not fits(request):
    break

# %% knows requests by their lengths, and loses twins
# - batch = self._next_batch(server)
every = [self.waiting.constrained_get(lambda request: True) for _ in range(len(self.waiting))]
for request in sorted({one.input_length: one for one in every}.values(), key=lambda request: 0):
    self.waiting.add(request)
batch = self._next_batch(server)

# %% waits for a request that may never come
# - return
while not server.arrivals():
    pass
return

# %% waits for a full batch
# - if not batch:
# -     return
if len(batch) < server.max_batch:
    for request in batch:
        self.waiting.add(request)
    return

# fails the_first_token_counts

# %% saves everybody
# - if request.state == "done":
# -     server.finish(request.id)
# - else:
# -     server.save_kv(request.id)
server.save_kv(request.id)

# %% does not know the end of a text
# - request.add_token(token, server.eos)
request.add_token(token, -1)

# %% knows the end of a text only
# - if request.state == "done":
# -     server.finish(request.id)
# - else:
# -     server.save_kv(request.id)
if token == server.eos:
    server.finish(request.id)
else:
    server.save_kv(request.id)

# %% finishes, and saves all the same
# - if request.state == "done":
# -     server.finish(request.id)
# - else:
# -     server.save_kv(request.id)
if request.state == "done":
    server.finish(request.id)
server.save_kv(request.id)

# %% finishes everybody
# - if request.state == "done":
# -     server.finish(request.id)
# - else:
# -     server.save_kv(request.id)
server.finish(request.id)

# fails only_what_cannot_run_is_refused

# %% refuses what fills the room to the token
# - return "too large" if any(size > room for size, room in rooms) else ""
return "too large" if any(size >= room for size, room in rooms) else ""

# %% never says why
# - server.refuse(request.id, reason)
server.refuse(request.id)

# %% refuses who leaves the length open
# - if request.limit < 1:
# -     return "no room for a token"
if request.size >= server.max_length:
    return "no room for a token"

# fails every_request_is_prefilled_once only_what_cannot_run_is_refused

# %% refuses nobody
# - return "too large" if any(size > room for size, room in rooms) else ""
return "too large" if False else ""

# %% refuses by the prompt alone
# - rooms = [(request.input_length, server.capacity), (request.size, server.decode_capacity)]
rooms = [(request.input_length, server.capacity), (request.input_length, server.decode_capacity)]

# %% does not think of the store
# - rooms += [] if server.storage is None else [(request.input_length, server.storage)]
pass

# %% forgets whom it refuses
# - server.refuse(request.id, reason)
pass

# fails prefill_memory_is_never_exceeded

# %% forgets the padding
# - return alike and max(lengths) * len(lengths) <= room
return alike and sum(lengths) <= room

# %% one too large
# - return alike and max(lengths) * len(lengths) <= room
return alike and max(lengths) * len(lengths) <= room + 1

# %% looks at the request alone
# - return alike and max(lengths) * len(lengths) <= room
return alike and request.input_length <= room

# fails caches_are_saved_then_freed_once

# %% frees twice
# - server.free_kv(request.id)
server.free_kv(request.id)
server.free_kv(request.id)

# %% frees, then saves
class PrefillLoop(PrefillLoop):
    def step(self, server: Any) -> None:
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
                server.free_kv(request.id)
                server.save_kv(request.id)
                continue
            server.free_kv(request.id)

# %% saves twice
# - server.save_kv(request.id)
server.save_kv(request.id)
server.save_kv(request.id)

# fails every_request_is_prefilled_once caches_are_saved_then_freed_once

# %% leaves those in memory that it finishes
# - server.free_kv(request.id)
if request.state != "done":
    server.free_kv(request.id)

# %% frees the first of the batch, again and again
# - server.free_kv(request.id)
server.free_kv(batch[0].id)

# fails prompts_of_a_batch_are_similar

# %% mixes all lengths
# - alike = max(lengths) - min(lengths) <= server.tolerance
alike = True

# %% compares with the first of the batch
# - alike = max(lengths) - min(lengths) <= server.tolerance
alike = abs(lengths[0] - request.input_length) <= server.tolerance

# %% rounds the tolerance
# - alike = max(lengths) - min(lengths) <= server.tolerance
alike = max(lengths) - min(lengths) <= server.tolerance + 1

# fails prefill_batches_keep_their_size

# %% has no limit for a batch
# - while len(batch) < server.max_batch:
# -     request = self.waiting.constrained_get(fits, LOOK_AHEAD)
# -     if request is None:
# -         break
# -     batch.append(request)
# -     in_batch.append(request.input_length)
# -     stored -= request.input_length
while True:
    request = self.waiting.constrained_get(fits, LOOK_AHEAD)
    if request is None:
        break
    batch.append(request)
    in_batch.append(request.input_length)
    stored -= request.input_length

# %% one more
# - while len(batch) < server.max_batch:
# -     request = self.waiting.constrained_get(fits, LOOK_AHEAD)
# -     if request is None:
# -         break
# -     batch.append(request)
# -     in_batch.append(request.input_length)
# -     stored -= request.input_length
while len(batch) <= server.max_batch:
    request = self.waiting.constrained_get(fits, LOOK_AHEAD)
    if request is None:
        break
    batch.append(request)
    in_batch.append(request.input_length)
    stored -= request.input_length

# fails prefill_batches_are_filled

# %% one at a time
# - while len(batch) < server.max_batch:
# -     request = self.waiting.constrained_get(fits, LOOK_AHEAD)
# -     if request is None:
# -         break
# -     batch.append(request)
# -     in_batch.append(request.input_length)
# -     stored -= request.input_length
while not batch:
    request = self.waiting.constrained_get(fits, LOOK_AHEAD)
    if request is None:
        break
    batch.append(request)
    in_batch.append(request.input_length)
    stored -= request.input_length

# %% one fewer
# - while len(batch) < server.max_batch:
# -     request = self.waiting.constrained_get(fits, LOOK_AHEAD)
# -     if request is None:
# -         break
# -     batch.append(request)
# -     in_batch.append(request.input_length)
# -     stored -= request.input_length
while len(batch) < max(1, server.max_batch - 1):
    request = self.waiting.constrained_get(fits, LOOK_AHEAD)
    if request is None:
        break
    batch.append(request)
    in_batch.append(request.input_length)
    stored -= request.input_length

# %% fills up with neighbours only
# - request = self.waiting.constrained_get(fits, LOOK_AHEAD)
request = self.waiting.constrained_get(fits, 1 if batch else LOOK_AHEAD)

# %% blocked by the first that does not fit
# - request = self.waiting.constrained_get(fits, LOOK_AHEAD)
request = self.waiting.constrained_get(fits, 1)

# fails prefill_never_idles_beside_work

# %% works in every second call only
# - batch = self._next_batch(server)
self.n_calls = getattr(self, 'n_calls', 0) + 1
batch = self._next_batch(server) if self.n_calls % 2 == 0 else []

# %% waits until the store is empty
# - if request.input_length > stored:
# -     return False
if stored < (server.storage or 0) and not batch or request.input_length > stored:
    return False

# fails a_batch_is_sent_before_the_next

# %% answers the short ones when nothing is left to compute
class PrefillLoop:
    def __init__(self) -> None:
        self.waiting = RequestQueue()

    def step(self, server: Any) -> None:
        for fields in server.arrivals():
            request = Request(fields, server.max_length)
            if reason := self._why_never(request, server):
                server.refuse(request.id, reason)
            else:
                self.waiting.add(request)
        batch = self._next_batch(server)
        self.ended = getattr(self, "ended", [])
        if not batch:
            for request in self.ended:
                server.finish(request.id)
            self.ended = []
            return
        for request in batch:
            request.state = "prefill"
        first = server.run_prefill([request.id for request in batch])
        for request, token in zip(batch, first, strict=True):
            request.add_token(token, server.eos)
            if request.state == "done":
                self.ended.append(request)
            else:
                server.save_kv(request.id)
            server.free_kv(request.id)

    def _why_never(self, request: Request, server: Any) -> str:
        if request.limit < 1:
            return "no room for a token"
        rooms = [(request.input_length, server.capacity), (request.size, server.decode_capacity)]
        rooms += [] if server.storage is None else [(request.input_length, server.storage)]
        return "too large" if any(size > room for size, room in rooms) else ""

    def _next_batch(self, server: Any) -> list[Request]:
        room, stored = server.free_tokens(), server.storage_room()
        stored = float("inf") if stored is None else stored
        batch: list[Request] = []
        in_batch: list[int] = []

        def fits(request: Request) -> bool:
            if request.input_length > stored:
                return False
            lengths = [*in_batch, request.input_length]
            alike = max(lengths) - min(lengths) <= server.tolerance
            return alike and max(lengths) * len(lengths) <= room

        while len(batch) < server.max_batch:
            request = self.waiting.constrained_get(fits, LOOK_AHEAD)
            if request is None:
                break
            batch.append(request)
            in_batch.append(request.input_length)
            stored -= request.input_length
        return batch

# %% decode waits for all prefill
# - if not batch:
# -     return
# - for request in batch:
# -     request.state = "prefill"
# - first = server.run_prefill([request.id for request in batch])
# - for request, token in zip(batch, first, strict=True):
# -     request.add_token(token, server.eos)
self.computed = getattr(self, "computed", [])
send = self.computed if server.storage is not None or not batch else []
if batch:
    first = server.run_prefill([request.id for request in batch])
    for request, token in zip(batch, first, strict=True):
        request.add_token(token, server.eos)
        self.computed.append(request)
while send:
    request = send.pop()

# fails nobody_is_passed_over

# %% the commonest length first
# - batch = self._next_batch(server)
every = [self.waiting.constrained_get(lambda request: True) for _ in range(len(self.waiting))]
for request in sorted(every, key=lambda request: -sum(one.input_length == request.input_length for one in every)):
    self.waiting.add(request)
batch = self._next_batch(server)

# %% the newest first
# - batch = self._next_batch(server)
every = [self.waiting.constrained_get(lambda request: True) for _ in range(len(self.waiting))]
for request in sorted(every, key=lambda request: -every.index(request)):
    self.waiting.add(request)
batch = self._next_batch(server)

# %% by their ids
# - batch = self._next_batch(server)
every = [self.waiting.constrained_get(lambda request: True) for _ in range(len(self.waiting))]
for request in sorted(every, key=lambda request: request.id):
    self.waiting.add(request)
batch = self._next_batch(server)

# %% the shortest first
# - batch = self._next_batch(server)
every = [self.waiting.constrained_get(lambda request: True) for _ in range(len(self.waiting))]
for request in sorted(every, key=lambda request: request.input_length):
    self.waiting.add(request)
batch = self._next_batch(server)

# %% who does not fit goes to the end
# - request = self.waiting.constrained_get(fits, LOOK_AHEAD)
request = None
for _ in range(len(self.waiting)):
    request = self.waiting.constrained_get(lambda one: True)
    if fits(request):
        break
    self.waiting.add(request)
    request = None

# fails the_store_is_never_exceeded

# %% does not ask the store
# - if request.input_length > stored:
# -     return False
if False:
    return False

# %% asks the store for each alone
# - stored -= request.input_length
pass

# %% knows the size of the store, not what is left
# - room, stored = server.free_tokens(), server.storage_room()
room, stored = server.free_tokens(), server.storage
