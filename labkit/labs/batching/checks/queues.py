"""Checks of `RequestQueue`."""

from collections.abc import Collection, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

from labkit.bridge.requests import hold
from labkit.bridge.student import Student, StudentError
from labkit.checks.compare import expect_equal, joined, refuse_blank, show
from labkit.checks.core import Wrong, check
from labkit.checks.forms import HeldObject, expect_refusal

MOST_CALLS = 1000  # of one condition, in one search
LONG = 300  # requests: more than a loop looks at

_queue = partial(check, "RequestQueue", gate=True)


class Queue(HeldObject):
    """A queue that the student's class made."""

    def __len__(self) -> int:
        return len(self._made)


class Condition:
    """Accepts the requests with these ids, and keeps about whom it was asked."""

    def __init__(self, accepted: Collection[int]) -> None:
        self.accepted, self.asked = set(accepted), []

    def __call__(self, request: Any) -> bool:
        if not isinstance(request, dict) or type(request.get("id")) is not int:
            raise TypeError(f"the condition is for a request as it was added, not {show(request)}")
        if len(self.asked) >= MOST_CALLS:
            raise RuntimeError("the condition is asked without end")
        self.asked.append(request["id"])
        return request["id"] in self.accepted


def id_of(got: Any, what: str) -> int | None:
    """The id of a request that came back, None for None. Raises Wrong for anything else."""
    if got is None:
        return None
    if not isinstance(got, dict) or type(got.get("id")) is not int:
        refuse_blank(got)
        raise Wrong(what, expected="a request as it was added, or None", got=show(got))
    return got["id"]


@dataclass(frozen=True, slots=True)
class QueueCase:
    """At least six requests in the order in which they come, as pairs (id, input_length)."""

    requests: tuple[tuple[int, int], ...]

    def __str__(self) -> str:
        return f"requests {', '.join(map(str, self.ids))}, in this order"

    @property
    def ids(self) -> list[int]:
        return [request_id for request_id, _ in self.requests]

    def build(self, student: Student, n_added: int | None = None) -> Queue:
        """A queue to which these requests were added, or the first few of them."""
        queue = Queue(hold(student.RequestQueue), ("add", "oldest", "constrained_get"))
        for request_id, length in self.requests[:n_added]:
            queue.add({"id": request_id, "input_length": length, "output_length": None})
        return queue


def _expect_taken(
    queue: Queue,
    accepted: Collection[int],
    right: int | None,
    *n_most: int,
    why: str = "",
    whys: Mapping[int | None, str] | None = None,
) -> list[int]:
    """constrained_get takes the request with the id `right`. Returns whom it asked about.

    whys: the sentence if another one is taken, by its id.
    """
    condition = Condition(accepted)
    those = " or ".join(map(str, accepted)) or "none"
    what = f"the request that is taken if the condition accepts {those}"
    what += f" and n_most is {n_most[0]}" if n_most else ""
    got = id_of(queue.constrained_get(condition, *n_most), what)
    if got != right:
        why = (whys or {}).get(got, why)
        raise Wrong(what, expected=_named(right), got=_named(got), why=why)
    return condition.asked


def _named(request_id: int | None) -> str:
    return "None" if request_id is None else f"request {request_id}"


def _expect_oldest(queue: Queue, right: int, when: str, why: str = "") -> None:
    got = id_of(queue.oldest(), f"the oldest {when}")
    if got != right:
        raise Wrong(f"the oldest {when}", expected=_named(right), got=_named(got), why=why)


@_queue(hint="Search from the front, and go on if the condition does not hold.")
def the_oldest_that_fulfils_is_taken(student: Student, case: QueueCase) -> None:
    """The oldest request that meets the condition is taken, wherever it stands."""
    ids = case.ids
    searches = (
        ([ids[4], ids[2]], ids[2]),
        (ids[3:], ids[3]),
        ([ids[-1], ids[1]], ids[1]),
        ([ids[-1]], ids[-1]),
    )
    for accepted, right in searches:
        _expect_oldest_taken(case.build(student), accepted, right)
    queue = case.build(student, len(ids) - 1)
    _expect_oldest_taken(queue, ids, ids[0])
    queue.add({"id": ids[-1], "input_length": case.requests[-1][1], "output_length": None})
    _expect_oldest_taken(queue, [ids[-1], ids[1]], ids[1])
    queue = case.build(student, 0)
    queue.in_turn(*(("add", {"id": i, "input_length": 1}) for i in range(LONG)))
    _expect_oldest_taken(queue, [LONG - 1], LONG - 1)


def _expect_oldest_taken(queue: Queue, accepted: Collection[int], right: int) -> None:
    whys = dict.fromkeys(accepted, "Of the requests that meet the condition, take the oldest.")
    whys[None] = "A request that meets the condition is waiting. Look at all requests."
    _expect_taken(queue, accepted, right, whys=whys)


@_queue(hint="Remove only the request that you return. Leave the others in their order.")
def all_others_keep_their_places(student: Student, case: QueueCase) -> None:
    """After a search, all other requests are in their order of arrival, also if none was taken."""
    queue, ids, why = case.build(student), case.ids, _slip_of_places(student, case)
    for accepted, right in (([ids[2]], ids[2]), ([], None), ([ids[4]], ids[4])):
        _expect_taken(queue, accepted, right, why=why)
    for waiting in (i for i in ids if i not in (ids[2], ids[4])):
        _expect_oldest(queue, waiting, "after three searches", why)
        _expect_taken(queue, [waiting], waiting, why=why)


def _slip_of_places(student: Student, case: QueueCase) -> str:
    """The sentence for the requests that a search for the third one leaves."""
    ids, queue, left = case.ids, case.build(student), []
    with suppress(StudentError, Wrong):
        queue.constrained_get(Condition([ids[2]]))
        while len(queue) and len(left) < len(ids):
            left.append(id_of(queue.constrained_get(Condition(ids)), ""))
    slips = {
        "The requests that do not meet the condition are lost. Ask before you take one out.": (
            ids[3:]
        ),
        "The request at the front is lost if it does not meet the condition.": ids[1:2] + ids[3:],
        "The requests that do not meet the condition are put at the end.": ids[3:] + ids[:2],
    }
    return joined(text for text, others in slips.items() if left == others)


@_queue(hint="Return None after the last request, and remove nothing.")
def if_none_fulfils_none_is_taken(student: Student, case: QueueCase) -> None:
    """If the condition holds for no request, it returns None and keeps all requests."""
    _expect_taken(case.build(student, 0), case.ids, None)
    queue = case.build(student)
    _expect_taken(queue, [], None)
    for waiting in case.ids:
        why = "It was in the queue before a search in which no request met the condition."
        _expect_taken(queue, [waiting], waiting, why=why)


@_queue(hint="Remove the request from the queue when you return it.")
def who_was_taken_is_gone(student: Student, case: QueueCase) -> None:
    """A request that was taken is not taken again, and the condition is not called for it."""
    queue, taken = case.build(student), case.ids[1]
    _expect_taken(queue, [taken], taken)
    asked = _expect_taken(queue, [taken], None, why="It was taken before.")
    if taken in asked:
        raise Wrong(
            "the requests for which the condition is called",
            expected="requests that wait",
            got=f"request {taken}, which was taken",
            why="It is no longer in the queue: do not call the condition for it.",
        )


@_queue(hint="Look at the first n_most requests only. n_most may be larger than the queue.")
def no_more_than_n_most_are_looked_at(student: Student, case: QueueCase) -> None:
    """With n_most, only the first n_most requests are looked at, and no later one is taken."""
    ids, n = case.ids, 10 * len(case.ids)
    queue = case.build(student)
    _expect_taken(case.build(student), [ids[-1]], None, 3, why="All requests are looked at.")
    asked = _expect_taken(queue, [ids[3]], None, 3, why="It is not among the first three.")
    if behind := [i for i in asked if i not in ids[:3]]:
        raise Wrong(
            "the requests for which the condition is called, if n_most is 3",
            expected="the first 3 only",
            got=_named(behind[0]),
        )
    _expect_taken(case.build(student), [ids[3]], ids[3], 4, why="It is the fourth request.")
    why = "All waiting requests are looked at."
    _expect_taken(case.build(student), [ids[-1]], ids[-1], n, why=why)
    _expect_taken(case.build(student), [], None, n)
    _expect_taken(case.build(student), ids, None, 0, why="With n_most 0, look at none.")
    if not _slip_of_places(student, case):  # another check says so
        before = id_of(case.build(student).oldest(), "the oldest")
        _expect_oldest(queue, before, "after a search with n_most 3 that took none")


@_queue(
    hint="Return the first request without removing it. Raise IndexError if the queue is empty.",
    gate=False,
)
def the_oldest_is_shown_and_stays(student: Student, case: QueueCase) -> None:
    """`oldest` returns the request at the front and keeps it; an empty queue raises IndexError."""
    queue, ids = case.build(student), case.ids
    for when in ("of all", "of all, in a second call"):
        _expect_oldest(queue, ids[0], when)
    emptied = case.build(student, 1)
    emptied.constrained_get(Condition(ids))
    for none in (case.build(student, 0), *([] if len(emptied) else [emptied])):
        expect_refusal(none.oldest, "IndexError", "the oldest of none")


@_queue(
    hint="Count the requests that wait: each add and each taken request changes the number.",
    gate=False,
)
def the_length_is_who_waits(student: Student, case: QueueCase) -> None:
    """`len` is the number of requests that wait."""
    expect_equal(len(case.build(student, 0)), 0, "the length of a new queue")
    queue, n = case.build(student), len(case.ids)
    expect_equal(len(queue), n, "the length with all requests")
    queue.constrained_get(Condition([]))
    expect_equal(len(queue), n, "the length after none was taken")
    queue.constrained_get(Condition(case.ids))
    expect_equal(len(queue), n - 1, "the length after one was taken")


OPEN_CASES = {
    "RequestQueue": [
        QueueCase(((14, 50), (3, 70), (25, 20), (9, 60), (11, 10), (2, 40), (30, 30))),
    ],
}
