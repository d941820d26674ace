"""Checks of `BucketQueue`."""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from labkit.bridge.requests import hold
from labkit.bridge.student import Student
from labkit.checks.compare import expect_equal, expect_number, joined, refuse_blank, show
from labkit.checks.core import Wrong, check
from labkit.labs.batching.checks.queues import Queue, id_of

_buckets = partial(check, "BucketQueue", gate=True)


@dataclass(frozen=True, slots=True)
class BucketCase:
    """Lengths of prompts in the order in which they come.

    kind: "edges" where lengths lie at the ends of buckets, "many" where each bucket has some well
    inside and the oldest's is neither the fullest nor the shortest, "turns" where the oldest two
    are in one bucket and others in another, "one" where all lengths are in one bucket, "rare" where
    the second length is alone in its bucket and many others come.
    """

    kind: str
    width: int
    lengths: tuple[int, ...]

    def __str__(self) -> str:
        return f"buckets of {self.width}, prompts of {', '.join(map(str, self.lengths))} tokens"

    def build(self, student: Student, n_added: int | None = None) -> Queue:
        """A queue with the requests of these lengths; their ids say nothing of the order."""
        queue = Queue(hold(student.BucketQueue, self.width), ("add", "take"))
        self.add(queue, range(len(self.lengths))[:n_added])
        return queue

    def add(self, queue: Queue, ids: Sequence[int]) -> None:
        for i in ids:
            fields = {"id": id_at(i), "input_length": self.lengths[i], "output_length": None}
            queue.add(fields)

    def bucket(self, i: int) -> int:
        return self.lengths[i] // self.width


# Cases in which each rule gives something else, those that nobody names too.
EDGES = BucketCase("edges", 8, (7, 8, 1, 15, 16, 9, 5, 3, 3, 12, 11))
MANY = BucketCase("many", 10, (52, 95, 11, 4, 33, 12, 82, 96, 5, 13, 83, 53, 84, 14, 72, 73))


def id_at(i: int) -> int:
    """The id of the request at this place in the order of arrival."""
    return (37 * i + 58) % 101


PLACES = {id_at(i): i for i in range(101)}


def _taken(queue: Queue, case: BucketCase, n_most: int) -> list[int]:
    """What `take` gives, by place in the order of arrival."""
    got = queue.take(n_most)
    if not isinstance(got, list | tuple):
        refuse_blank(got)
        raise Wrong("what `take` gives", expected="a list of requests", got=show(got))
    places = [PLACES.get(id_of(each, "in the list that `take` gives")) for each in got]
    if any(i is None or i >= len(case.lengths) for i in places):
        raise Wrong("what `take` gives", expected="requests that were added", got=show(got))
    return places


def _batches(student: Student, case: BucketCase, n_most: int) -> list[list[int]]:
    """The batches that `take` returns, until all requests are out or it returns none."""
    queue, batches = case.build(student), []
    while sum(map(len, batches)) < len(case.lengths):
        batch = _taken(queue, case, n_most)
        if not batch:
            break
        batches.append(batch)
    return batches


@_buckets("edges", hint="Divide the length by the width, and round down.")
def a_batch_is_one_bucket(student: Student, case: BucketCase) -> None:
    """A batch holds lengths from i x width to (i + 1) x width - 1, and no others."""
    lengths = case.lengths
    batches = _batches(student, case, len(lengths))
    for batch in batches:
        if len({case.bucket(i) for i in batch}) > 1:
            shortest, longest = min(lengths[i] for i in batch), max(lengths[i] for i in batch)
            what = f"prompts of {shortest} and {longest} tokens, with buckets of {case.width}"
            raise Wrong(what, expected="two batches", got="one batch", why=_rule_of(student, case))
    n_buckets = len(set(map(case.bucket, range(len(lengths)))))
    what = "the number of batches, if each takes a whole bucket"
    expect_equal(len(batches), n_buckets, what, why=_rule_of(student, case))
    taken = sorted(i for batch in batches for i in batch)
    expect_equal(taken, list(range(len(lengths))), "the requests taken, in all batches together")


def _rule_of(student: Student, case: BucketCase) -> str:
    """By which wrong rule the batches are exactly the buckets, here and where rules differ."""
    rules: dict[str, Callable[[int, int], int]] = {
        "all lengths share one bucket": lambda n, width: 0,
        "each length has its own bucket": lambda n, width: n,
        "bucket 0 ends with the width itself": lambda n, width: (n - 1) // width,
        "lengths are rounded to the nearest bucket": lambda n, width: round(n / width),
    }
    fitting = list(rules)
    for each in (case, EDGES):
        got = sorted(map(sorted, _batches(student, each, len(each.lengths))))
        fitting = [name for name in fitting if _buckets_by(rules[name], each) == got]
    return joined(f"This happens if {name}." for name in fitting)


def _buckets_by(rule: Callable[[int, int], int], case: BucketCase) -> list[list[int]]:
    by_key: dict[int, list[int]] = {}
    for i, length in enumerate(case.lengths):
        by_key.setdefault(rule(length, case.width), []).append(i)
    return sorted(by_key.values())


@_buckets("many", "turns", hint="Compare the first requests of all buckets, and take the oldest.")
def the_bucket_of_the_oldest_is_next(student: Student, case: BucketCase) -> None:
    """The next batch comes from the bucket with the oldest request of all."""
    waiting = set(range(len(case.lengths)))
    for batch in _turns(student, case):
        oldest = min(waiting)
        if case.bucket(batch[0]) != case.bucket(oldest):
            raise Wrong(
                f"the batch when request {id_at(oldest)} has waited longest",
                expected="its bucket",
                got=f"that of request {id_at(batch[0])}",
                why=_why_that_bucket(student, case),
            )
        waiting -= set(batch)
    expect_equal(len(waiting), 0, "the number of requests that were never taken")


def _turns(student: Student, case: BucketCase) -> list[list[int]]:
    return _batches(student, case, 1 if case.kind == "turns" else len(case.lengths))


SIZES = ("the fullest", "the emptiest")


def _why_that_bucket(student: Student, case: BucketCase) -> str:
    """By which wrong rule the next bucket is chosen, each time, here and where rules differ."""
    rules: dict[str, Callable[[BucketCase, set[int]], int]] = {
        "the fullest": lambda case, waiting: max(Counter(map(case.bucket, waiting)).values()),
        "the emptiest": lambda case, waiting: min(Counter(map(case.bucket, waiting)).values()),
        "that of the shortest prompts": lambda case, waiting: min(map(case.bucket, waiting)),
        "that of the longest prompts": lambda case, waiting: max(map(case.bucket, waiting)),
        "that of the newest request": lambda case, waiting: case.bucket(max(waiting)),
    }
    fitting = list(rules)
    for each in (case, MANY):
        waiting = set(range(len(each.lengths)))
        for batch in _turns(student, each):
            taken = each.bucket(batch[0])
            size = Counter(map(each.bucket, waiting))[taken]
            fitting = [
                name
                for name in fitting
                if rules[name](each, waiting) == (size if name in SIZES else taken)
            ]
            waiting -= set(batch)
    return joined(f"Each time the bucket is {name}." for name in fitting)


@_buckets("one", hint="Add requests at the end of a bucket, and take them from its front.")
def within_a_bucket_the_oldest_come_first(student: Student, case: BucketCase) -> None:
    """From one bucket, requests are taken in the order in which they were added."""
    taken = [i for batch in _batches(student, case, 2) for i in batch]
    if taken != sorted(taken) or len(taken) < 2:
        right = show([id_at(i) for i in range(len(case.lengths))])
        got, is_reverse = show([id_at(i) for i in taken]), taken == sorted(taken, reverse=True)
        why = "The newest come first." if is_reverse and len(taken) > 1 else ""
        raise Wrong("the order in which they are taken", expected=right, got=got, why=why)


@_buckets("one", hint="Take the smaller of n_most and the number of requests in the bucket.")
def no_more_come_than_were_asked_for(student: Student, case: BucketCase) -> None:
    """`take` returns n_most requests, or all if the bucket has fewer; the others stay."""
    queue, n_left = case.build(student), len(case.lengths)
    expect_equal(len(_taken(queue, case, 0)), 0, "the number of requests that take(0) returns")
    while n_left:
        got = len(_taken(queue, case, 2))
        expect_equal(
            got,
            min(2, n_left),
            f"the number of requests that take(2) returns, with {n_left} in the queue",
        )
        n_left -= got


@_buckets(
    "rare",
    hint="Compare the oldest requests that the buckets hold now, not when buckets were made.",
)
def a_rare_length_does_not_starve(student: Student, case: BucketCase) -> None:
    """A request of a rare length is next as soon as it is the oldest, even if others arrive."""
    n_added = 4
    queue, waiting = case.build(student, n_added), set(range(n_added))
    while 1 in waiting:
        batch = _taken(queue, case, 2)
        if 1 not in batch and (min(waiting) == 1 or not batch):
            raise Wrong(
                "a request of a rare length, which has waited longest",
                expected="the next batch",
                got=f"a batch of {len(batch)} that came later",
            )
        waiting -= set(batch)
        new = range(n_added, min(n_added + 2, len(case.lengths)))
        case.add(queue, new)
        waiting |= set(new)
        n_added += len(new)


@_buckets("one", hint="Return an empty list if all buckets are empty.", gate=False)
def an_empty_queue_gives_an_empty_list(student: Student, case: BucketCase) -> None:
    """Without requests, or when all are taken, `take` gives an empty list."""
    queue, n = case.build(student, 0), len(case.lengths)
    expect_equal(_taken(queue, case, n), [], "what a new queue returns")
    case.add(queue, range(n))
    if not _taken(queue, case, n):
        raise Wrong("what a queue with requests returns", expected="requests", got="none")
    expect_equal(_taken(queue, case, n), [], "what it returns when all are taken")


@_buckets("many", hint="Count all requests, not the buckets.", gate=False)
def the_length_counts_all_buckets(student: Student, case: BucketCase) -> None:
    """`len` is the number of requests in all buckets together."""
    expect_equal(len(case.build(student, 0)), 0, "the length of a new queue")
    queue, n = case.build(student), len(case.lengths)
    slips = {len(set(map(case.bucket, range(n)))): "That is the number of buckets."}
    expect_number(len(queue), n, "the length with all requests", slips=slips)
    n_taken = len(_taken(queue, case, 1))
    expect_equal(len(queue), n - n_taken, f"the length after {n_taken} was taken")


OPEN_CASES = {
    "BucketQueue": [
        BucketCase("edges", width=8, lengths=(7, 8, 1, 15, 16, 9)),
        BucketCase("many", width=10, lengths=(25, 4, 33, 36, 24, 35)),
        BucketCase("turns", width=10, lengths=(24, 25, 33, 35)),
        BucketCase("one", width=32, lengths=(44, 35, 46, 38, 41)),
        BucketCase("rare", width=16, lengths=(40, 10, *[40] * 12)),
    ],
}
