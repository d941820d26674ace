"""Right answers to `BucketQueue`, written differently."""

# %% one list, sifted
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

# %% a heap of buckets, by the number of their first
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

# %% on the other queue, a tuple of requests
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
