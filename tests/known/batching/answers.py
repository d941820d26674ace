"""Wrong and right values for the answer cells of the lab."""

from typing import Any

from autograder.labs.batching.cases import RIGHT_KINDS, RIGHT_PARTS
from labkit.labs.batching.checks.answers import EIGHT, EQUAL, THIRTY_TWO
from labkit.labs.batching.metrics import harmonic

_STATIC = "static_batches_are_recognized"
_DYNAMIC = "dynamic_batches_are_recognized"
_CONTINUOUS = "continuous_batches_are_recognized"
_MEMORY = "parts_that_save_memory_are_recognized"
_WAITING = "parts_that_end_waiting_are_recognized"
_READING = "parts_that_read_less_are_recognized"
_EQUAL = "equal_lengths_are_predicted"
_EIGHT = "exponential_lengths_are_predicted"
_MORE = "more_slots_are_predicted"


def which(**changed: Any) -> str:
    """The cell on the six behaviours, right but for what is changed."""
    return f"which_batching = {(RIGHT_KINDS | changed)!r}"


def one_wrong(kind: str, i: int, name: str) -> str:
    """The cell with the i-th behaviour of a kind called by another name."""
    letters = [letter for letter, right in RIGHT_KINDS.items() if right == kind]
    return which(**{letters[i]: name})


def swapped(kind: str, other: str) -> str:
    """The cell with one name for the other, both ways."""
    names = {kind: other, other: kind}
    return which(**{letter: names.get(right, right) for letter, right in RIGHT_KINDS.items()})


def parts(**changed: Any) -> str:
    """The cell on the parts of an engine, right but for what is changed."""
    return f"engine_parts = {(RIGHT_PARTS | changed)!r}"


def ratios(equal: Any, eight: Any, thirty_two: Any) -> str:
    """The cell on the predicted ratios."""
    answer = {EQUAL: equal, EIGHT: eight, THIRTY_TWO: thirty_two}
    return f"predicted_ratio = {answer!r}"


_ALL = (_STATIC, _DYNAMIC, _CONTINUOUS)
WHICH_CELLS = [
    ("a static batch called dynamic", (_STATIC,), one_wrong("static", 0, "dynamic")),
    ("a static one called continuous", (_STATIC,), one_wrong("static", 1, "continuous")),
    ("a dynamic batch called static", (_DYNAMIC,), one_wrong("dynamic", 0, "static")),
    ("a dynamic one called continuous", (_DYNAMIC,), one_wrong("dynamic", 1, "continuous")),
    ("a continuous one called dynamic", (_CONTINUOUS,), one_wrong("continuous", 0, "dynamic")),
    ("static and dynamic swapped", (_STATIC, _DYNAMIC), swapped("static", "dynamic")),
    ("dynamic and continuous swapped", (_DYNAMIC, _CONTINUOUS), swapped("dynamic", "continuous")),
    ("everything is continuous", _ALL, which(**dict.fromkeys(RIGHT_KINDS, "continuous"))),
    ("a word of one's own", _ALL, which(A="greedy")),
    ("a number", _ALL, which(A=1)),
    ("a letter is missing", _ALL, which().replace("'A'", "'a'")),
]  # fmt: skip
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
_PARTS = (_MEMORY, _WAITING, _READING)
PARTS_CELLS = [
    ("pages and prefixes swapped", (_MEMORY,), parts(A="prefix cache", B="paged cache")),
    ("shared memory is batching", (_MEMORY,), parts(B="continuous batching")),
    ("a long prompt and batching", (_WAITING,), parts(C="continuous batching")),
    ("one launch is parallelism", (_WAITING,), parts(D="tensor parallelism")),
    ("half of the bytes by splitting", (_READING,), parts(E="tensor parallelism")),
    ("several tokens by a graph", (_READING,), parts(F="CUDA graph")),
    ("one answer for all", _PARTS, parts(**dict.fromkeys("ABCDEF", "continuous batching"))),
    ("a word of one's own", _PARTS, parts(A="magic")),
]  # fmt: skip

MUTANTS = {
    "engine_parts": PARTS_CELLS,
    "which_batching": WHICH_CELLS,
    "predicted_ratio": RATIO_CELLS,
}


VARIANTS = {
    "which_batching": {
        "as they are": which(),
        "in capitals": which().replace("'static'", "'Static'"),
        "spaces, and one entry more": which(A=" static ", G="static"),
    },
    "engine_parts": {
        "as they are": parts(),
        "in capitals and small letters": parts(A="Paged Cache", D="cuda graph"),
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
