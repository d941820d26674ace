"""Checks of `Request`.

It is about `limit` and the states: how many tokens a request may have, and when it is "done".
"""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

from labkit.batching import STATES
from labkit.bridge.requests import hold
from labkit.bridge.student import Student, StudentError
from labkit.checks.compare import expect_equal, expect_number, number_in, refuse_blank, show
from labkit.checks.core import Wrong, check
from labkit.checks.forms import HeldObject, shown_by

LARGEST_LIMIT = 10**6  # beyond it, a sum says nothing of what was added

_request = partial(check, "Request", gate=True)


@dataclass(frozen=True, slots=True)
class RequestCase:
    """One request, how many tokens it may get, and after how many the model ends its text.

    limit: below 1 if it can be given none. stops_after: fewer than the limit; None if never.
    """

    n_input: int
    wanted: int | None
    max_length: int
    limit: int
    stops_after: int | None = None
    eos: int = 2
    id: int = 7

    def __str__(self) -> str:
        wanted = "no output_length" if self.wanted is None else f"output_length {self.wanted}"
        return f"a prompt of {self.n_input} tokens, {wanted}, max_length {self.max_length}"

    @property
    def n_answer(self) -> int:
        """Tokens that it gets."""
        return max(0, self.stops_after or self.limit)

    def build(self, student: Student) -> HeldObject:
        fields = {"id": self.id, "input_length": self.n_input, "output_length": self.wanted}
        return HeldObject(hold(student.Request, fields, self.max_length), ("add_token",))

    def shown(self, student: Student, *steps: str | tuple) -> tuple[HeldObject, Iterator[Any]]:
        """A new request, and what these steps give on it."""
        return shown_by(lambda: self.build(student), *steps)

    def adding(self, tokens: Iterable[int]) -> list[tuple]:
        """The steps that add these tokens."""
        return [("add_token", token, self.eos) for token in tokens]

    def answer(self) -> list[int]:
        """The tokens it gets: some come again, one is 0; `eos` comes only where the text ends."""
        tokens = [100 + 7 * (i % 3) if i or not self.eos else 0 for i in range(self.n_answer)]
        return [*tokens[:-1], self.eos] if self.stops_after else tokens


def _runs(case: RequestCase) -> bool:
    return case.limit >= 1


def _state_in(got: Any, when: str) -> str:
    refuse_blank(got)
    if not isinstance(got, str) or got not in STATES:
        expected = ", ".join(f'"{state}"' for state in STATES)
        raise Wrong(f"the state {when}", expected=f"one of {expected}", got=show(got))
    return got


@_request(hint="Set id, input_length, state and tokens in __init__.", applies_to=_runs)
def a_new_request_is_queued(student: Student, case: RequestCase) -> None:
    """A new request has its `id` and `input_length`, is "queued", and has no new tokens."""
    _, shown = case.shown(student, "id", "input_length", "state", "tokens")
    expect_equal(next(shown), case.id, "the `id`")
    expect_equal(next(shown), case.n_input, "the `input_length`")
    expect_equal(next(shown), "queued", "the state of a new request")
    expect_equal(next(shown), [], "the tokens of a new request")


def _expect_limit(student: Student, case: RequestCase) -> None:
    got = case.build(student).limit
    slips = {
        case.max_length: "That is max_length. Subtract the prompt from it.",
        case.max_length - case.n_input: "That is what max_length leaves; the client wants less.",
        case.wanted: "That is what the client wants, but it does not fit after the prompt.",
    }
    slips = {number: text for number, text in slips.items() if number is not None}
    if _runs(case):
        expect_number(got, case.limit, "the limit", slips=slips)
    elif not number_in(got, "the limit") < 1:
        whose = "whose client wants 0 tokens" if case.wanted == 0 else "without room for a token"
        is_none = case.wanted == 0 and got == case.max_length - case.n_input > 1
        is_none = is_none and replace(case, wanted=1).build(student).limit == 1
        why = "0 is not None: this client wants no token." if is_none else ""
        raise Wrong(f"the limit of a request {whose}", expected="below 1", got=show(got), why=why)


@_request(
    hint="Take the smaller of two numbers. An output_length of 0 is not None.",
    applies_to=lambda case: case.wanted is not None,
)
def a_wish_is_kept_within_max_length(student: Student, case: RequestCase) -> None:
    """With an output_length, limit is the smaller of it and max_length minus the prompt."""
    _expect_limit(student, case)


@_request(
    hint="If output_length is None, use max_length minus the prompt.",
    applies_to=lambda case: case.wanted is None,
)
def without_a_wish_max_length_is_the_limit(student: Student, case: RequestCase) -> None:
    """Without an output_length, limit is max_length minus the prompt."""
    _expect_limit(student, case)


@_request(
    hint="Add input_length and limit. The size does not change when tokens are added.",
    applies_to=_runs,
)
def the_size_is_prompt_and_limit(student: Student, case: RequestCase) -> None:
    """`size` is the prompt plus the limit, however many tokens the request has."""
    steps = [step for add in case.adding(case.answer()) for step in (add, "size")]
    _, shown = case.shown(student, "limit", "size", *steps)
    limit = number_in(next(shown), "the limit")
    if not 1 <= limit <= LARGEST_LIMIT:
        raise Wrong("the limit", expected="a number of tokens", got=show(limit))
    right = case.n_input + limit
    slips = {case.n_input: "That is the prompt alone.", limit: "That is the limit alone."}
    expect_number(next(shown), right, "the size", slips=slips)
    for n, _ in enumerate(shown, start=1):
        slips = {
            case.n_input + n: "That is its size now. Reserve for all tokens that it may have.",
            right - n: "Do not subtract the tokens that it has: they take memory too.",
        }
        slips = slips if 2 * n != limit else {}  # both are one number
        expect_number(next(shown), right, f"the size with {n} of its tokens", slips=slips)


@_request(
    hint="Make a new list in __init__, and append every token, also the end-of-text token.",
    applies_to=_runs,
)
def every_token_is_kept_in_order(student: Student, case: RequestCase) -> None:
    """`tokens` has every token that was added, in order, the end-of-text token too."""
    other, added = case.build(student), []
    steps = [step for add in case.adding(case.answer()) for step in (add, "tokens")]
    _, shown = case.shown(student, *steps)
    for token in case.answer():
        next(shown)
        added.append(token)
        got, kept = next(shown), [each for each in added if each != case.eos]
        is_cut = isinstance(got, list) and got == kept
        why = "The end-of-text token is missing. It belongs to the answer." if is_cut else ""
        expect_equal(got, added, f"the tokens after {len(added)}", why=why)
    got = other.tokens
    is_shared = isinstance(got, list) and got == added
    why = "Both requests share one list." if is_shared else ""
    expect_equal(got, [], "the tokens of another request", why=why)


def _expect_done_at_the_end(student: Student, case: RequestCase) -> None:
    # what has become of another one says nothing of this
    case.build(student).in_turn(*case.adding([case.eos + 1] * case.limit))
    steps = [step for add in case.adding(case.answer()) for step in (add, "state")]
    request, shown = case.shown(student, *steps)
    for n_tokens, _ in enumerate(shown, start=1):
        when, is_last = f"after {n_tokens} of {case.n_answer} tokens", n_tokens == case.n_answer
        state = _state_in(next(shown), when)
        if (state == "done") != is_last:
            expected = '"done"' if is_last else 'not "done"'
            why = _is_late(request, case) if is_last else ""
            if is_last and n_tokens == 1 and case.stops_after and not why:
                why = _is_seen_second(case, student)
            raise Wrong(f"the state {when}", expected=expected, got=f'"{state}"', why=why)


def _is_seen_second(case: RequestCase, student: Student) -> str:
    """The effect of the end of text as the second token, if it has none as the first."""
    other = case.build(student)
    with suppress(StudentError):
        for token in (case.eos + 1, case.eos):
            other.add_token(token, case.eos)
        if other.state == "done":
            return "As a second token it makes the request done."
    return ""


def _is_late(request: HeldObject, case: RequestCase) -> str:
    """What one token more shows of a request that should be done."""
    with suppress(StudentError):
        request.add_token(case.eos + 1, case.eos)
        state_then = request.state
        if state_then == "done":
            return "It is done one token later."
    return ""


@_request(
    hint="Compare len(tokens) with `limit`. The token of the prefill counts.",
    applies_to=lambda case: _runs(case) and not case.stops_after,
)
def the_last_allowed_token_makes_it_done(student: Student, case: RequestCase) -> None:
    """A request is "done" with the last token that it may get, and not before."""
    _expect_done_at_the_end(student, case)


@_request(
    hint="The argument `eos` of add_token is the token that ends a text.",
    applies_to=lambda case: bool(case.stops_after),
)
def the_end_of_text_makes_it_done(student: Student, case: RequestCase) -> None:
    """A request is "done" with its end-of-text token, even if this is the first, and not before."""
    _expect_done_at_the_end(student, case)


@_request(hint='Let add_token set no state but "done".', applies_to=lambda case: case.n_answer >= 3)
def no_token_takes_a_state_back(student: Student, case: RequestCase) -> None:
    """A token never puts a request back into an earlier state; "done" stays "done"."""
    answer = case.answer()

    def in_decode() -> HeldObject:
        made = case.build(student)
        _state_in(made.state, "of a new request")
        made.add_token(answer[0], case.eos)
        with suppress(StudentError):  # a state may also be read off the tokens, and not be set
            made.held("__setattr__")("state", "decode")
        return made

    steps = [step for add in case.adding(answer[1:]) for step in (add, "state")]
    request, shown = shown_by(in_decode, "state", *steps)
    before = _state_in(next(shown), "after the first token")
    for _ in shown:
        before = _expect_no_way_back(next(shown), before)
    with suppress(StudentError):  # to refuse a token too many is as good as to ignore it
        request.add_token(answer[1], case.eos)
    _expect_no_way_back(request.state, before)


def _expect_no_way_back(got: Any, before: str) -> str:
    state = _state_in(got, "after a further token")
    if STATES.index(state) < STATES.index(before):
        what = f'the state of a request in "{before}" after a further token'
        later = "" if before == "done" else " or later"
        raise Wrong(what, expected=f'"{before}"{later}', got=f'"{state}"')
    return state


OPEN_CASES = {
    "Request": [
        RequestCase(n_input=10, wanted=4, max_length=100, limit=4),
        RequestCase(n_input=10, wanted=1, max_length=100, limit=1),
        RequestCase(n_input=10, wanted=50, max_length=15, limit=5, stops_after=3),
        RequestCase(n_input=10, wanted=0, max_length=100, limit=0),
        RequestCase(n_input=12, wanted=None, max_length=16, limit=4),
        RequestCase(n_input=12, wanted=None, max_length=100, limit=88, stops_after=1, eos=0),
        RequestCase(n_input=30, wanted=None, max_length=16, limit=-14),
    ],
}
