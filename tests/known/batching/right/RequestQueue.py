"""Right answers to `RequestQueue`, written differently."""

# %% a list, popped by place
class RequestQueue:
    def __init__(self):
        self.waiting = []

    def __len__(self):
        return len(self.waiting)

    def add(self, request):
        self.waiting.append(request)

    def oldest(self):
        return self.waiting[0]

    def constrained_get(self, condition, n_most=None):
        places = [i for i, request in enumerate(self.waiting[:n_most]) if condition(request)]
        return self.waiting.pop(places[0]) if places else None

# %% a heap by number of arrival
import heapq


class RequestQueue:
    def __init__(self):
        self.heap, self.n_added = [], 0

    def __len__(self):
        return len(self.heap)

    def add(self, request):
        heapq.heappush(self.heap, (self.n_added, request))
        self.n_added += 1

    def oldest(self):
        return self.heap[0][1]

    def constrained_get(self, condition, n_most=None):
        passed_over, found = [], None
        while self.heap and (n_most is None or len(passed_over) < n_most):
            number, request = heapq.heappop(self.heap)
            if condition(request):
                found = request
                break
            passed_over.append((number, request))
        for pair in passed_over:
            heapq.heappush(self.heap, pair)
        return found

# %% a dict by number of arrival
from itertools import count, islice


class RequestQueue(dict):
    def __init__(self):
        super().__init__()
        self.numbers = count()

    def add(self, request):
        self[next(self.numbers)] = request

    def oldest(self):
        if not self:
            raise IndexError("nobody waits")
        return self[next(iter(self))]

    def constrained_get(self, condition, n_most=None):
        looked_at = islice(self.items(), n_most)
        number = next((i for i, request in looked_at if condition(request)), None)
        return None if number is None else self.pop(number)
