"""Wrong answers to `BucketQueue`: edits of the reference, or the whole answer."""

# fails a_batch_is_one_bucket

# %% buckets from 1 to the width
# = request["input_length"] => (request["input_length"] - 1)

# %% rounded to the nearest bucket
# = request["input_length"] // self._width => round(request["input_length"] / self._width)

# %% one bucket for all
# = request["input_length"] // self._width => 0

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
# = request["input_length"] // self._width => request["input_length"]

# fails the_bucket_of_the_oldest_is_next a_rare_length_does_not_starve

# %% the fullest first
# - key = min(self._buckets, key=lambda i: self._buckets[i][0][0])
key = max(self._buckets, key=lambda i: len(self._buckets[i]))

# %% the shortest first
# = min(self._buckets, key=lambda i: self._buckets[i][0][0]) => min(self._buckets)

# fails the_bucket_of_the_oldest_is_next

# %% the emptiest first
# = self._buckets[i][0][0] => len(self._buckets[i])

# %% the bucket that has waited longest for its turn
# = min(self._buckets, key=lambda i: self._buckets[i][0][0]) => next(iter(self._buckets))

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
# = bucket.popleft() => bucket.pop()

# fails no_more_come_than_were_asked_for

# %% the whole bucket
# = min(n_most, len(bucket)) => len(bucket)

# fails the_bucket_of_the_oldest_is_next no_more_come_than_were_asked_for
#   the_length_counts_all_buckets

# %% the rest is lost
# - if not bucket:
# -     del self._buckets[key]
del self._buckets[key]

# fails a_batch_is_one_bucket the_bucket_of_the_oldest_is_next no_more_come_than_were_asked_for
#   a_rare_length_does_not_starve

# %% all or nothing
# = min(n_most, len(bucket)) => n_most if n_most <= len(bucket) else 0

# fails a_rare_length_does_not_starve

# %% the bucket that was used first
# = not self._buckets => not len(self)

# - key = min(self._buckets, key=lambda i: self._buckets[i][0][0])
key = next(i for i in self._buckets if self._buckets[i])

# - if not bucket:
# -     del self._buckets[key]

# fails an_empty_queue_gives_an_empty_list

# %% a first bucket of none
# - if not self._buckets:
# -     return []

# %% nothing is None
# = return [] => return None

# fails a_batch_is_one_bucket the_bucket_of_the_oldest_is_next
#   an_empty_queue_gives_an_empty_list

# %% empty buckets stay
# - if not bucket:
# -     del self._buckets[key]

# fails the_length_counts_all_buckets

# %% counts the buckets
# = sum(map(len, self._buckets.values())) => len(self._buckets)

# %% counts all that ever came
# = sum(map(len, self._buckets.values())) => self._n_added
