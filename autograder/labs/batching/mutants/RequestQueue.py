"""Wrong answers to `RequestQueue`: edits of the reference, or the whole answer."""

# fails the_oldest_that_fulfils_is_taken

# %% the newest that fulfils
class RequestQueue:
    def __init__(self):
        self._requests = []

    def __len__(self):
        return len(self._requests)

    def add(self, request):
        self._requests.append(request)

    def oldest(self):
        return self._requests[0]

    def constrained_get(self, condition, n_most=None):
        looked_at = self._requests[:n_most]
        for i in reversed(range(len(looked_at))):
            if condition(looked_at[i]):
                return self._requests.pop(i)

# %% the shortest that fulfils
class RequestQueue:
    def __init__(self):
        self._requests = []

    def __len__(self):
        return len(self._requests)

    def add(self, request):
        self._requests.append(request)

    def oldest(self):
        return self._requests[0]

    def constrained_get(self, condition, n_most=None):
        fit = [r for r in self._requests[:n_most] if condition(r)]
        if fit:
            best = min(fit, key=lambda r: r["input_length"])
            self._requests.remove(best)
            return best

# fails the_oldest_that_fulfils_is_taken all_others_keep_their_places who_was_taken_is_gone
#   no_more_than_n_most_are_looked_at

# %% the head of the line blocks
class RequestQueue:
    def __init__(self):
        self._requests = []

    def __len__(self):
        return len(self._requests)

    def add(self, request):
        self._requests.append(request)

    def oldest(self):
        return self._requests[0]

    def constrained_get(self, condition, n_most=None):
        if self._requests and condition(self._requests[0]):
            return self._requests.pop(0)
        return None

# fails the_oldest_that_fulfils_is_taken all_others_keep_their_places
#   no_more_than_n_most_are_looked_at the_oldest_is_shown_and_stays

# %% new ones at the front
# - self._requests.append(request)
self._requests.appendleft(request)

# fails all_others_keep_their_places

# %% who does not fit goes to the end
class RequestQueue:
    def __init__(self):
        self._requests = []

    def __len__(self):
        return len(self._requests)

    def add(self, request):
        self._requests.append(request)

    def oldest(self):
        return self._requests[0]

    def constrained_get(self, condition, n_most=None):
        for _ in self._requests[:n_most]:
            request = self._requests.pop(0)
            if condition(request):
                return request
            self._requests.append(request)
        return None

# fails the_oldest_that_fulfils_is_taken all_others_keep_their_places

# %% the last takes the gap
# - del self._requests[i]
last = self._requests.pop()
if i < len(self._requests):
    self._requests[i] = last

# fails the_oldest_that_fulfils_is_taken all_others_keep_their_places
#   if_none_fulfils_none_is_taken the_length_is_who_waits

# %% who does not fit is lost
class RequestQueue:
    def __init__(self):
        self._requests = []

    def __len__(self):
        return len(self._requests)

    def add(self, request):
        self._requests.append(request)

    def oldest(self):
        return self._requests[0]

    def constrained_get(self, condition, n_most=None):
        for _ in self._requests[:n_most]:
            request = self._requests.pop(0)
            if condition(request):
                return request
        return None

# fails the_oldest_that_fulfils_is_taken all_others_keep_their_places
#   if_none_fulfils_none_is_taken no_more_than_n_most_are_looked_at the_length_is_who_waits

# %% only the first is lost if it does not fit
class RequestQueue:
    def __init__(self):
        self._requests = []

    def __len__(self):
        return len(self._requests)

    def add(self, request):
        self._requests.append(request)

    def oldest(self):
        return self._requests[0]

    def constrained_get(self, condition, n_most=None):
        if self._requests and not condition(self._requests[0]):
            self._requests.pop(0)
        for request in self._requests[:n_most]:
            if condition(request):
                self._requests.remove(request)
                return request
        return None

# fails all_others_keep_their_places if_none_fulfils_none_is_taken who_was_taken_is_gone
#   no_more_than_n_most_are_looked_at the_length_is_who_waits

# %% an error if none fulfils
class RequestQueue:
    def __init__(self):
        self._requests = []

    def __len__(self):
        return len(self._requests)

    def add(self, request):
        self._requests.append(request)

    def oldest(self):
        return self._requests[0]

    def constrained_get(self, condition, n_most=None):
        request = next(r for r in self._requests[:n_most] if condition(r))
        self._requests.remove(request)
        return request

# fails if_none_fulfils_none_is_taken

# %% an error if there is none
class RequestQueue:
    def __init__(self):
        self._requests = []

    def __len__(self):
        return len(self._requests)

    def add(self, request):
        self._requests.append(request)

    def oldest(self):
        return self._requests[0]

    def constrained_get(self, condition, n_most=None):
        first = self._requests[0]
        for request in [first] + self._requests[1:n_most]:
            if condition(request):
                self._requests.remove(request)
                return request
        return None

# %% none of none is False
class RequestQueue:
    def __init__(self):
        self._requests = []

    def __len__(self):
        return len(self._requests)

    def add(self, request):
        self._requests.append(request)

    def oldest(self):
        return self._requests[0]

    def constrained_get(self, condition, n_most=None):
        for request in self._requests[:n_most]:
            if condition(request):
                self._requests.remove(request)
                return request
        return None if self._requests else False

# fails all_others_keep_their_places who_was_taken_is_gone the_length_is_who_waits

# %% looks, and takes nothing
# - del self._requests[i]
pass

# fails who_was_taken_is_gone

# %% asks about those that were taken
class RequestQueue:
    def __init__(self):
        self._all, self._taken = [], []

    def _waiting(self):
        return [r for r in self._all if r not in self._taken]

    def __len__(self):
        return len(self._waiting())

    def add(self, request):
        self._all.append(request)

    def oldest(self):
        return self._waiting()[0]

    def constrained_get(self, condition, n_most=None):
        if n_most is not None:
            looked_at = self._waiting()[:n_most]
        else:
            looked_at = self._all
        for request in looked_at:
            if condition(request) and request not in self._taken:
                self._taken.append(request)
                return request
        return None

# fails no_more_than_n_most_are_looked_at

# %% looks at all of them
# - for i, request in enumerate(islice(self._requests, n_most)):
# -     if condition(request):
# -         del self._requests[i]
# -         return request
for i, request in enumerate(self._requests):
    if condition(request):
        del self._requests[i]
        return request

# %% takes from the first, asks about all
class RequestQueue:
    def __init__(self):
        self._requests = []

    def __len__(self):
        return len(self._requests)

    def add(self, request):
        self._requests.append(request)

    def oldest(self):
        return self._requests[0]

    def constrained_get(self, condition, n_most=None):
        fit = [condition(r) for r in self._requests]
        for i, fits in enumerate(fit[:n_most]):
            if fits:
                return self._requests.pop(i)
        return None

# %% one more
# - for i, request in enumerate(islice(self._requests, n_most)):
# -     if condition(request):
# -         del self._requests[i]
# -         return request
for i, request in enumerate(islice(self._requests, None if n_most is None else n_most + 1)):
    if condition(request):
        del self._requests[i]
        return request

# %% one fewer
# - for i, request in enumerate(islice(self._requests, n_most)):
# -     if condition(request):
# -         del self._requests[i]
# -         return request
for i, request in enumerate(islice(self._requests, None if n_most is None else n_most - 1)):
    if condition(request):
        del self._requests[i]
        return request

# %% as many must be there
class RequestQueue:
    def __init__(self):
        self._requests = []

    def __len__(self):
        return len(self._requests)

    def add(self, request):
        self._requests.append(request)

    def oldest(self):
        return self._requests[0]

    def constrained_get(self, condition, n_most=None):
        for i in range(len(self._requests) if n_most is None else n_most):
            if condition(self._requests[i]):
                return self._requests.pop(i)
        return None

# fails all_others_keep_their_places the_oldest_is_shown_and_stays

# %% the oldest is taken by looking
# - return self._requests[0]
return self._requests.popleft()

# %% the newest for the oldest
# - return self._requests[0]
return self._requests[-1]

# fails the_oldest_is_shown_and_stays

# %% no oldest is None
# - return self._requests[0]
return self._requests[0] if self._requests else None

# fails the_length_is_who_waits

# %% counts all that ever came
class RequestQueue:
    def __init__(self):
        self._requests, self._n = [], 0

    def __len__(self):
        return self._n

    def add(self, request):
        self._requests.append(request)
        self._n += 1

    def oldest(self):
        return self._requests[0]

    def constrained_get(self, condition, n_most=None):
        for request in self._requests[:n_most]:
            if condition(request):
                self._requests.remove(request)
                return request
        return None
