"""Checks of the two predicates and of `does_fit`."""

from collections.abc import Callable, Collection, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import Any

from labkit.batching import STATES
from labkit.bridge.requests import place, value_of
from labkit.bridge.student import Proxy, Student, StudentError
from labkit.bridge.wire import is_array
from labkit.checks.compare import expect_equal, refuse_blank, show, told
from labkit.checks.core import Wrong, check

TO_PREFILL, TO_DECODE = STATES[:2], STATES[:3]  # what is left for each loop
OPPOSITE = "It is the other way round: it is True when nothing is left. Return the opposite."

_prefill = partial(check, "has_prefill_requests", gate=True)
_decode = partial(check, "has_decode_requests", gate=True)
_fits = partial(check, "does_fit")


def flag_in(got: Any, what: str) -> bool:
    """The truth value in an answer, of Python, NumPy or PyTorch. Raises Wrong if it is none."""
    refuse_blank(got)
    if is_array(got) and tuple(got.shape) in ((), (1,)):
        got = got.item()
    if not isinstance(got, bool):
        raise Wrong(what, expected="True or False", got=show(got))
    return got


@dataclass(frozen=True, slots=True)
class StatesCase:
    """The states of all requests."""

    states: tuple[str, ...]

    def __str__(self) -> str:
        return f"requests in the states {', '.join(self.states)}" if self.states else "no requests"

    def has_any(self, *states: str) -> bool:
        return any(state in states for state in self.states)

    @property
    def all_done(self) -> list[str]:
        """As many requests, all of them done."""
        return ["done"] * len(self.states)


def _expect_left(predicate: Proxy, wanted: Sequence[str], states: Sequence[str], why: str) -> None:
    """The predicate says of these states whether any of them is wanted."""

    def ask(states: Sequence[str]) -> bool:
        return flag_in(predicate(list(states)), "whether anything is left")

    right = _has_any(wanted, states)
    if ask(states) is not right:
        why = _slip_of_predicate(ask, wanted) or why
        raise Wrong("whether anything is left", expected=str(right), got=str(not right), why=why)


def _has_any(wanted: Collection[str], states: Sequence[str]) -> bool:
    return any(state in wanted for state in states)


def _slip_of_predicate(ask: Callable[[Sequence[str]], bool], wanted: Sequence[str]) -> str:
    """The known mistake that gives all answers to the table, if one does."""
    try:
        table = {case.states: ask(case.states) for case in TRUTH_TABLE}
    except (StudentError, Wrong):
        return ""
    counted = [state for state in STATES if table[state,]]
    slips = {
        OPPOSITE: lambda states: not _has_any(wanted, states),
        "It is True only if all requests are like that. One is enough.": (
            lambda states: all(state in wanted for state in states)
        ),
        _miscounted(counted, wanted): lambda states: _has_any(counted, states),
    }
    return told(
        text
        for text, slip in slips.items()
        if text and all(slip(states) is got for states, got in table.items())
    )


def _miscounted(counted: Sequence[str], wanted: Sequence[str]) -> str:
    """Which states count although they should not, and which do not although they should."""
    missing = " and ".join(f'"{state}"' for state in wanted if state not in counted)
    more = " and ".join(f'"{state}"' for state in counted if state not in wanted)
    texts = {missing: "are not counted", more: "are counted too"}
    return " ".join(f"Requests in {names} {verb}." for names, verb in texts.items() if names)


@_prefill(
    hint='Return True if any state is one of the two before "decode".',
    applies_to=lambda case: case.has_any("queued", "prefill"),
)
def one_request_before_decode_is_enough(student: Student, case: StatesCase) -> None:
    """The result is True if any request is "queued" or in "prefill", False if all are "done"."""
    ask = student.has_prefill_requests
    _expect_left(ask, TO_PREFILL, case.states, "One is queued or in prefill.")
    _expect_left(ask, TO_PREFILL, case.all_done, "All of them are done.")


@_prefill(
    hint="A request in decode has had its prefill: do not count it.",
    applies_to=lambda case: not case.has_any("queued", "prefill") and case.has_any("decode"),
)
def requests_in_decode_need_no_prefill(student: Student, case: StatesCase) -> None:
    """The result is False if all requests are in "decode" or "done", and True with a queued one."""
    ask = student.has_prefill_requests
    _expect_left(ask, TO_PREFILL, case.states, "All of them have been through their prefill.")
    _expect_left(ask, TO_PREFILL, [*case.states, "queued"], "One is queued.")


@_prefill(
    hint="Return False for an empty list of states.",
    applies_to=lambda case: not case.states,
    gate=False,
)
def no_requests_need_no_prefill(student: Student, case: StatesCase) -> None:
    """Without any request the result is False: the loop ends at once."""
    _expect_left(student.has_prefill_requests, TO_PREFILL, [], "There is no request at all.")
    _expect_left(student.has_prefill_requests, TO_PREFILL, ["queued"], "One is queued.")


@_decode(
    hint="Look at all states: one request in decode is enough.",
    applies_to=lambda case: case.has_any("decode"),
)
def one_request_in_decode_is_enough(student: Student, case: StatesCase) -> None:
    """The result is True if any request is in "decode", and False if all are "done"."""
    _expect_left(student.has_decode_requests, TO_DECODE, case.states, "One is in decode.")
    _expect_left(student.has_decode_requests, TO_DECODE, case.all_done, "All of them are done.")


@_decode(
    hint="Count requests that are queued or in prefill too: they come to decode later.",
    applies_to=lambda case: case.has_any("queued", "prefill") and not case.has_any("decode"),
)
def requests_on_their_way_count_too(student: Student, case: StatesCase) -> None:
    """The result is True if any request is "queued" or in "prefill": it comes to decode later."""
    why = "A decode loop that ended now would miss the requests that are still on the way."
    _expect_left(student.has_decode_requests, TO_DECODE, case.states, why)
    _expect_left(student.has_decode_requests, TO_DECODE, case.all_done, "All of them are done.")


@_decode(
    hint="Return False for an empty list of states.",
    applies_to=lambda case: not case.states,
    gate=False,
)
def no_requests_need_no_decode(student: Student, case: StatesCase) -> None:
    """Without any request the result is False: the loop ends at once."""
    _expect_left(student.has_decode_requests, TO_DECODE, [], "There is no request at all.")
    _expect_left(student.has_decode_requests, TO_DECODE, ["decode"], "One is in decode.")


@dataclass(frozen=True, slots=True)
class RoomCase:
    """A request beside those in memory. All sizes in tokens, at least 2."""

    size: int
    in_memory: tuple[int, ...]

    def __str__(self) -> str:
        held = ", ".join(map(str, self.in_memory)) or "nothing"
        return f"a request of {self.size} tokens beside {held}"


def _is_crowded(case: RoomCase) -> bool:
    return len(case.in_memory) > 1


def _expect_fit(student: Student, case: RoomCase, spare: int, why: str) -> None:
    """It fits into a memory with `spare` tokens more than all of them take, and not with -1."""
    for n_more in (spare, -1):
        capacity = case.size + sum(case.in_memory) + n_more
        n_tokens = "1 token" if abs(n_more) == 1 else f"{abs(n_more)} tokens"
        what = f"whether it fits with {n_tokens} {'too few' if n_more < 0 else 'to spare'}"
        got = flag_in(student.does_fit(case.size, list(case.in_memory), capacity), what)
        if got is not (n_more >= 0):
            if n_more < 0:
                why = f"Together they need {capacity + 1:,} tokens; the capacity is {capacity:,}."
            expect_equal(got, n_more >= 0, what, why=_room_counted(student, case) or why)


def _room_counted(student: Student, case: RoomCase) -> str:
    """With which wrong sum the answers agree, to the token."""
    size, held = case.size, case.in_memory
    sums = {
        size + max(held, default=0): "Only the largest in memory is counted.",
        size + sum(set(held)): "Equal sizes in memory are counted once.",
        size: "The requests in memory are not counted.",
        sum(held): "The size of the new request is not counted.",
        sum(held) + 1: "It asks only whether any room is left.",
    }

    def fits(capacity: int) -> bool:
        return flag_in(student.does_fit(size, list(held), capacity), "whether it fits")

    found = (
        text
        for least, text in sums.items()
        if least != size + sum(held) and fits(least) and not fits(least - 1)
    )
    return next(found, "")


@_fits(
    hint="Compare with <=: a memory may be full to the last token.",
    applies_to=lambda case: len(case.in_memory) == 1,
    gate=True,
)
def the_last_token_of_room_is_used(student: Student, case: RoomCase) -> None:
    """A request that fills the memory to the last token fits; one token more does not."""
    _expect_fit(student, case, 0, "A memory may be exactly full.")


@_fits(hint="Add up the sizes of all requests in memory.", applies_to=_is_crowded, gate=True)
def everyone_in_memory_takes_its_own_room(student: Student, case: RoomCase) -> None:
    """Every request in memory takes its own size, also if two sizes are equal."""
    _expect_fit(student, case, 1, "The requests in memory take the sum of their sizes.")


@_fits(
    hint="Compare with the capacity also when nothing is in memory.",
    applies_to=lambda case: not case.in_memory,
)
def an_empty_memory_is_not_endless(student: Student, case: RoomCase) -> None:
    """With nothing in memory a request fits if it is no larger than the memory."""
    _expect_fit(student, case, 1, "Nothing is in memory: its whole capacity is free.")


@_fits(hint="Do not change the list that you are given.", applies_to=_is_crowded)
def asking_reserves_nothing(student: Student, case: RoomCase) -> None:
    """The caller's list of sizes is the same after the call as before it."""
    held = place(student, list(case.in_memory))
    for capacity, right in ((10**8, True), (0, False)):
        what = f"whether it fits into a memory of {capacity:,} tokens"
        got = flag_in(student.does_fit(case.size, held, capacity), what)
        expect_equal(got, right, what)
        expect_equal(value_of(held), list(case.in_memory), "the caller's list afterwards")


TRUTH_TABLE = [StatesCase(states) for n in range(5) for states in combinations(STATES, n)]
OPEN_CASES = {
    "has_prefill_requests": TRUTH_TABLE,
    "has_decode_requests": TRUTH_TABLE,
    "does_fit": [
        RoomCase(size=40, in_memory=(60,)),
        RoomCase(size=16, in_memory=(64, 16, 32)),
        RoomCase(size=100, in_memory=()),
    ],
}
