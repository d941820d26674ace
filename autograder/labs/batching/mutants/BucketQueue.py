"""Wrong answers to `BucketQueue`: edits of the reference, or the whole answer."""

# fails a_batch_is_one_bucket

# %% buckets from 1 to the width
# - bucket = self._buckets.setdefault(request["input_length"] // self._width, deque())
bucket = self._buckets.setdefault((request["input_length"] - 1) // self._width, deque())

# %% rounded to the nearest bucket
# - bucket = self._buckets.setdefault(request["input_length"] // self._width, deque())
bucket = self._buckets.setdefault(round(request["input_length"] / self._width), deque())

# %% one bucket for all
# - bucket = self._buckets.setdefault(request["input_length"] // self._width, deque())
bucket = self._buckets.setdefault(0, deque())

# %% whoever is within a width of the oldest
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

# fails a_batch_is_one_bucket no_more_come_than_were_asked_for
#   an_empty_queue_gives_an_empty_list

# %% one bucket for every length
# - bucket = self._buckets.setdefault(request["input_length"] // self._width, deque())
bucket = self._buckets.setdefault(request["input_length"], deque())

# fails the_bucket_of_the_oldest_is_next a_rare_length_does_not_starve

# %% the fullest first
# - key = min(self._buckets, key=lambda i: self._buckets[i][0][0])
key = max(self._buckets, key=lambda i: len(self._buckets[i]))

# %% the shortest first
# - key = min(self._buckets, key=lambda i: self._buckets[i][0][0])
key = min(self._buckets)

# fails the_bucket_of_the_oldest_is_next

# %% the emptiest first
# - key = min(self._buckets, key=lambda i: self._buckets[i][0][0])
key = min(self._buckets, key=lambda i: len(self._buckets[i]))

# %% the bucket that has waited longest for its turn
# - key = min(self._buckets, key=lambda i: self._buckets[i][0][0])
key = next(iter(self._buckets))

# - if not bucket:
# -     del self._buckets[key]
del self._buckets[key]
if bucket:
    self._buckets[key] = bucket

# fails within_a_bucket_the_oldest_come_first

# %% shortest first in its bucket
# - taken = [bucket.popleft()[1] for _ in range(min(n_most, len(bucket)))]
inside = sorted(bucket, key=lambda pair: pair[1]["input_length"])[:n_most]
taken = [request for _, request in inside]
for pair in inside:
    bucket.remove(pair)

# %% the newest of its bucket first
# - taken = [bucket.popleft()[1] for _ in range(min(n_most, len(bucket)))]
taken = [bucket.pop()[1] for _ in range(min(n_most, len(bucket)))]

# fails no_more_come_than_were_asked_for

# %% the whole bucket
# - taken = [bucket.popleft()[1] for _ in range(min(n_most, len(bucket)))]
taken = [bucket.popleft()[1] for _ in range(len(bucket))]

# fails the_bucket_of_the_oldest_is_next no_more_come_than_were_asked_for
#   the_length_counts_all_buckets

# %% the rest is lost
# - if not bucket:
# -     del self._buckets[key]
del self._buckets[key]

# fails a_batch_is_one_bucket the_bucket_of_the_oldest_is_next no_more_come_than_were_asked_for
#   a_rare_length_does_not_starve

# %% all or nothing
# - taken = [bucket.popleft()[1] for _ in range(min(n_most, len(bucket)))]
taken = [bucket.popleft()[1] for _ in range(n_most if n_most <= len(bucket) else 0)]

# fails a_rare_length_does_not_starve

# %% the bucket that was used first
# - if not self._buckets:
# -     return []
if not len(self):
    return []

# - key = min(self._buckets, key=lambda i: self._buckets[i][0][0])
key = next(i for i in self._buckets if self._buckets[i])

# - if not bucket:
# -     del self._buckets[key]

# fails an_empty_queue_gives_an_empty_list

# %% a first bucket of none
# - if not self._buckets:
# -     return []

# %% nothing is None
# - return []
return None

# fails a_batch_is_one_bucket the_bucket_of_the_oldest_is_next
#   an_empty_queue_gives_an_empty_list

# %% empty buckets stay
# - if not bucket:
# -     del self._buckets[key]

# fails the_length_counts_all_buckets

# %% counts the buckets
# - return sum(map(len, self._buckets.values()))
return len(self._buckets)

# %% counts all that ever came
# - return sum(map(len, self._buckets.values()))
return self._n_added
