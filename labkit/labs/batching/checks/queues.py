"""Checks of `RequestQueue`."""

from collections.abc import Collection
from dataclasses import dataclass
from typing import Any

from labkit.bridge.student import Student, hold
from labkit.checks.compare import expect_equal, refuse_blank, show
from labkit.checks.core import Wrong, check
from labkit.checks.forms import Store, expect_refusal

MOST_CALLS = 1000  # of one condition, in one search


class Queue(Store):
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
    queue: Queue, accepted: Collection[int], right: int | None, *n_most: int, why: str = ""
) -> list[int]:
    """constrained_get takes the request with the id `right`. Returns whom it asked about."""
    condition = Condition(accepted)
    those = " or ".join(map(str, accepted)) or "none"
    what = f"what is taken where the condition accepts {those}"
    what += f" and {n_most[0]} are looked at" if n_most else ""
    got = id_of(queue.constrained_get(condition, *n_most), what)
    if got != right:
        raise Wrong(what, expected=_named(right), got=_named(got), why=why)
    return condition.asked


def _named(request_id: int | None) -> str:
    return "None" if request_id is None else f"request {request_id}"


def _expect_oldest(queue: Queue, right: int, when: str) -> None:
    got = id_of(queue.oldest(), f"the oldest {when}")
    if got != right:
        raise Wrong(f"the oldest {when}", expected=_named(right), got=_named(got))


@check(
    "RequestQueue",
    hint="Look from the front, and go on where the condition does not hold.",
    gate=True,
)
def the_oldest_that_fulfils_is_taken(student: Student, case: QueueCase) -> None:
    """Of those that fulfil the condition the oldest is taken, wherever it stands."""
    *earlier, late = case.ids
    queue, ids = case.build(student, len(earlier)), earlier
    why = "The order of arrival decides, among those that the condition accepts."
    _expect_taken(queue, [ids[4], ids[2]], ids[2], why=why)
    _expect_taken(queue, ids[3:], ids[3], why=why)
    queue.add({"id": late, "input_length": case.requests[-1][1], "output_length": None})
    _expect_taken(queue, [late, ids[1]], ids[1], why=why)
    _expect_taken(queue, [late], late, why=why)
    _expect_taken(case.build(student), case.ids, ids[0], why=why)


@check(
    "RequestQueue",
    hint="A request that was looked at and not taken must keep its place.",
    gate=True,
)
def all_others_keep_their_places(student: Student, case: QueueCase) -> None:
    """After a search, found or not, all others stand in the order in which they came."""
    queue, ids = case.build(student), case.ids
    for accepted, right in (([ids[2]], ids[2]), ([], None), ([ids[4]], ids[4])):
        _expect_taken(queue, accepted, right)
    for waiting in (i for i in ids if i not in (ids[2], ids[4])):
        _expect_oldest(queue, waiting, "after three searches")
        _expect_taken(queue, [waiting], waiting)


@check("RequestQueue", hint="What does your search return when it comes to the end?")
def if_none_fulfils_none_is_taken(student: Student, case: QueueCase) -> None:
    """If the condition holds for no request, it returns None and keeps all requests."""
    _expect_taken(case.build(student, 0), case.ids, None)
    queue = case.build(student)
    _expect_taken(queue, [], None)
    for waiting in case.ids:
        why = "It was there before the search in which none fulfilled the condition."
        _expect_taken(queue, [waiting], waiting, why=why)


@check("RequestQueue", hint="A request that is taken out is no longer in the queue.", gate=True)
def who_was_taken_is_gone(student: Student, case: QueueCase) -> None:
    """A request that was taken is not taken again, nor is the condition asked about it."""
    queue, taken = case.build(student), case.ids[1]
    _expect_taken(queue, [taken], taken)
    asked = _expect_taken(queue, [taken], None, why="It was taken before.")
    if taken in asked:
        raise Wrong(
            "whom the condition is asked about",
            expected="requests that wait",
            got=f"request {taken}, which was taken",
            why="A request that was taken has changed since: no condition is for it any more.",
        )


@check(
    "RequestQueue",
    hint="Counted from the front, of those that wait; more than wait is fine.",
    gate=True,
)
def no_more_than_n_most_are_looked_at(student: Student, case: QueueCase) -> None:
    """With n_most, only that many are looked at from the front, and no later request is taken."""
    queue, ids = case.build(student), case.ids
    asked = _expect_taken(queue, [ids[3]], None, 3, why="It is not among them.")
    if behind := [i for i in asked if i not in ids[:3]]:
        raise Wrong(
            "the requests that the condition is asked about, where 3 are looked at",
            expected="the first 3 only",
            got=_named(behind[0]),
        )
    _expect_taken(queue, [ids[3]], ids[3], 4, why="It is the last of those.")
    _expect_taken(
        queue, [ids[-1]], ids[-1], 10 * len(ids), why="All waiting requests are looked at."
    )
    _expect_taken(queue, [], None, 10 * len(ids))


@check("RequestQueue", hint="Look, do not take. What does an empty queue raise by itself?")
def the_oldest_is_shown_and_stays(student: Student, case: QueueCase) -> None:
    """`oldest` shows the one at the front, again and again; IndexError if there is none."""
    queue, ids = case.build(student), case.ids
    for when in ("of all", "of all, asked again"):
        _expect_oldest(queue, ids[0], when)
    expect_refusal(lambda: case.build(student, 0).oldest(), "IndexError", "the oldest of none")


@check("RequestQueue", hint="Every way in and every way out changes it by one.")
def the_length_is_who_waits(student: Student, case: QueueCase) -> None:
    """`len` is the number of requests that wait."""
    expect_equal(len(case.build(student, 0)), 0, "the length of a new queue")
    queue, n = case.build(student), len(case.ids)
    expect_equal(len(queue), n, "the length with all of them")
    queue.constrained_get(Condition([]))
    expect_equal(len(queue), n, "the length after none was taken")
    queue.constrained_get(Condition(case.ids))
    expect_equal(len(queue), n - 1, "the length after one was taken")


OPEN_CASES = {
    "RequestQueue": [
        QueueCase(((14, 50), (3, 70), (25, 20), (9, 60), (11, 10), (2, 40), (30, 30))),
    ],
}
