"""Wrong answers to `PrefixCache`: edits of the reference, or the whole answer."""

# fails whole_blocks_are_found (many_requests_find_what_is_left)

# %% counts the tokens of a block that is not full
# - return len(found) * self.block_size
full = len(found) == len(tokens) // self.block_size > 0
n_more = len(tokens) % self.block_size if full else 0
return min(len(found) * self.block_size + n_more, len(tokens) - 1)

# fails whole_blocks_are_found another_salt_finds_nothing a_block_in_use_is_never_evicted
#   the_budget_is_used_and_never_exceeded the_least_recently_used_block_goes
#   every_kept_block_can_be_found one_token_is_left_to_compute another_beginning_finds_nothing
#   many_requests_find_what_is_left

# %% blocks
# = return len(found) * self.block_size => return len(found)

# fails one_token_is_left_to_compute (many_requests_find_what_is_left)

# %% nothing left to compute
# = (len(tokens) - 1) // self.block_size => len(tokens) // self.block_size

# fails one_token_is_left_to_compute a_block_in_use_is_never_evicted
#   (many_requests_find_what_is_left)

# %% all but one token
# = (len(tokens) - 1) // self.block_size => len(tokens) // self.block_size
# = return len(found) * self.block_size => return min(len(found) * self.block_size, len(tokens) - 1)

# fails another_beginning_finds_nothing has_says_which_blocks_are_kept
#   (whole_blocks_are_found many_requests_find_what_is_left)

# %% hashes of the block alone, without its parent
class PrefixCache(PrefixCache):
    def _names(self, tokens, salt):
        size = self.block_size
        n_full = len(tokens) // size * size
        return [(salt, *tokens[i : i + size]) for i in range(0, n_full, size)]

    def has(self, block_hash):
        return block_hash in self.users

    def find(self, request_id, tokens, salt=""):
        if request_id in self.running:
            raise ValueError(f"request {request_id} is running already")
        found = []
        for name in self._names(tokens, salt)[: (len(tokens) - 1) // self.block_size]:
            if name not in self.users:
                break
            found.append(name)
            self.users[name] += 1
        self.running[request_id] = found
        return len(found) * self.block_size

    def keep(self, request_id, tokens, salt=""):
        if request_id not in self.running:
            raise ValueError(f"request {request_id} is not running")
        for name in self.running.pop(request_id):
            self.users[name] -= 1
        names, n_own = list(dict.fromkeys(self._names(tokens, salt))), 0
        for name in names:
            if not (name in self.users or self._has_room(set(names))):
                break
            self.users.setdefault(name, 0)
            n_own += 1
        for name in reversed(names[:n_own]):
            self.users[name] = self.users.pop(name)

# fails another_salt_finds_nothing

# %% without the salt
class PrefixCache(PrefixCache):
    def find(self, request_id, tokens, salt=""):
        return super().find(request_id, tokens)

    def keep(self, request_id, tokens, salt=""):
        super().keep(request_id, tokens)

# %% keeps without the salt
class PrefixCache(PrefixCache):
    def keep(self, request_id, tokens, salt=""):
        super().keep(request_id, tokens)

# %% finds without the salt
class PrefixCache(PrefixCache):
    def find(self, request_id, tokens, salt=""):
        return super().find(request_id, tokens)

# fails calls_out_of_order_are_refused

# %% starts a request twice
# = if request_id in self.running => if False

# %% takes any budget
# = if min(n_blocks, block_size) < 1 => if block_size < 1

# %% takes blocks without tokens
# = if min(n_blocks, block_size) < 1 => if n_blocks < 1

# %% keeps what never started
# = if request_id not in self.running => if self.running.setdefault(request_id, []) is None

# %% an id only once
class PrefixCache(PrefixCache):
    def find(self, request_id, tokens, salt=""):
        self.seen = getattr(self, "seen", set())
        if request_id in self.seen:
            raise ValueError("this id was used before")
        found = super().find(request_id, tokens, salt)
        self.seen.add(request_id)
        return found

# fails the_budget_is_used_and_never_exceeded every_kept_block_can_be_found
#   a_block_in_use_is_never_evicted the_least_recently_used_block_goes
#   has_says_which_blocks_are_kept many_requests_find_what_is_left

# %% never evicts
# = if self.n_kept < self.n_blocks => if True

# fails the_budget_is_used_and_never_exceeded a_block_in_use_is_never_evicted
#   many_requests_find_what_is_left

# %% does not keep a prompt for which there is no room
# - own, n_own = set(hashes), 0
if len(hashes) > self.n_blocks - sum(n > 0 for n in self.users.values()):
    return
own, n_own = set(hashes), 0

# fails the_budget_is_used_and_never_exceeded (many_requests_find_what_is_left
#   a_block_in_use_is_never_evicted every_kept_block_can_be_found)

# %% evicts blocks of the same prompt
# - evicted = next((one for one, n in self.users.items() if not n and one not in own), None)
evicted = next((one for one, n in self.users.items() if not n), None)

# fails the_least_recently_used_block_goes (many_requests_find_what_is_left)

# %% the oldest goes, however often it was used
# = reversed(hashes[:n_own]) => [one for one in hashes[:n_own][::-1] if one not in before]
# - own, n_own = set(hashes), 0
before, own, n_own = set(self.users), set(hashes), 0

# fails every_kept_block_can_be_found (many_requests_find_what_is_left
#   a_block_in_use_is_never_evicted the_least_recently_used_block_goes)

# %% evicts the first block of a prompt first
# = in reversed(hashes[:n_own]) => in hashes[:n_own]

# fails a_block_in_use_is_never_evicted (many_requests_find_what_is_left)

# %% evicts blocks in use
# - evicted = next((one for one, n in self.users.items() if not n and one not in own), None)
evicted = next((one for one, n in self.users.items() if one not in own), None)
# - self.users[block_hash] -= 1
self.users[block_hash] = max(0, self.users.get(block_hash, 0) - 1) if self.has(block_hash) else 0
if not self.users[block_hash]:
    self.users.pop(block_hash)

# %% forgets other users when one request ends
# - self.users[block_hash] -= 1
self.users[block_hash] = 0

# %% remembers one user of a block, not their number
# - self.users[block_hash] += 1
self.users[block_hash] = 1
# - self.users[block_hash] -= 1
self.users[block_hash] = 0

# %% blocks stay in use for ever
# - self.users[block_hash] -= 1
pass

# %% a request that ends frees all blocks of its tokens, not those that it counted
# - for block_hash in self.running.pop(request_id):
# -     self.users[block_hash] -= 1
self.running.pop(request_id)
for block_hash in block_hashes(tokens, self.block_size, salt):
    if self.users.get(block_hash):
        self.users[block_hash] -= 1

# %% the block that is computed again is in use, too
# = (len(tokens) - 1) // self.block_size => len(tokens) // self.block_size
# = return len(found) * self.block_size => return min(len(found), (len(tokens) - 1) // self.block_size) * self.block_size

# fails has_says_which_blocks_are_kept

# %% has is always true
class PrefixCache(PrefixCache):
    def has(self, block_hash):
        return True

    def find(self, request_id, tokens, salt=""):
        self.has = lambda one: one in self.users
        return super().find(request_id, tokens, salt)

    def keep(self, request_id, tokens, salt=""):
        self.has = lambda one: one in self.users
        super().keep(request_id, tokens, salt)
        del self.has

# fails the_least_recently_used_block_goes (many_requests_find_what_is_left)

# %% a block is used when a request finds it, not when it ends
class PrefixCache(PrefixCache):
    def find(self, request_id, tokens, salt=""):
        n_found = super().find(request_id, tokens, salt)
        for block_hash in reversed(self.running[request_id]):
            self.users[block_hash] = self.users.pop(block_hash)
        return n_found

    def keep(self, request_id, tokens, salt=""):
        found, before = list(self.running.get(request_id, ())), list(self.users)
        super().keep(request_id, tokens, salt)
        order = [one for one in before if one in self.users and one in found]
        rest = [one for one in self.users if one not in order]
        n_before = sum(one in rest for one in before[: before.index(order[0])]) if order else 0
        rest[n_before:n_before] = order
        self.users = {one: self.users[one] for one in rest}
