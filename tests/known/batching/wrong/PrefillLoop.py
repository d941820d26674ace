"""Wrong answers to `PrefillLoop`: edits of the reference, or the whole answer."""

# fails every_request_is_prefilled_once

# %% runs each prefill twice
# - first = server.run_prefill([request.id for request in batch])
first = server.run_prefill([request.id for request in batch])
first = server.run_prefill([request.id for request in batch])

# %% waits for a request that may never come
# - return
while not server.arrivals():
    pass
return

# fails every_request_is_prefilled_once prefill_batches_are_filled
#   prefill_never_idles_beside_work nobody_is_passed_over

# %% loses who does not fit
# - request = self.waiting.constrained_get(fits, LOOK_AHEAD)
request = self.waiting.constrained_get(lambda request: True)
if request is not None and not fits(request):
    break

# fails every_request_is_prefilled_once prefill_never_idles_beside_work (nobody_is_passed_over)

# %% waits for a full batch
# - if not batch:
if len(batch) < server.max_batch:
    for request in batch:
        self.waiting.add(request)

# fails each_is_sent_once_before_the_next

# %% the tokens of requests in another order
# - first = server.run_prefill([request.id for request in batch])
by_length = sorted(batch, key=lambda request: request.input_length)
first = server.run_prefill([request.id for request in by_length])

# %% saves everybody
# - if request.state == "done":
# -     server.finish(request.id)
# - else:
# -     server.save_kv(request.id)
server.save_kv(request.id)

# %% does not know the end of a text
# = request.add_token(token, server.eos) => request.add_token(token, -1)

# %% knows the end of a text only
# = request.state == "done" => token == server.eos

# fails only_what_cannot_run_is_refused

# %% refuses what fills the room to the token
# = size > room => size >= room

# %% never says why
# = server.refuse(request.id, reason) => server.refuse(request.id)

# %% refuses who leaves the length open
# = request.limit < 1 => request.size >= server.max_length

# fails every_request_is_prefilled_once only_what_cannot_run_is_refused

# %% refuses nobody
# = any(size > room for size, room in rooms) => False

# %% refuses by the prompt alone
# = request.size => request.input_length

# %% does not think of the store
# = rooms += [] if server.storage is None else [(request.input_length, server.storage)] => pass

# fails memories_are_never_exceeded

# %% one too large
# = n <= room => n <= room + 1

# %% asks the memory for each alone
# = n <= room => request.input_length <= room

# fails each_is_sent_once_before_the_next

# %% frees twice
# - server.free_kv(request.id)
server.free_kv(request.id)
server.free_kv(request.id)

# %% frees, then saves
# - server.save_kv(request.id)
server.free_kv(request.id)
server.save_kv(request.id)
continue

# fails every_request_is_prefilled_once each_is_sent_once_before_the_next

# %% leaves those in memory that it finishes
# - server.free_kv(request.id)
if request.state != "done":
    server.free_kv(request.id)

# %% frees the first of the batch, again and again
# = server.free_kv(request.id) => server.free_kv(batch[0].id)

# fails prefill_batches_keep_their_limits

# %% exceeds the budget by one
# = n <= server.budget => n <= server.budget + 1

# %% has no budget
# = (not batch or n <= server.budget) => True

# %% looks whether the batch has its budget already
# = n <= server.budget => n_tokens < server.budget

# %% has no limit for a batch
# = len(batch) < server.max_batch => True

# fails prefill_batches_are_filled

# %% counts the budget with padding
# - return n <= room and (not batch or n <= server.budget)
lengths = [request.input_length for request in [*batch, request]]
padded = max(lengths) * len(lengths)
return n <= room and (not batch or padded <= server.budget)

# %% leaves a token of the budget
# = n <= server.budget => n < server.budget

# %% counts the answers too
# = n_tokens += request.input_length => n_tokens += request.size

# fails prefill_batches_are_filled (a_crowd_shares_few_batches)

# %% only prompts of similar lengths
# - return n <= room and (not batch or n <= server.budget)
if batch and abs(request.input_length - batch[0].input_length) > 8:
    return False
return n <= room and (not batch or n <= server.budget)

# fails a_crowd_shares_few_batches

# %% four at most
# = len(batch) < server.max_batch => len(batch) < min(4, server.max_batch)

# fails a_crowd_shares_few_batches prefill_batches_are_filled

# %% never batches: one at a time
# = len(batch) < server.max_batch => not batch

# fails every_request_is_prefilled_once prefill_never_idles_beside_work

# %% never computes a prompt that is longer than the budget
# = (not batch or n <= server.budget) => n <= server.budget

# fails only_what_cannot_run_is_refused

# %% refuses a prompt that is longer than the budget
# = rooms = [(request.input_length, server.capacity) => rooms = [(request.input_length, min(server.budget, server.capacity))

# fails prefill_never_idles_beside_work

# %% works in every second call only
# - batch = self._next_batch(server)
self.n_calls = getattr(self, 'n_calls', 0) + 1
batch = self._next_batch(server) if self.n_calls % 2 == 0 else []

# %% waits until the store is empty
# - n = n_tokens + request.input_length
if stored is not None and stored < server.storage:
    return False
n = n_tokens + request.input_length

# fails each_is_sent_once_before_the_next

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

# fails prefill_batches_are_filled nobody_is_passed_over (prefill_never_idles_beside_work)

# %% passes over the oldest
# - batch = self._next_batch(server)
if len(self.waiting) > 1:
    oldest = self.waiting.constrained_get(lambda request: True)
    batch = self._next_batch(server)
    rest = [self.waiting.constrained_get(lambda request: True) for _ in range(len(self.waiting))]
    for request in [oldest, *rest]:
        self.waiting.add(request)
else:
    batch = self._next_batch(server)

# fails memories_are_never_exceeded

# %% does not ask the store
# = room if stored is None else min(room, stored) => room

# %% asks the store for each alone
# - room = room if stored is None else min(room, stored)
stored = room if stored is None else stored
# = n <= room => n <= room and request.input_length <= stored

# fails every_request_is_prefilled_once only_what_cannot_run_is_refused

# %% what ends here need not fit there
# - rooms = [(request.input_length, server.capacity), (request.size, server.decode_capacity)]
# - rooms += [] if server.storage is None else [(request.input_length, server.storage)]
rooms = [(request.input_length, server.capacity)]
if request.limit > 1:
    rooms += [(request.size, server.decode_capacity)]
    rooms += [] if server.storage is None else [(request.input_length, server.storage)]

# fails each_is_sent_once_before_the_next only_what_cannot_run_is_refused

# %% max_length 64
# = Request(fields, server.max_length) => Request(fields, 64)
