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

# fails similar_prompts_share_a_batch every_request_is_prefilled_once prefill_batches_are_filled
#   prefill_never_idles_beside_work nobody_is_passed_over

# %% loses who does not fit
# - request = self.waiting.constrained_get(fits, LOOK_AHEAD)
request = self.waiting.constrained_get(lambda request: True)
if request is not None and not fits(request):
    break

# fails every_request_is_prefilled_once prefill_never_idles_beside_work nobody_is_passed_over

# %% waits for a full batch
# - if not batch:
if len(batch) < server.max_batch:
    for request in batch:
        self.waiting.add(request)

# fails the_first_token_counts

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

# fails prefill_memory_is_never_exceeded

# %% forgets the padding
# = max(lengths) * len(lengths) => sum(lengths)

# %% one too large
# = max(lengths) * len(lengths) <= room => max(lengths) * len(lengths) <= room + 1

# fails caches_are_saved_then_freed_once

# %% frees twice
# - server.free_kv(request.id)
server.free_kv(request.id)
server.free_kv(request.id)

# %% frees, then saves
# - server.save_kv(request.id)
server.free_kv(request.id)
server.save_kv(request.id)
continue

# fails every_request_is_prefilled_once caches_are_saved_then_freed_once

# %% leaves those in memory that it finishes
# - server.free_kv(request.id)
if request.state != "done":
    server.free_kv(request.id)

# %% frees the first of the batch, again and again
# = server.free_kv(request.id) => server.free_kv(batch[0].id)

# fails similar_prompts_share_a_batch prompts_of_a_batch_are_similar

# %% mixes all lengths
# = max(lengths) - min(lengths) <= server.tolerance => True

# fails prompts_of_a_batch_are_similar

# %% compares with the first of the batch
# = max(lengths) - min(lengths) => abs(lengths[0] - request.input_length)

# %% takes a tolerance of 0 for none at all
# = server.tolerance => (server.tolerance or server.max_length)

# fails prefill_batches_keep_their_size

# %% has no limit for a batch
# = len(batch) < server.max_batch => True

# fails similar_prompts_share_a_batch prefill_batches_are_filled

# %% never batches: one at a time
# = len(batch) < server.max_batch => not batch

# %% blocked by the first that does not fit
# = self.waiting.constrained_get(fits, LOOK_AHEAD) => self.waiting.constrained_get(fits, 1)

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

# fails the_store_is_never_exceeded

# %% does not ask the store
# = request.input_length > stored => False

# %% asks the store for each alone
# = stored -= request.input_length => pass

# %% does not know the store at all
# = server.storage_room() => None

# fails similar_prompts_share_a_batch

# %% joins exactly equal lengths, whatever the tolerance
# = max(lengths) - min(lengths) <= server.tolerance => max(lengths) == min(lengths)

# fails prefill_batches_are_filled

# %% looks at the first 64 only
# = self.waiting.constrained_get(fits, LOOK_AHEAD) => self.waiting.constrained_get(fits, 64)

# fails every_request_is_prefilled_once only_what_cannot_run_is_refused

# %% what ends here need not fit there
# - rooms = [(request.input_length, server.capacity), (request.size, server.decode_capacity)]
# - rooms += [] if server.storage is None else [(request.input_length, server.storage)]
rooms = [(request.input_length, server.capacity)]
if request.limit > 1:
    rooms += [(request.size, server.decode_capacity)]
    rooms += [] if server.storage is None else [(request.input_length, server.storage)]

# fails prefill_batches_are_filled

# %% the store with padding
# - alike = max(lengths) - min(lengths) <= server.tolerance
alike = max(lengths) - min(lengths) <= server.tolerance and max(lengths) * len(lengths) <= stored + sum(in_batch)

# fails the_first_token_counts only_what_cannot_run_is_refused

# %% max_length 64
# = Request(fields, server.max_length) => Request(fields, 64)
