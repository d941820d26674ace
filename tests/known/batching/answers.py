"""Wrong and right values for the answer cells of the lab."""

from typing import Any

from autograder.labs.batching.cases import RIGHT_PARTS, RIGHT_RATES
from labkit.labs.batching.checks.answers import (
    CARDS,
    DECODE_RATE,
    EIGHT,
    EQUAL,
    PREFILL_RATE,
    THIRTY_TWO,
    TWICE,
)
from labkit.labs.batching.metrics import harmonic

_BATCHES = "ways_to_make_batches_are_recognized"
_MEMORY = "parts_that_save_memory_are_recognized"
_PASSES = "parts_that_change_a_pass_are_recognized"
_PREFILL = "prefill_cards_are_counted_by_their_prompts"
_DECODE = "decode_cards_are_counted_by_their_steps"
_CARDS = "the_ratio_follows_from_both_rates"
_QUEUE = "the_queue_gives_the_rate"
_EQUAL = "equal_lengths_are_predicted"
_EIGHT = "exponential_lengths_are_predicted"
_MORE = "more_slots_are_predicted"


def parts(**changed: Any) -> str:
    """The cell on the parts of an engine, right but for what is changed."""
    return f"engine_parts = {(RIGHT_PARTS | changed)!r}"


def cards(**changed: Any) -> str:
    """The cell on the number of cards, right but for what is changed, by the names above."""
    names = {"prefill": PREFILL_RATE, "decode": DECODE_RATE, "cards": CARDS, "twice": TWICE}
    return f"card_ratio = {RIGHT_RATES | {names[key]: each for key, each in changed.items()}!r}"


def ratios(equal: Any, eight: Any, thirty_two: Any) -> str:
    """The cell on the predicted ratios."""
    answer = {EQUAL: equal, EIGHT: eight, THIRTY_TWO: thirty_two}
    return f"predicted_ratio = {answer!r}"


RATIO_CELLS = [
    ("a gain for equal lengths", (_EQUAL,), ratios(2.0, 2.72, 4.06)),
    ("equal lengths lose", (_EQUAL,), ratios(0.5, 2.72, 4.06)),
    ("as many times as there are slots", (_EIGHT, _MORE), ratios(1, 8, 32)),
    ("the logarithm alone", (_EIGHT, _MORE), ratios(1, 2.08, 3.47)),
    ("the logarithm to base 2", (_EIGHT, _MORE), ratios(1, 3, 5)),
    ("two, one reads", (_EIGHT,), ratios(1, 2, 4.06)),
    ("four times the slots, four times the ratio", (_MORE,), ratios(1, 2.72, 10.88)),
    ("the sum ends at 1/(B - 1)", (_EIGHT, _MORE), ratios(1, 2.59, 4.03)),
    ("the sum ends at 1/(B + 1)", (_EIGHT, _MORE), ratios(1, harmonic(9), harmonic(33))),
    ("the sum begins with 1/2", (_EIGHT, _MORE), ratios(1, 1.72, 3.06)),
    ("slots do not matter", (_MORE,), ratios(1, 2.72, 2.72)),
    ("continuous over static", (_EIGHT, _MORE), ratios(1, 0.37, 0.25)),
    ("in percent", (_EQUAL, _EIGHT, _MORE), ratios(100, 272, 406)),
    ("not a number", (_EQUAL, _EIGHT, _MORE), ratios(1, "X", 4.06).replace("'X'", "float('nan')")),
    ("text", (_EQUAL, _EIGHT, _MORE), ratios("none", 2.72, 4.06)),
    ("one for all", (_EQUAL, _EIGHT, _MORE), ratios(1, 1, 1)),
]  # fmt: skip
_PARTS = (_BATCHES, _MEMORY, _PASSES)
PARTS_CELLS = [
    ("static and dynamic swapped", (_BATCHES,), parts(A="dynamic batches", B="static batches")),
    ("a dynamic batch called continuous", (_BATCHES,), parts(B="continuous batching")),
    ("a continuous one called dynamic", (_BATCHES,), parts(C="dynamic batches")),
    ("pages and prefixes swapped", (_MEMORY,), parts(D="prefix cache", E="paged cache")),
    ("shared memory is batching", (_MEMORY,), parts(E="continuous batching")),
    ("a long prompt and batching", (_PASSES,), parts(F="continuous batching")),
    ("one launch is parallelism", (_PASSES,), parts(G="tensor parallelism")),
    ("several tokens by a graph", (_PASSES,), parts(H="CUDA graph")),
    ("one answer for all", _PARTS, parts(**dict.fromkeys("ABCDEFGH", "quantization"))),
    ("a word of one's own", _PARTS, parts(A="magic")),
    ("a number", _PARTS, parts(A=1)),
    ("a letter is missing", _PARTS, parts().replace("'A'", "'a'")),
]  # fmt: skip
_RATES = (_PREFILL, _DECODE, _CARDS, _QUEUE)
CARDS_CELLS = [
    ("the duration of a prompt", (_PREFILL,), cards(prefill=0.102)),
    ("a step serves one request", (_DECODE,), cards(decode=0.2645)),
    ("tokens per second", (_DECODE,), cards(decode=4812.0)),
    ("the ratio the other way", (_CARDS,), cards(cards=0.414)),
    ("one of each", (_CARDS,), cards(cards=1)),
    ("a card that is always busy", (_QUEUE,), cards(twice=10.0)),
    ("half of the load", (_QUEUE,), cards(twice=5.0)),
    ("a load in place of a rate", (_QUEUE,), cards(twice=0.667)),
    ("text", _RATES, cards(decode="many")),
    ("nothing", _RATES, cards(prefill=0, decode=0, cards=0, twice=0)),
]  # fmt: skip

MUTANTS = {
    "engine_parts": PARTS_CELLS,
    "card_ratio": CARDS_CELLS,
    "predicted_ratio": RATIO_CELLS,
}


VARIANTS = {
    "engine_parts": {
        "as they are": parts(),
        "in capitals and small letters": parts(D="Paged Cache", G="cuda graph"),
        "spaces, and one entry more": parts(A=" static batches ", I="static batches"),
    },
    "card_ratio": {
        "as they are": cards(),
        "two decimals": cards(prefill=10.0, decode=24.18, cards=2.42, twice=6.67),
        "200 steps": cards(decode=24.06, cards=2.41),
    },
    "predicted_ratio": {
        "three digits": ratios(1.0, 2.72, 4.06),
        "ln B + 0.577": ratios(1.0, 2.66, 4.04),
        "ln B + 0.577 + 1/2B": ratios(1.0, 2.719, 4.0584),
        "decimals that are cut off": ratios(1, 2.71, 4.05),
        "computed": "H = lambda n: sum(1 / i for i in range(1, n + 1))\n"
        + ratios("H1", "H8", "H32")
        .replace("'H1'", "1")
        .replace("'H8'", "H(8)")
        .replace("'H32'", "H(32)"),
    },
}
