"""Wrong answers to lab 05's two queues."""

from autograder.labs.mutants import Mutant

_OLDEST = "the_oldest_that_fulfils_is_taken"
_PLACES = "all_others_keep_their_places"
_NONE = "if_none_fulfils_none_is_taken"
_GONE = "who_was_taken_is_gone"
_MOST = "no_more_than_n_most_are_looked_at"
_SHOWN = "the_oldest_is_shown_and_stays"
_LENGTH = "the_length_is_who_waits"

_LOOP = "for i, request in enumerate(islice(self._requests, n_most)):"
_DELETE = "del self._requests[i]"
_SLICE = "islice(self._requests, n_most)"


def queue(search: str, more: str = "") -> str:
    """A cell with a queue of a list, with this body of constrained_get."""
    return f"""\
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
{search}{more}"""


QUEUE = [
    Mutant("RequestQueue", "the newest that fulfils", (_OLDEST,), source=queue("""\
        looked_at = self._requests[:n_most]
        for i in reversed(range(len(looked_at))):
            if condition(looked_at[i]):
                return self._requests.pop(i)
""")),
    Mutant("RequestQueue", "the shortest that fulfils", (_OLDEST,), source=queue("""\
        fit = [r for r in self._requests[:n_most] if condition(r)]
        if fit:
            best = min(fit, key=lambda r: r["input_length"])
            self._requests.remove(best)
            return best
""")),
    Mutant("RequestQueue", "the smallest id", (_OLDEST,), source=queue("""\
        fit = [r for r in self._requests[:n_most] if condition(r)]
        if fit:
            best = min(fit, key=lambda r: r["id"])
            self._requests.remove(best)
            return best
""")),
    Mutant(
        "RequestQueue",
        "the head of the line blocks",
        (_OLDEST, _PLACES, _GONE, _MOST),
        source=queue("""\
        if self._requests and condition(self._requests[0]):
            return self._requests.pop(0)
        return None
"""),
    ),
    Mutant("RequestQueue", "new ones at the front", (_OLDEST, _PLACES, _MOST, _SHOWN),
           "self._requests.append(request)", "self._requests.appendleft(request)"),
    Mutant("RequestQueue", "who does not fit goes to the end", (_PLACES,), source=queue("""\
        for _ in self._requests[:n_most]:
            request = self._requests.pop(0)
            if condition(request):
                return request
            self._requests.append(request)
        return None
""")),
    Mutant("RequestQueue", "the last takes the gap", (_OLDEST, _PLACES), _DELETE,
           "last = self._requests.pop()\n"
           "                if i < len(self._requests):\n"
           "                    self._requests[i] = last"),
    Mutant("RequestQueue", "who does not fit is lost", (_OLDEST, _PLACES, _NONE, _LENGTH),
           source=queue("""\
        for _ in self._requests[:n_most]:
            request = self._requests.pop(0)
            if condition(request):
                return request
        return None
""")),
    Mutant("RequestQueue", "only the first is lost if it does not fit",
           (_OLDEST, _PLACES, _NONE, _MOST, _LENGTH), source=queue("""\
        if self._requests and not condition(self._requests[0]):
            self._requests.pop(0)
        for request in self._requests[:n_most]:
            if condition(request):
                self._requests.remove(request)
                return request
        return None
""")),
    Mutant("RequestQueue", "an error if none fulfils", (_PLACES, _NONE, _GONE, _MOST, _LENGTH),
           source=queue("""\
        request = next(r for r in self._requests[:n_most] if condition(r))
        self._requests.remove(request)
        return request
""")),
    Mutant("RequestQueue", "an error if there is none", (_NONE,), source=queue("""\
        first = self._requests[0]
        for request in [first] + self._requests[1:n_most]:
            if condition(request):
                self._requests.remove(request)
                return request
        return None
""")),
    Mutant("RequestQueue", "none of none is False", (_NONE,), source=queue("""\
        for request in self._requests[:n_most]:
            if condition(request):
                self._requests.remove(request)
                return request
        return None if self._requests else False
""")),
    Mutant("RequestQueue", "looks, and takes nothing", (_PLACES, _GONE, _LENGTH),
           _DELETE, "pass"),
    Mutant("RequestQueue", "asks about those that were taken", (_GONE,), source="""\
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
"""),
    Mutant("RequestQueue", "looks at all of them", (_MOST,), _SLICE, "self._requests"),
    Mutant("RequestQueue", "takes from the first, asks about all", (_MOST,), source=queue("""\
        fit = [condition(r) for r in self._requests]
        for i, fits in enumerate(fit[:n_most]):
            if fits:
                return self._requests.pop(i)
        return None
""")),
    Mutant("RequestQueue", "one more", (_MOST,), _SLICE,
           "islice(self._requests, None if n_most is None else n_most + 1)"),
    Mutant("RequestQueue", "one fewer", (_MOST,), _SLICE,
           "islice(self._requests, None if n_most is None else n_most - 1)"),
    Mutant("RequestQueue", "as many must be there", (_MOST,), source=queue("""\
        for i in range(len(self._requests) if n_most is None else n_most):
            if condition(self._requests[i]):
                return self._requests.pop(i)
        return None
""")),
    Mutant("RequestQueue", "the newest n_most", (_MOST,), source=queue("""\
        start = 0 if n_most is None else max(0, len(self._requests) - n_most)
        for i in range(start, len(self._requests)):
            if condition(self._requests[i]):
                return self._requests.pop(i)
        return None
""")),
    Mutant("RequestQueue", "the oldest is taken by looking", (_PLACES, _SHOWN),
           "return self._requests[0]", "return self._requests.popleft()"),
    Mutant("RequestQueue", "the newest for the oldest", (_PLACES, _SHOWN),
           "return self._requests[0]", "return self._requests[-1]"),
    Mutant("RequestQueue", "no oldest is None", (_SHOWN,), "return self._requests[0]",
           "return self._requests[0] if self._requests else None"),
    Mutant("RequestQueue", "counts all that ever came", (_LENGTH,), source=queue("""\
        for request in self._requests[:n_most]:
            if condition(request):
                self._requests.remove(request)
                return request
        return None
""").replace("self._requests = []", "self._requests, self._n = [], 0").replace(
        "return len(self._requests)", "return self._n").replace(
        "self._requests.append(request)", "self._requests.append(request)\n        self._n += 1")),
]  # fmt: skip

_ONE = "a_batch_is_one_bucket"
_NEXT = "the_bucket_of_the_oldest_is_next"
_WITHIN = "within_a_bucket_the_oldest_come_first"
_ASKED = "no_more_come_than_were_asked_for"
_RARE = "a_rare_length_does_not_starve"
_EMPTY = "an_empty_queue_gives_an_empty_list"
_ALL = "the_length_counts_all_buckets"

_KEY = "key = min(self._buckets, key=lambda i: self._buckets[i][0][0])"
_BUCKET = 'request["input_length"] // self._width'
_TAKEN = "taken = [bucket.popleft()[1] for _ in range(min(n_most, len(bucket)))]"
_CLEAN = "        if not bucket:\n            del self._buckets[key]\n"

BUCKETS = [
    Mutant("BucketQueue", "buckets from 1 to the width", (_ONE,), _BUCKET,
           '(request["input_length"] - 1) // self._width'),
    Mutant("BucketQueue", "rounded to the nearest bucket", (_ONE,), _BUCKET,
           'round(request["input_length"] / self._width)'),
    Mutant("BucketQueue", "one bucket for every length", (_ONE, _ASKED, _EMPTY), _BUCKET,
           'request["input_length"]'),
    Mutant("BucketQueue", "one bucket for all", (_ONE,), _BUCKET, "0"),
    Mutant("BucketQueue", "whoever is within a width of the oldest", (_ONE,), source="""\
class BucketQueue:
    def __init__(self, width):
        self.width, self.waiting = width, []

    def __len__(self):
        return len(self.waiting)

    def add(self, request):
        self.waiting.append(request)

    def take(self, n_most):
        if not self.waiting:
            return []
        first = self.waiting[0]["input_length"]
        like = [r for r in self.waiting if abs(r["input_length"] - first) < self.width][:n_most]
        self.waiting = [r for r in self.waiting if r not in like]
        return like
"""),
    Mutant("BucketQueue", "filled up from other buckets", (_ONE,), source="""\
class BucketQueue:
    def __init__(self, width):
        self.width, self.waiting = width, []

    def __len__(self):
        return len(self.waiting)

    def add(self, request):
        self.waiting.append(request)

    def take(self, n_most):
        if not self.waiting:
            return []
        bucket = self.waiting[0]["input_length"] // self.width
        first = sorted(self.waiting, key=lambda r: r["input_length"] // self.width != bucket)
        first = first[:n_most]
        self.waiting = [r for r in self.waiting if r not in first]
        return first
"""),
    Mutant("BucketQueue", "the fullest first", (_NEXT, _RARE), _KEY,
           "key = max(self._buckets, key=lambda i: len(self._buckets[i]))"),
    Mutant("BucketQueue", "the emptiest first", (_NEXT,), _KEY,
           "key = min(self._buckets, key=lambda i: len(self._buckets[i]))"),
    Mutant("BucketQueue", "the shortest first", (_NEXT, _RARE), _KEY, "key = min(self._buckets)"),
    Mutant("BucketQueue", "the longest first", (_NEXT, _RARE), _KEY, "key = max(self._buckets)"),
    Mutant("BucketQueue", "the bucket of the newest", (_NEXT, _RARE), _KEY,
           "key = max(self._buckets, key=lambda i: self._buckets[i][-1][0])"),
    Mutant("BucketQueue", "newest first", (_WITHIN,), source="""\
class BucketQueue:
    def __init__(self, width):
        self.width, self.waiting = width, []

    def __len__(self):
        return len(self.waiting)

    def add(self, request):
        self.waiting.append(request)

    def take(self, n_most):
        if not self.waiting:
            return []
        bucket = self.waiting[0]["input_length"] // self.width
        those = [r for r in self.waiting if r["input_length"] // self.width == bucket][::-1]
        self.waiting = [r for r in self.waiting if r not in those[:n_most]]
        return those[:n_most]
"""),
    Mutant("BucketQueue", "shortest first in its bucket", (_WITHIN,), _TAKEN,
           'inside = sorted(bucket, key=lambda pair: pair[1]["input_length"])[:n_most]\n'
           "        taken = [request for _, request in inside]\n"
           "        for pair in inside:\n"
           "            bucket.remove(pair)"),
    Mutant("BucketQueue", "the whole bucket", (_ASKED,), "range(min(n_most, len(bucket)))",
           "range(len(bucket))"),
    Mutant("BucketQueue", "the rest is lost", (_NEXT, _ASKED, _ALL), _CLEAN,
           "        del self._buckets[key]\n"),
    Mutant("BucketQueue", "all or nothing", (_ONE, _NEXT, _ASKED, _RARE), _TAKEN,
           "taken = [bucket.popleft()[1] for _ in range(n_most if n_most <= len(bucket) else 0)]"),
    Mutant("BucketQueue", "the bucket that was used first", (_RARE,), source="""\
class BucketQueue:
    def __init__(self, width):
        self.width, self.buckets = width, {}

    def __len__(self):
        return sum(len(bucket) for bucket in self.buckets.values())

    def add(self, request):
        self.buckets.setdefault(request["input_length"] // self.width, []).append(request)

    def take(self, n_most):
        for i, bucket in self.buckets.items():
            if bucket:
                self.buckets[i] = bucket[n_most:]
                return bucket[:n_most]
        return []
"""),
    Mutant("BucketQueue", "the bucket that has waited longest for its turn", (_NEXT,), source="""\
class BucketQueue:
    def __init__(self, width):
        self.width, self.buckets = width, {}

    def __len__(self):
        return sum(len(bucket) for bucket in self.buckets.values())

    def add(self, request):
        self.buckets.setdefault(request["input_length"] // self.width, []).append(request)

    def take(self, n_most):
        for i, bucket in self.buckets.items():
            if bucket:
                del self.buckets[i]
                if bucket[n_most:]:
                    self.buckets[i] = bucket[n_most:]
                return bucket[:n_most]
        return []
"""),
    Mutant("BucketQueue", "the bucket of the smallest id", (_NEXT, _RARE), _KEY,
           'key = min(self._buckets, key=lambda i: self._buckets[i][0][1]["id"])'),
    Mutant("BucketQueue", "a first bucket of none", (_EMPTY,),
           "        if not self._buckets:\n            return []\n", ""),
    Mutant("BucketQueue", "nothing is None", (_EMPTY,), "return []", "return None"),
    Mutant("BucketQueue", "empty buckets stay", (_ONE, _NEXT, _EMPTY), _CLEAN, ""),
    Mutant("BucketQueue", "counts the buckets", (_ALL,), "sum(map(len, self._buckets.values()))",
           "len(self._buckets)"),
    Mutant("BucketQueue", "counts all that ever came", (_ALL,),
           "sum(map(len, self._buckets.values()))", "self._n_added"),
]  # fmt: skip

QUEUES = QUEUE + BUCKETS
