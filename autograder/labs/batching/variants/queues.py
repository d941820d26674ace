"""Right answers to lab 05's two queues, with other data structures."""

from autograder.labs.variants import Variant

QUEUE = [
    Variant(
        "RequestQueue",
        "a list, popped by place",
        """\
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
""",
    ),
    Variant(
        "RequestQueue",
        "a heap by number of arrival",
        """\
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
""",
    ),
    Variant(
        "RequestQueue",
        "a dict by number of arrival",
        """\
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
""",
    ),
    Variant(
        "RequestQueue",
        "links from one to the next",
        """\
class RequestQueue:
    def __init__(self):
        self.head = [None, None]
        self.tail, self.size = self.head, 0

    def __len__(self):
        return self.size

    def add(self, request):
        self.tail[1] = [request, None]
        self.tail, self.size = self.tail[1], self.size + 1

    def oldest(self):
        if self.size == 0:
            raise IndexError("empty")
        return self.head[1][0]

    def constrained_get(self, condition, n_most=None):
        before = self.head
        for _ in range(self.size if n_most is None else min(n_most, self.size)):
            link = before[1]
            if condition(link[0]):
                before[1], self.size = link[1], self.size - 1
                if link is self.tail:
                    self.tail = before
                return link[0]
            before = link
        return None
""",
    ),
    Variant(
        "RequestQueue",
        "a deque that goes round once",
        """\
from collections import deque


class RequestQueue:
    def __init__(self):
        self.waiting = deque()

    def __len__(self):
        return len(self.waiting)

    def add(self, request):
        self.waiting.append(request)

    def oldest(self):
        return self.waiting[0]

    def constrained_get(self, condition, n_most=None):
        n, found, limit = len(self.waiting), None, float("inf") if n_most is None else n_most
        for i in range(n):
            request = self.waiting.popleft()
            if found is None and i < limit and condition(request):
                found = request
            else:
                self.waiting.append(request)
        return found
""",
    ),
]

BUCKETS = [
    Variant(
        "BucketQueue",
        "one list, sifted",
        """\
class BucketQueue:
    def __init__(self, width):
        self.width, self.waiting = width, []

    def __len__(self):
        return len(self.waiting)

    def add(self, request):
        self.waiting.append(request)

    def take(self, n_most):
        batch, others = [], []
        for request in self.waiting:
            bucket = request["input_length"] // self.width
            first = batch[0]["input_length"] // self.width if batch else bucket
            (batch if bucket == first and len(batch) < n_most else others).append(request)
        self.waiting = others
        return batch
""",
    ),
    Variant(
        "BucketQueue",
        "a heap of buckets, by the number of their first",
        """\
import heapq
from collections import defaultdict, deque


class BucketQueue:
    def __init__(self, width):
        self.width, self.n_added, self.n = width, 0, 0
        self.buckets, self.firsts = defaultdict(deque), []

    def __len__(self):
        return self.n

    def add(self, request):
        key = request["input_length"] // self.width
        if not self.buckets[key]:
            heapq.heappush(self.firsts, (self.n_added, key))
        self.buckets[key].append((self.n_added, request))
        self.n_added += 1
        self.n += 1

    def take(self, n_most):
        if not self.firsts:
            return []
        _, key = heapq.heappop(self.firsts)
        bucket, batch = self.buckets[key], []
        while bucket and len(batch) < n_most:
            batch.append(bucket.popleft()[1])
        if bucket:
            heapq.heappush(self.firsts, (bucket[0][0], key))
        self.n -= len(batch)
        return batch
""",
    ),
    Variant(
        "BucketQueue",
        "on the other queue, a tuple of requests",
        """\
class BucketQueue:
    def __init__(self, width):
        self.width, self.queue = width, RequestQueue()

    def __len__(self):
        return len(self.queue)

    def add(self, request):
        self.queue.add(request)

    def take(self, n_most):
        if len(self.queue) == 0:
            return ()
        low = self.queue.oldest()["input_length"]
        low -= low % self.width
        batch = []
        while len(batch) < n_most:
            request = self.queue.constrained_get(
                lambda r: low <= r["input_length"] <= low + self.width - 1
            )
            if request is None:
                break
            batch.append(request)
        return tuple(batch)
""",
    ),
    Variant(
        "BucketQueue",
        "NumPy, arrays of arrivals",
        """\
import numpy as np


class BucketQueue:
    def __init__(self, width):
        self.width, self.requests = width, []

    def __len__(self):
        return len(self.requests)

    def add(self, request):
        self.requests.append(request)

    def take(self, n_most):
        if not self.requests:
            return []
        lengths = np.array([r["input_length"] for r in self.requests], dtype=np.float32)
        buckets = np.floor_divide(lengths, self.width)
        places = np.flatnonzero(buckets == buckets[0])[:n_most]
        batch = [self.requests[i] for i in places]
        for i in places[::-1]:
            del self.requests[i]
        return batch
""",
    ),
]

QUEUES = QUEUE + BUCKETS
