"""Checks of lab 1's questions asked backwards: the largest model, the longest sequence.

Both are about what is left: `largest_model` beside the overhead, `longest_sequence` beside the
weights, for the whole batch.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from typing import Any

from labkit.bridge.student import Student
from labkit.checks.compare import expect_number, number_in, show
from labkit.checks.core import NotJudged, check
from labkit.checks.forms import expect_refusal
from labkit.checks.slips import cause_by_replay
from labkit.labs.memory.checks.products import ROUNDING, expect_exactly
from labkit.labs.memory.checks.replay import (
    LARGEST_PROBES,
    LONGEST_PROBES,
    largest_slips,
    longest_slips,
)

_largest = partial(check, "largest_model", gate=True)
_longest = partial(check, "longest_sequence", gate=True)


@dataclass(frozen=True)
class LargestCase:
    """A card and what else is on it; `expected` None where the call must be refused."""

    vram_bytes: int
    overhead_bytes: int
    bytes_per_param: int
    expected: int | None

    @property
    def kind(self) -> str:
        """What the case is about: a slip shows in one kind only."""
        if not self.expected:
            return "refused" if self.expected is None else "full"
        if self.bytes_per_param != 2:
            return "width"
        return "overhead" if self.overhead_bytes else "plain"

    def ask(self, student: Student) -> Any:
        """How many parameters fit, by the student's function."""
        return student.largest_model(self.vram_bytes, self.overhead_bytes, self.bytes_per_param)

    def __str__(self) -> str:
        return (
            f"{self.vram_bytes:,} bytes of VRAM, {self.overhead_bytes:,} of overhead, "
            f"{self.bytes_per_param} per parameter"
        )


@dataclass(frozen=True)
class LongestCase:
    """A card, a model and a batch; `expected` None where the call must be refused."""

    vram_bytes: int
    model_bytes: int
    token_bytes: int
    expected: int | None
    options: Mapping[str, int] = field(default_factory=dict)

    @property
    def kind(self) -> str:
        """What the case is about: a slip shows in one kind only."""
        if not self.expected:
            return "refused" if self.expected is None else "full"
        if self.overhead_bytes:
            return "overhead"
        return "batch" if self.batch_size > 1 else "plain"

    def ask(self, student: Student) -> Any:
        """How many tokens fit, by the student's function."""
        sizes = (self.vram_bytes, self.model_bytes, self.token_bytes)
        return student.longest_sequence(*sizes, **self.options)

    @property
    def batch_size(self) -> int:
        return self.options.get("batch_size", 1)

    @property
    def overhead_bytes(self) -> int:
        return self.options.get("overhead_bytes", 0)

    @property
    def room_bytes(self) -> int:
        return self.vram_bytes - self.model_bytes - self.overhead_bytes

    def __str__(self) -> str:
        options = "".join(f", {name} {value:,}" for name, value in self.options.items())
        return (
            f"{self.vram_bytes:,} bytes of VRAM, {self.model_bytes:,} of weights, "
            f"{self.token_bytes:,} per token{options}"
        )


@_largest(
    "overhead",
    hint="Subtract the overhead first. Then divide by the bytes of one parameter.",
)
def weights_fill_what_the_overhead_leaves(student: Student, case: LargestCase) -> None:
    """The parameters fill the memory that the overhead leaves."""
    _check_largest(student, case)


@_largest("width", hint="Divide by bytes_per_param, not by 2.")
def wider_parameters_leave_room_for_fewer(student: Student, case: LargestCase) -> None:
    """The function uses bytes_per_param, which is not always 2."""
    _check_largest(student, case)


@_largest("plain", hint="Divide integers with `//`, which rounds down. `/` is not exact.")
def a_parameter_fits_whole_or_not_at_all(student: Student, case: LargestCase) -> None:
    """The result is a whole number of parameters, rounded down and exact."""
    got = student.largest_model(case.vram_bytes)
    with cause_by_replay(student.largest_model, LARGEST_PROBES, largest_slips):
        expect_exactly(got, case.expected, "the parameters that fit")


@_largest("full", hint="Return 0 if the room is negative, for instance with max(0, ...).")
def a_full_card_holds_no_parameters(student: Student, case: LargestCase) -> None:
    """If the overhead is as large as the card, or larger, the result is 0."""
    expect_number(case.ask(student), 0, "the parameters that fit")
    roomy = replace(case, vram_bytes=10 * case.overhead_bytes).ask(student)
    _expect_some(roomy, "the parameters that fit on a card of ten times the overhead")


@_largest("refused", hint="Raise ValueError if bytes_per_param is 0 or negative.", gate=False)
def refuses_parameters_without_width(student: Student, case: LargestCase) -> None:
    """If bytes_per_param is 0 or negative, the function raises ValueError."""
    what = f"a parameter of {case.bytes_per_param} bytes"
    expect_refusal(lambda: case.ask(student), "ValueError", what)
    _expect_some(student.largest_model(case.vram_bytes), "the parameters of an ordinary call")


def _check_largest(student: Student, case: LargestCase) -> None:
    with cause_by_replay(student.largest_model, LARGEST_PROBES, largest_slips):
        expect_number(
            case.ask(student), case.expected, "the parameters that fit", relative=ROUNDING
        )


@_longest("batch", hint="Divide the room by batch_size * token_bytes.")
def the_batch_shares_what_the_weights_leave(student: Student, case: LongestCase) -> None:
    """All sequences of the batch share the memory that the weights leave."""
    _check_longest(student, case)


@_longest("overhead", hint="Subtract overhead_bytes from the card, like the weights.")
def an_overhead_comes_off_first(student: Student, case: LongestCase) -> None:
    """The overhead is subtracted before the tokens are counted."""
    _check_longest(student, case)


@_longest("plain", hint="Divide integers with `//`, which rounds down. `/` is not exact.")
def a_token_fits_whole_or_not_at_all(student: Student, case: LongestCase) -> None:
    """The result is a whole number of tokens, rounded down and exact."""
    got = student.longest_sequence(case.vram_bytes, case.model_bytes, case.token_bytes)
    with cause_by_replay(student.longest_sequence, LONGEST_PROBES, longest_slips):
        expect_exactly(got, case.expected, "the tokens that fit")


@_longest("full", hint="Return 0 if the room is negative, for instance with max(0, ...).")
def no_room_means_no_tokens(student: Student, case: LongestCase) -> None:
    """If the weights fill the card, or do not fit, the result is 0."""
    expect_number(case.ask(student), 0, "the tokens that fit")
    taken_bytes = case.overhead_bytes + case.model_bytes + case.token_bytes * case.batch_size
    roomy = replace(case, vram_bytes=taken_bytes * case.batch_size).ask(student)
    _expect_some(roomy, "the tokens that fit on a card with room for some")


@_longest(
    "refused",
    hint="Raise ValueError if batch_size or token_bytes is 0 or negative.",
    gate=False,
)
def refuses_an_empty_batch(student: Student, case: LongestCase) -> None:
    """If batch_size or token_bytes is 0 or negative, the function raises ValueError."""
    what = f"a batch of {case.batch_size} with {case.token_bytes} bytes per token"
    expect_refusal(lambda: case.ask(student), "ValueError", what)
    ordinary = student.longest_sequence(case.vram_bytes, case.model_bytes, 1)
    _expect_some(ordinary, "the tokens of an ordinary call")


def _check_longest(student: Student, case: LongestCase) -> None:
    with cause_by_replay(student.longest_sequence, LONGEST_PROBES, longest_slips):
        expect_number(case.ask(student), case.expected, "the tokens that fit", relative=ROUNDING)


def _expect_some(got: Any, what: str) -> None:
    """More than nothing: a function that always says 0, or always refuses, has not been right."""
    number = number_in(got, what)
    if not number > 0:
        raise NotJudged(f"{what} should be more than 0, but the function gives {show(number)}")


OPEN_CASES = {
    "largest_model": [
        LargestCase(24_000_000_000, 2_000_000_000, 2, 11_000_000_000),
        LargestCase(16_000_000_000, 0, 4, 4_000_000_000),
        LargestCase(5, 0, 2, 2),
        LargestCase(2**60 + 3, 0, 2, 576_460_752_303_423_489),
        LargestCase(16_000_000_000, 17_000_000_000, 2, 0),
        LargestCase(16_000_000_000, 0, 0, None),
        LargestCase(16_000_000_000, 0, -2, None),
    ],
    "longest_sequence": [
        LongestCase(1_000_000, 400_000, 100, 1_500, {"batch_size": 4}),
        LongestCase(1_000_000, 400_000, 100, 5_000, {"overhead_bytes": 100_000}),
        LongestCase(1_000_000, 400_001, 100, 5_999),
        LongestCase(2**60 + 3, 0, 2, 576_460_752_303_423_489),
        LongestCase(1_000_000, 1_000_000, 100, 0),
        LongestCase(1_000_000, 3_000_000, 100, 0, {"batch_size": 2}),
        LongestCase(1_000_000, 400_000, 100, None, {"batch_size": 0}),
        LongestCase(1_000_000, 400_000, 0, None),
        LongestCase(1_000_000, 400_000, -100, None, {"batch_size": -2}),
    ],
}
