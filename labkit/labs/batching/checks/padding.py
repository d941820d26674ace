"""Checks of `padding_waste`: what part of the computed prompt tokens is padding."""

from dataclasses import dataclass
from functools import partial
from statistics import fmean

from labkit.bridge.student import Student
from labkit.checks.compare import expect_number, number_in, show
from labkit.checks.core import Wrong, check

SINGLE_PRECISION = 1e-5  # numbers of single precision

_padding = partial(check, "padding_waste", gate=True)


@dataclass(frozen=True, slots=True)
class PaddingCase:
    """Prefill batches, and the part of what is computed that is padding.

    kind: "longest" for one batch, or some that are computed as the same number of tokens;
    "weights" where some have the same longest prompt and differ in size; "none" without batches.
    """

    kind: str
    batches: tuple[tuple[int, ...], ...]
    expected: float

    def __str__(self) -> str:
        batches = ", ".join(str(list(batch)) for batch in self.batches)
        return f"batches of prompts with {batches} tokens" if batches else "no batches"


def _waste(student: Student, *batches: tuple[int, ...]) -> float | int:
    return number_in(student.padding_waste([list(batch) for batch in batches]), "the waste")


def _expect_waste(student: Student, case: PaddingCase) -> None:
    got = _waste(student, *case.batches)
    parts = [1 - sum(batch) / (max(batch) * len(batch)) for batch in case.batches]
    together = [length for batch in case.batches for length in batch]
    n_computed = sum(max(batch) * len(batch) for batch in case.batches)
    numbers = {
        n_computed - sum(together): "That is the number of wasted tokens, not their share.",
        max(parts): "That is the waste of the worst batch.",
        fmean(
            parts
        ): "That is the mean of the batches' shares. Add up the tokens first, then divide once.",
        1 - fmean(together) / max(together): "Each batch is padded to its own longest prompt.",
    }
    slips = {
        100.0: "That is in percent.",
        (1 - case.expected) / case.expected: "That is the share that is used.",
        1 / (1 - case.expected): "Divide by all computed tokens, not by those of the prompts.",
        1
        / case.expected
        / (1 - case.expected): "That is all computed tokens divided by those of the prompts.",
    }
    expect_number(
        got, case.expected, "waste", relative=SINGLE_PRECISION, factors=slips, slips=numbers
    )


@_padding("longest", hint="Subtract each length from the longest of its batch, and add up.")
def each_batch_is_padded_to_its_own_longest(student: Student, case: PaddingCase) -> None:
    """Waste is the padding to the longest prompt of each batch, divided by all computed tokens."""
    _expect_waste(student, case)


@_padding("weights", hint="Add up padding and computed tokens over all batches, then divide once.")
def batches_count_by_their_tokens(student: Student, case: PaddingCase) -> None:
    """With several batches, the sum of the padding is divided by the sum of the tokens."""
    _expect_waste(student, case)


@_padding("none", hint="Return 0 if there are no batches, before you divide.", gate=False)
def without_batches_nothing_is_wasted(student: Student, case: PaddingCase) -> None:
    """Without any batch, and with batches of equal lengths, the waste is 0."""
    for batches in ((), ((5, 5, 5),)):
        expect_number(_waste(student, *batches), 0.0, "waste", absolute=1e-6)
    uneven = _waste(student, (2, 6))
    if not uneven > 0.1:
        raise Wrong("waste of prompts of 2 and 6 tokens", expected="a third", got=show(uneven))


OPEN_CASES = {
    "padding_waste": [
        PaddingCase("longest", ((10, 4, 6),), expected=1 / 3),
        PaddingCase("longest", ((10, 5, 5, 10), (20, 10)), expected=0.25),
        PaddingCase("weights", ((12, 3), (12, 12, 6, 6, 9, 12)), expected=0.25),
        PaddingCase("none", (), expected=0.0),
    ],
}
