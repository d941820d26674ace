"""Wrong answers to `Scheduler`: edits of the reference."""

# fails no_pass_exceeds_the_budget

# %% one token over the budget
# = {}, card.budget, False => {}, card.budget + 1, False

# fails who_fits_begins_in_the_next_pass passes_are_filled

# %% static batches: nobody begins while others run
# = {}, card.budget, False => {}, card.budget, bool(self.running)

# %% one request in each pass
# = while self.waiting and left and => while self.waiting and not planned and

# fails running_requests_come_first (every_request_is_served)

# %% pieces of prompts before running requests
# = for request in [*self.running]: => for request in sorted(self.running, key=lambda each: -self._n_due(each)):

# fails running_requests_come_first (preempts_only_without_blocks)

# %% new prompts first, running requests after them
# - planned, left, is_full = {}, card.budget, False
planned, left, is_full = {}, card.budget, False
old, self.running = self.running, []
while self.waiting and left and len(old) + len(self.running) < card.max_batch:
    request = self.waiting[0]
    self._share(request, card)
    n = min(left, self._n_due(request))
    if not self._take(request, n, card):
        self._give_back(request)
        break
    self.running.append(self.waiting.popleft())
    planned[request] = n
    left -= n
self.running = [*old, *self.running]
# = for request in [*self.running]: => for request in [one for one in self.running if one not in planned]:
# = while n and request in self.running and not => while n and request in self.running and request not in planned and not
# - newest, is_full = self.running.pop(), True
newest, is_full = self.running.pop(), True
left += planned.pop(newest, 0)

# fails the_newest_is_preempted

# %% preempts the oldest
# = self.running.pop(), True => self.running.pop(0), True

# fails preempts_only_without_blocks

# %% preempts while one block is free
# = n_more > len(self.free) => n_more and n_more >= len(self.free)

# fails no_call_does_nothing_beside_work (who_fits_begins_in_the_next_pass passes_are_filled
#   preempts_only_without_blocks)

# %% blocks of finished requests are lost
# - card.finish(request.id)
# - self._give_back(request)
card.finish(request.id)

# fails preempts_only_without_blocks (passes_are_filled known_prefixes_are_not_computed_again
#   no_call_does_nothing_beside_work)

# %% blocks of preempted requests are lost
# - card.preempt(newest.id)
# - self._give_back(newest)
card.preempt(newest.id)
newest.blocks = []

# fails pieces_read_their_own_tokens nobody_writes_into_a_shared_block

# %% shares a block that is not full yet
# = request.hashes[: request.n_cached // card.block_size] => request.hashes[: -(-request.n_cached // card.block_size)]

# %% a taken block keeps its hash
# - if self.block_of.get(old := self.hash_of.pop(block, None)) == block:
# -     del self.block_of[old]

# fails passes_are_filled

# %% cuts a prompt only if it is alone in a pass
# - if not self._take(request, n, card):
# -     self._give_back(request)
# -     break
if (planned and n < self._n_due(request)) or not self._take(request, n, card):
    self._give_back(request)
    break

# fails blocks_are_taken_as_answers_grow (passes_are_filled)

# %% reserves the size
# = n_more = -(-(request.n_cached + n) // => n_more = -(-request.size //

# fails blocks_are_taken_as_answers_grow preempts_only_without_blocks
#   (no_call_does_nothing_beside_work)

# %% two blocks more than needed
# = card.block_size) - len(request.blocks) => card.block_size) + 2 - len(request.blocks)

# fails known_prefixes_are_not_computed_again

# %% no prefix is shared
# = request.hashes[: (self._n_due(request) - 1) // card.block_size] => ()

# %% a freed block is not found any more
# - if not self.n_users[block]:
# -     self.free.append(block)
if not self.n_users[block]:
    self.free.append(block)
    if self.block_of.get(old := self.hash_of.pop(block, None)) == block:
        del self.block_of[old]

# %% prefixes can be found after the answer only
# - self._computed(request, n, card)
request.n_cached += n
# - if request.state == "done":
if request.state == "done":
    for block, each in zip(request.blocks, request.hashes, strict=False):
        self.block_of[each], self.hash_of[block] = block, each

# fails every_request_is_served

# %% shares a whole prompt
# = (self._n_due(request) - 1) // card.block_size => self._n_due(request) // card.block_size

# fails nobody_writes_into_a_shared_block

# %% a shared block has one user
# = self.n_users[block] += 1 => self.n_users[block] = 1

# %% a shared block stays in the list of free ones
# - if not self.n_users[block]:
# -     self.free.remove(block)
# - self.n_users[block] += 1
self.n_users[block] += 1

# fails requests_begin_in_order

# %% preempted requests go to the end of the queue
# = self.waiting.appendleft(newest) => self.waiting.append(newest)

# %% the newest begins first
# - request = self.waiting[0]
self.waiting.rotate(1)
request = self.waiting[0]

# %% the shortest begins first
# - request = self.waiting[0]
self.waiting = deque(sorted(self.waiting, key=lambda each: each.input_length))
request = self.waiting[0]

# fails requests_begin_in_order no_call_does_nothing_beside_work (passes_are_filled)

# %% preempted requests are forgotten
# - self.waiting.appendleft(newest)

# fails no_call_does_nothing_beside_work passes_are_filled (running_requests_come_first
#   known_prefixes_are_not_computed_again)

# %% preempted requests lose their tokens
# - self.waiting.appendleft(newest)
newest.tokens.clear()
self.waiting.appendleft(newest)

# fails running_requests_come_first passes_are_filled nobody_writes_into_a_shared_block
#   (pieces_follow_each_other)

# %% does not tell that it preempts
# - card.preempt(newest.id)

# fails no_call_does_nothing_beside_work

# %% a call that preempts runs no pass
# = if not planned: => if not planned or any(not each.blocks and each.tokens for each in self.waiting):

# %% does nothing after a request has ended
# - self.running.remove(request)
self.running.remove(request)
self.rest = 2
# - planned = self._plan(card)
self.rest = getattr(self, "rest", 0) - 1
if self.rest >= 0:
    return
planned = self._plan(card)

# fails only_the_impossible_is_refused

# %% refuses what fits exactly
# = request.size > card.n_blocks => request.size >= card.n_blocks

# %% refuses nothing that may have no token
# = if request.limit < 1: => if request.limit < -10_000:

# fails only_the_impossible_is_refused (answers_end_where_they_should)

# %% max_length 64
# = Request(fields, card.max_length) => Request(fields, 64)

# fails no_more_run_than_slots

# %% one slot too many
# = < card.max_batch and => <= card.max_batch and

# %% slots are not counted
# =  and len(self.running) < card.max_batch and not is_full =>  and not is_full

# fails blocks_cover_the_tokens

# %% takes a block one token late
# = -(-(request.n_cached + n) // card.block_size) => -(-(request.n_cached + n - (request.n_cached > 0)) // card.block_size)

# fails answers_end_where_they_should

# %% the end of a text is not seen
# = request.add_token(token, card.eos) => request.add_token(token, -1)

# fails pieces_follow_each_other nobody_writes_into_a_shared_block (running_requests_come_first
#   known_prefixes_are_not_computed_again)

# %% begins pieces anew
# = request.n_cached += n => request.n_cached = n

# fails who_fits_begins_in_the_next_pass

# %% waits a call before it begins beside others
# - request = self.waiting[0]
request = self.waiting[0]
n_wanted = -(-request.size // card.block_size) + len(self.running) + 1
is_late = len(self.free) >= n_wanted and self._n_due(request) <= left
if self.running and is_late and not hasattr(request, "late"):
    request.late = True
    break

# fails pieces_follow_each_other

# %% the last token of a cut piece is computed again
# = request.n_cached += n => request.n_cached += n - (n > 1 and request.n_cached + n < request.input_length)

# fails pieces_read_their_own_tokens

# %% shared blocks in the wrong order
# - self.n_users[block] += 1
# - request.blocks.append(block)
self.n_users[block] += 1
request.blocks.insert(0, block)

# fails no_call_does_nothing_beside_work (preempts_only_without_blocks)

# %% users of shared blocks are not counted down at a preemption
# - card.preempt(newest.id)
# - self._give_back(newest)
card.preempt(newest.id)
for block in reversed(newest.blocks):
    if self.n_users[block] == 1:
        self.n_users[block] = 0
        self.free.append(block)
newest.blocks, newest.n_cached = [], 0

# fails known_prefixes_are_not_computed_again

# %% hits end before the last block of a prompt, also after a preemption
# = (self._n_due(request) - 1) // card.block_size => (request.input_length - 1) // card.block_size
