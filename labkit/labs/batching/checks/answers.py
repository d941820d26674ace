"""Checks of lab 5's answer cells.

In the notebook only the form of an answer is checked, and its mark is neutral; with hidden cases,
`case.right` knows what is right. `predicted_ratio` is about how long the longest of many answers
is, `card_ratio` about how many requests a card can serve, and `engine_parts` about what each part
of a serving engine changes.
"""

from collections.abc import Mapping
from functools import partial
from math import isclose, log, log2

from labkit.bridge.student import Student
from labkit.checks.answers import AnswerCase, choice_in, expect_close, fields_of
from labkit.checks.compare import finite_number_in, joined, show
from labkit.checks.core import OnlyRead, Wrong, check

PARTS = (
    "static batches",
    "dynamic batches",
    "continuous batching",
    "chunked prefill",
    "CUDA graph",
    "paged cache",
    "prefix cache",
    "quantization",
    "speculative decoding",
    "tensor parallelism",
)
EFFECTS = tuple("ABCDEFGH")
PREFILL_RATE, DECODE_RATE = "requests/s of a prefill card", "requests/s of a decode card"
CARDS, TWICE = "prefill cards for a decode card", "requests/s for twice the TTFT"
RATES = (PREFILL_RATE, DECODE_RATE, CARDS, TWICE)
PROMPT_S, STEP_S, N_SLOTS, N_TOKENS = 0.1, 0.0133, 64, 200  # as the question gives them
EQUAL = "equal lengths, 8 slots"
EIGHT, THIRTY_TWO = "exponential lengths, 8 slots", "exponential lengths, 32 slots"
SETTINGS = (EQUAL, EIGHT, THIRTY_TWO)
# Less than the smallest step, 1/B, which a wrong sum has too many or too few. It lets ln B + 0.577
# pass, which is smaller than the sum by nearly half of that step.
TOLERANCE = {EQUAL: 0.05, EIGHT: 0.1, THIRTY_TWO: 0.025}
ROUNDED = 0.006  # a number that was rounded to two decimals
CLOSE = 0.01

_ratio = partial(check, "predicted_ratio")
_cards = partial(check, "card_ratio")
_parts = partial(check, "engine_parts")


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


def _expect_rate(
    student: Student, case: AnswerCase, name: str, source: str, slips: Mapping[float, str]
) -> None:
    answer = fields_of(student, case, RATES)
    rates = {key: finite_number_in(answer[key], key) for key in RATES}
    if rates[name] <= 0:
        raise Wrong(f"{name}, {show(rates[name])}", why="It is a number above 0.")
    if case.right is None:
        raise OnlyRead
    right = case.right[name]
    expect_close(case, rates[name], right, name, source, relative=CLOSE, slips=slips)


@_cards(hint="Divide 1 by the duration of a prefill.")
def prefill_cards_are_counted_by_their_prompts(student: Student, case: AnswerCase) -> None:
    """The rate of a prefill card follows from the duration of a prompt."""
    slips = {PROMPT_S: "That is the duration of a prompt in seconds, not a rate."}
    _expect_rate(student, case, PREFILL_RATE, "the duration of a prompt", slips)


@_cards(hint="A request takes part in 199 steps, and each step serves 64 requests.")
def decode_cards_are_counted_by_their_steps(student: Student, case: AnswerCase) -> None:
    """The rate of a decode card follows from its steps and its slots."""
    steps_s = (N_TOKENS - 1) * STEP_S
    slips = {
        1 / steps_s: "Each step serves 64 requests.",
        N_SLOTS / STEP_S: "That is the number of tokens per second.",
    }
    _expect_rate(student, case, DECODE_RATE, "the steps and the slots", slips)


@_cards(hint="Both kinds of cards must serve the same number of requests per second.")
def the_ratio_follows_from_both_rates(student: Student, case: AnswerCase) -> None:
    """The number of prefill cards is the quotient of the two rates."""
    slips = {}
    if case.right is not None:
        slips = {1 / case.right[CARDS]: "That is the number of decode cards for a prefill card."}
    _expect_rate(student, case, CARDS, "the two rates", slips)


@_cards(hint="Set the formula equal to 2D, and solve it for R.")
def the_queue_gives_the_rate(student: Student, case: AnswerCase) -> None:
    """The rate at which the mean TTFT is two prefills follows from the formula for M/D/1."""
    slips = {
        1 / PROMPT_S: "With that rate the queue has no mean: the card is always busy.",
        0.5 / PROMPT_S: "At half of the load the mean TTFT is 1.5 times a prefill.",
    }
    _expect_rate(student, case, TWICE, "the formula for M/D/1", slips)


def _expect_parts(student: Student, case: AnswerCase, letters: str) -> None:
    answer = fields_of(student, case, EFFECTS)
    named = {letter: choice_in(answer[letter], PARTS, letter) for letter in EFFECTS}
    if case.right is None:
        raise OnlyRead
    if wrong := [letter for letter in letters if named[letter] != case.right[letter]]:
        raise Wrong(f"{wrong[0]} is not the effect of {named[wrong[0]]}")


@_parts(hint="Find out when a batch begins, and whether a request can join it later.")
def ways_to_make_batches_are_recognized(student: Student, case: AnswerCase) -> None:
    """Static, dynamic and continuous batching are named in A, B and C."""
    _expect_parts(student, case, "ABC")


@_parts(hint="Look for what is stored only once, and for what is reserved later than before.")
def parts_that_save_memory_are_recognized(student: Student, case: AnswerCase) -> None:
    """The parts that store less of the KV cache, or store it later, are named in D and E."""
    _expect_parts(student, case, "DE")


@_parts(hint="Find out what a pass computes, how it starts, and how many tokens it makes.")
def parts_that_change_a_pass_are_recognized(student: Student, case: AnswerCase) -> None:
    """The parts that change what a pass computes, or how it starts, are named in F, G and H."""
    _expect_parts(student, case, "FGH")


OPEN_CASES = {
    "engine_parts": [AnswerCase("engine_parts")],
    "card_ratio": [AnswerCase("card_ratio")],
    "predicted_ratio": [AnswerCase("predicted_ratio")],
}
