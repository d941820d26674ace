"""Wrong answers to `RequestQueue`: edits of the reference, or the whole answer."""

# fails the_oldest_that_fulfils_is_taken

# %% the newest that fulfils
# - for i, request in enumerate(islice(self._requests, n_most)):
# -     if condition(request):
# -         del self._requests[i]
for i, request in reversed(list(enumerate(islice(self._requests, n_most)))):
    if condition(request):
        del self._requests[i]

# %% the shortest that fulfils
# - for i, request in enumerate(islice(self._requests, n_most)):
# -     if condition(request):
# -         del self._requests[i]
first = list(enumerate(islice(self._requests, n_most)))
for i, request in sorted(first, key=lambda pair: pair[1]["input_length"]):
    if condition(request):
        del self._requests[i]

# fails the_oldest_that_fulfils_is_taken all_others_keep_their_places who_was_taken_is_gone
#   no_more_than_n_most_are_looked_at

# %% the head of the line blocks
# = islice(self._requests, n_most) => islice(self._requests, 1)

# fails the_oldest_that_fulfils_is_taken all_others_keep_their_places
#   no_more_than_n_most_are_looked_at the_oldest_is_shown_and_stays

# %% new ones at the front
# = self._requests.append(request) => self._requests.appendleft(request)

# fails all_others_keep_their_places

# %% who does not fit goes to the end
# = del self._requests[i] => self._requests.pop()

# - for i, request in enumerate(islice(self._requests, n_most)):
for request in list(islice(self._requests, n_most)):
    self._requests.rotate(-1)

# %% the last takes the gap
# - del self._requests[i]
last = self._requests.pop()
if i < len(self._requests):
    self._requests[i] = last

# fails all_others_keep_their_places if_none_fulfils_none_is_taken the_length_is_who_waits

# %% who does not fit is lost
# - for i, request in enumerate(islice(self._requests, n_most)):
for request in list(islice(self._requests, n_most)):
    self._requests.popleft()

# - del self._requests[i]

# fails all_others_keep_their_places if_none_fulfils_none_is_taken
#   no_more_than_n_most_are_looked_at the_length_is_who_waits

# %% only the first is lost if it does not fit
# - def constrained_get(
# -     self,
# -     condition: Callable[[Any], bool],
# -     n_most: int | None = None,
# - ) -> Any:
def constrained_get(self, condition: Callable[[Any], bool], n_most: int | None = None) -> Any:
    if self._requests and not condition(self._requests[0]):
        self._requests.popleft()

# fails all_others_keep_their_places if_none_fulfils_none_is_taken who_was_taken_is_gone
#   no_more_than_n_most_are_looked_at the_length_is_who_waits

# %% an error if none fulfils
# = return None => raise StopIteration

# fails if_none_fulfils_none_is_taken

# %% an error if there is none
# - def constrained_get(
# -     self,
# -     condition: Callable[[Any], bool],
# -     n_most: int | None = None,
# - ) -> Any:
def constrained_get(self, condition: Callable[[Any], bool], n_most: int | None = None) -> Any:
    self._requests[0]

# %% none of none is False
# = return None => return None if self._requests else False

# fails all_others_keep_their_places who_was_taken_is_gone the_length_is_who_waits

# %% looks, and takes nothing
# = del self._requests[i] => pass

# fails who_was_taken_is_gone

# %% asks about those that were taken
# = self._requests: deque = deque() => self._requests, self._taken = deque(), []

# - def constrained_get(
# -     self,
# -     condition: Callable[[Any], bool],
# -     n_most: int | None = None,
# - ) -> Any:
def constrained_get(self, condition: Callable[[Any], bool], n_most: int | None = None) -> Any:
    if n_most is None:
        [condition(request) for request in self._taken]

# - del self._requests[i]
self._taken.append(request)
del self._requests[i]

# fails no_more_than_n_most_are_looked_at

# %% looks at all of them
# = islice(self._requests, n_most) => self._requests

# %% takes from the first, asks about all
# = if condition(request): => if fits[i]:

# - def constrained_get(
# -     self,
# -     condition: Callable[[Any], bool],
# -     n_most: int | None = None,
# - ) -> Any:
def constrained_get(self, condition: Callable[[Any], bool], n_most: int | None = None) -> Any:
    fits = [condition(request) for request in self._requests]

# %% one more
# = islice(self._requests, n_most) => islice(self._requests, None if n_most is None else n_most + 1)

# %% one fewer
# = islice(self._requests, n_most) => islice(self._requests, None if n_most is None else n_most - 1)

# %% as many must be there
# - for i, request in enumerate(islice(self._requests, n_most)):
for i in range(len(self._requests) if n_most is None else n_most):
    request = self._requests[i]

# fails all_others_keep_their_places the_oldest_is_shown_and_stays

# %% the oldest is taken by looking
# = self._requests[0] => self._requests.popleft()

# %% the newest for the oldest
# = self._requests[0] => self._requests[-1]

# fails the_oldest_is_shown_and_stays

# %% no oldest is None
# = self._requests[0] => self._requests[0] if self._requests else None

# fails the_length_is_who_waits

# %% counts all that ever came
# = self._requests: deque = deque() => self._requests, self._n = deque(), 0
# = len(self._requests) => self._n

# - self._requests.append(request)
self._requests.append(request)
self._n += 1

# fails no_more_than_n_most_are_looked_at

# %% n_most 0 is all
# = islice(self._requests, n_most) => islice(self._requests, n_most or None)

# fails no_more_than_n_most_are_looked_at

# %% with n_most those that do not fit go to the end
# - for i, request in enumerate(islice(self._requests, n_most)):
# -     if condition(request):
# -         del self._requests[i]
# -         return request
if n_most is None:
    for i, request in enumerate(self._requests):
        if condition(request):
            del self._requests[i]
            return request
    return None
for _ in range(min(n_most, len(self._requests))):
    request = self._requests.popleft()
    if condition(request):
        return request
    self._requests.append(request)

# fails the_oldest_that_fulfils_is_taken

# %% default of n_most is 256
# = n_most: int | None = None => n_most: int | None = 256
