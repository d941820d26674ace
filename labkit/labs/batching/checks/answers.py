"""Checks of lab 5's answer cells.

In the notebook only the form of an answer is checked, and its mark is neutral; with hidden cases,
`case.right` knows what is right. `which_batching` is about what lets requests join,
`predicted_ratio` about how long the longest of many answers is, and `engine_parts` about what each
part of a serving engine changes.
"""

from functools import partial
from math import isclose, log, log2

from labkit.bridge.student import Student
from labkit.checks.answers import (
    AnswerCase,
    choice_in,
    expect_close,
    fields_of,
    finite_number_in,
)
from labkit.checks.compare import joined, show
from labkit.checks.core import OnlyRead, Wrong, check

PARTS = (
    "continuous batching",
    "chunked prefill",
    "CUDA graph",
    "paged cache",
    "prefix cache",
    "quantization",
    "speculative decoding",
    "tensor parallelism",
)
KINDS = ("static", "dynamic", "continuous")
BEHAVIOURS = tuple("ABCDEF")
EQUAL = "equal lengths, 8 slots"
EIGHT, THIRTY_TWO = "exponential lengths, 8 slots", "exponential lengths, 32 slots"
SETTINGS = (EQUAL, EIGHT, THIRTY_TWO)
# Less than the smallest step, 1/B, which a wrong sum has too many or too few. It lets ln B + 0.577
# pass, which is smaller than the sum by nearly half of that step.
TOLERANCE = {EQUAL: 0.05, EIGHT: 0.1, THIRTY_TWO: 0.025}
ROUNDED = 0.006  # a number that was rounded to two decimals

_which = partial(check, "which_batching")
_ratio = partial(check, "predicted_ratio")
_parts = partial(check, "engine_parts")


def _expect_named(student: Student, case: AnswerCase, kind: str) -> None:
    """Every behaviour of this kind is called by its name, and each kind is named."""
    answer = fields_of(student, case, BEHAVIOURS)
    named = {letter: choice_in(answer[letter], KINDS, letter) for letter in BEHAVIOURS}
    if missing := [other for other in KINDS if other not in named.values()]:
        raise Wrong(f"none of the six is called {missing[0]}, and each kind is among them")
    if case.right is None:
        raise OnlyRead
    for letter, right in case.right.items():
        if right == kind and named[letter] != right:
            raise Wrong(f"{letter} is not {named[letter]} batching")


@_which(hint="Look for servers whose batches begin only when they are full.")
def static_batches_are_recognized(student: Student, case: AnswerCase) -> None:
    """If a batch waits until it is full, and no request joins it later, batching is static."""
    _expect_named(student, case, "static")


@_which(hint="Find out when a batch begins, and whether a request can join it later.")
def dynamic_batches_are_recognized(student: Student, case: AnswerCase) -> None:
    """If a batch also begins after a set time, although it is not full, batching is dynamic."""
    _expect_named(student, case, "dynamic")


@_which(hint="Look for requests that join or leave between two steps of the others.")
def continuous_batches_are_recognized(student: Student, case: AnswerCase) -> None:
    """If requests join and leave between any two steps, batching is continuous."""
    _expect_named(student, case, "continuous")


def _expect_ratio(student: Student, case: AnswerCase, setting: str) -> None:
    answer = fields_of(student, case, SETTINGS)
    ratios = {key: finite_number_in(answer[key], key) for key in SETTINGS}
    got = ratios[setting]
    if len(set(ratios.values())) == 1:
        raise Wrong(
            "one ratio for all three", why="The ratio depends on the lengths and on the slots."
        )
    if got < 1 - TOLERANCE[EQUAL]:
        why = "Continuous batching never takes more steps than static batching."
        raise Wrong(f"{setting}, {show(got)}", why=why)
    if case.right is None:
        raise OnlyRead
    right, n_slots = case.right[setting], int(setting.split()[-2])
    slips = {
        "That is the number of slots.": n_slots,
        "That is the logarithm of the number of slots.": log(n_slots),
        "That is the logarithm of the number of slots, to base 2.": log2(n_slots),
        "That is four times your ratio for 8 slots.": 4 * ratios[EIGHT],
    }
    if setting != EQUAL:
        slips |= {
            f"The first of the mean times, m/{n_slots}, is missing.": right - 1 / n_slots,
            "The last of the mean times, m, is missing.": right - 1,
            f"It has a mean time too many, m/{n_slots + 1}.": right + 1 / (n_slots + 1),
        }
    why = joined(text for text, number in slips.items() if isclose(got, number, abs_tol=ROUNDED))
    source, relative = "the lengths of the requests and the slots", TOLERANCE[setting] / right
    expect_close(case, got, right, setting, source, relative=relative, why=why)


@_ratio(hint="Count the slots that are empty before a batch of equal lengths ends.")
def equal_lengths_are_predicted(student: Student, case: AnswerCase) -> None:
    """The ratio for equal lengths is right to 0.05."""
    _expect_ratio(student, case, EQUAL)


@_ratio(hint="Add the mean times between the ends: m/8, then m/7, and so on to m.")
def exponential_lengths_are_predicted(student: Student, case: AnswerCase) -> None:
    """The ratio for exponential lengths in 8 slots is right to 0.1."""
    _expect_ratio(student, case, EIGHT)


@_ratio(hint="Add the mean times between the ends again, now from m/32 to m.")
def more_slots_are_predicted(student: Student, case: AnswerCase) -> None:
    """The ratio for exponential lengths in 32 slots is right to 0.025."""
    _expect_ratio(student, case, THIRTY_TWO)


def _expect_parts(student: Student, case: AnswerCase, letters: str) -> None:
    answer = fields_of(student, case, BEHAVIOURS)
    named = {letter: choice_in(answer[letter], PARTS, letter) for letter in BEHAVIOURS}
    if case.right is None:
        raise OnlyRead
    if wrong := [letter for letter in letters if named[letter] != case.right[letter]]:
        raise Wrong(f"{wrong[0]} is not the effect of {named[wrong[0]]}")


@_parts(hint="Look for what is stored only once, and for what is reserved later than before.")
def parts_that_save_memory_are_recognized(student: Student, case: AnswerCase) -> None:
    """The parts that store less of the KV cache, or store it later, are named in A and B."""
    _expect_parts(student, case, "AB")


@_parts(hint="Find out what had to wait before: the other requests, or the GPU.")
def parts_that_end_waiting_are_recognized(student: Student, case: AnswerCase) -> None:
    """The parts that end the waiting for a long prompt or for the CPU are named in C and D."""
    _expect_parts(student, case, "CD")


@_parts(hint="Compare the bytes that a pass reads, and the tokens that it makes.")
def parts_that_read_less_are_recognized(student: Student, case: AnswerCase) -> None:
    """The parts that read fewer bytes for each token are named in E and F."""
    _expect_parts(student, case, "EF")


OPEN_CASES = {
    "engine_parts": [AnswerCase("engine_parts")],
    "which_batching": [AnswerCase("which_batching")],
    "predicted_ratio": [AnswerCase("predicted_ratio")],
}
