"""Checks of lab 1's answers on what fits: the largest model and the longest sequence."""

import math
from collections.abc import Iterable, Sequence
from functools import partial

from labkit.bridge.student import Student
from labkit.checks.answers import AnswerCase, ask, choice_in, fields_of, refuse
from labkit.checks.compare import finite_number_in, joined, show
from labkit.checks.core import Wrong, check
from labkit.labs.memory.checks.fit_slips import (
    A_FIFTH,
    BATCH_OF_EIGHT,
    NO_WEIGHTS,
    billion_slips,
    token_slips,
)
from labkit.labs.memory.checks.tables import config_of
from labkit.models.facts import VRAM_READINGS, models, vram_readings

EIGHTY_GB_CARDS = ("A100-SXM-80GB", "H100-PCIe", "H100-SXM")
LONGEST_WINDOW = 4096
FOURTEEN = "Qwen/Qwen3-14B"
PARAMETER_COUNTS = {
    "exact": models()[FOURTEEN]["params_exact"],
    "card": 14_800_000_000,
    "name": 14_000_000_000,
}
EVERY_READING = [(reading, count) for reading in VRAM_READINGS for count in PARAMETER_COUNTS]
TOKEN_TOLERANCE = 15  # to the nearest 10, or down to 10, and either of them one step off

_on_80_gb = partial(check, "largest_on_80_gb")
_on_l40s = partial(check, "longest_on_l40s")


@_on_80_gb(
    hint="Call your largest_model with your bytes of 80 GB and your overhead. Divide by 10^9.",
)
def billions_follow_from_the_card_and_the_overhead(student: Student, case: AnswerCase) -> None:
    """The parameters follow from your entries "vram" and "overhead_gb"."""
    reading, _, overhead_bytes, billions = _largest_fields(student, case)
    if _are_billions(billions, _billions(student, case, reading, overhead_bytes)):
        return
    why = _billions_slip(student, case, [reading])
    if not why and _fits_a_card(student, case, overhead_bytes, billions):
        why = 'It fits another entry for "vram" than yours.'
    elif not why and _fits_a_card(student, case, overhead_bytes, billions / 1e9):
        why = "Give billions, not parameters."
    why = why or _billions_slip(student, case, VRAM_READINGS)
    what, source = f"{show(billions)} billion parameters", 'your "vram" and "overhead_gb"'
    refuse(case, what, source, why, cause="the number of parameters")


@_on_80_gb(hint="Add up the activations of one layer, the logits and the CUDA context.")
def overhead_is_what_one_pass_keeps_alive(student: Student, case: AnswerCase) -> None:
    """The overhead is what one forward pass needs besides the weights: 0, or a few GB."""
    _, n_tokens, overhead_bytes, billions = _largest_fields(student, case)
    # a context and workspaces; logits in 16 and 32 bits and three of the widest buffers per token
    most_bytes = max(4.5e9, 1.5e9 + n_tokens * (151_936 * 6 + 3 * 25_600 * 2))
    if overhead_bytes > most_bytes:
        raise Wrong(
            f"{overhead_bytes / 1e9:.3g} GB of overhead is too much for {n_tokens:,.0f} tokens",
            why="One forward pass needs no cache, and nothing else that grows with the weights. "
            "Add up one layer's activations, the logits and the CUDA context.",
        )
    if any(_fits_a_card(student, case, overhead_bytes, n) for n in (billions, billions / 1e9)):
        return
    why = _billions_slip(student, case, VRAM_READINGS)
    if not why or why == A_FIFTH:
        follow = 'billion do not follow from this overhead for any entry "vram"'
        raise Wrong(f"{show(billions)} {follow}", why=why, cause=why or follow)


def _billions_slip(student: Student, case: AnswerCase, readings: Iterable[str]) -> str:
    """The sentences for the billions that known mistakes give with one of these entries "vram"."""
    _, _, overhead_bytes, billions = _largest_fields(student, case)
    wrong = []  # of each reading, for its smallest and its largest card
    for reading in readings:
        whole, room = (_billions(student, case, reading, n) for n in (0, overhead_bytes))
        ends = zip(whole, room, strict=True)
        wrong.append([billion_slips(*end, overhead_bytes / 1e9) for end in ends])
    return joined(
        sentence
        for sentence in wrong[0][0]
        for ends in wrong
        if _are_billions(billions, [slips[sentence] for slips in ends])
    )


def _largest_fields(student: Student, case: AnswerCase) -> tuple[str, float, int, float]:
    """The fields, checked: reading of the card, tokens, overhead in bytes, billions."""
    answer = fields_of(student, case, ("vram", "n_tokens", "overhead_gb", "billions"))
    reading = choice_in(answer["vram"], VRAM_READINGS, 'the entry "vram"')
    n_tokens = finite_number_in(answer["n_tokens"], "the length of the sequence")
    if not 1 <= n_tokens <= LONGEST_WINDOW:
        raise Wrong("n_tokens", expected=f"1 to {LONGEST_WINDOW:,}", got=show(n_tokens))
    overhead_gb = finite_number_in(answer["overhead_gb"], "the overhead")
    if not 0 <= overhead_gb < 80:
        why = "Give GB, not bytes." if overhead_gb > 1e6 else ""
        raise Wrong("overhead_gb", expected="0 to 80 GB", got=show(overhead_gb), why=why)
    return (
        reading,
        n_tokens,
        round(overhead_gb * 1e9),
        finite_number_in(answer["billions"], "billions"),
    )


def _billions(
    student: Student, case: AnswerCase, reading: str, overhead_bytes: int
) -> tuple[float, float]:
    """The fewest and most billions that fit the cards of the 80 GB class by this reading."""
    functions = case.right or student
    totals = [total for card in EIGHTY_GB_CARDS for total in vram_readings(card)[reading]]
    fewest, most = (
        ask(functions, "largest_model", total, overhead_bytes) / 1e9
        for total in (min(totals), max(totals))
    )
    return fewest, most


def _are_billions(billions: float, right: Sequence[float]) -> bool:
    """Whether they are from the fewest, rounded down, to the most, rounded to the nearest."""
    fewest, most = right
    return math.floor(fewest) - 1e-6 <= billions <= max(most, math.floor(most + 0.5)) + 1e-6


def _fits_a_card(student: Student, case: AnswerCase, overhead_bytes: int, billions: float) -> bool:
    ranges = (_billions(student, case, name, overhead_bytes) for name in VRAM_READINGS)
    return any(_are_billions(billions, each) for each in ranges)


@_on_l40s(
    weight=4,
    hint="Pass the bytes of the card, the weights and one token to your longest_sequence.",
)
def tokens_follow_from_the_stated_conventions(student: Student, case: AnswerCase) -> None:
    """The tokens follow from your entries "vram" and "params"."""
    reading, count, n_tokens = _longest_fields(student, case)
    if _fits(n_tokens, _tokens(student, case, reading, count)):
        return
    why = _token_slip(student, case, [(reading, count)])
    for other in EVERY_READING:
        if not why and _fits(n_tokens, _tokens(student, case, *other)):
            why = "It fits vram={!r} and params={!r}, not yours.".format(*other)
    why = why or _token_slip(student, case, EVERY_READING)
    what = f"tokens for {reading!r} and {count!r}"
    source = "the bytes of the card, the weights and eight sequences"
    refuse(case, f"{show(n_tokens)} {what}", source, why, cause=f"the number of {what}")


@_on_l40s(
    hint="Use n_params of the table in section 1, or 14.8 billion of the model card.",
    gate=True,
)
def every_parameter_of_the_model_is_counted(student: Student, case: AnswerCase) -> None:
    """The answer uses the real number of parameters, not the 14 billion of the name."""
    _, count, n_tokens = _longest_fields(student, case)
    if count == "name":
        raise Wrong(
            "14 billion is in the name of the model, but it has more parameters",
            why="Take the number from the table of section 1, or from the model card.",
        )
    real = [(reading, known) for reading, known in EVERY_READING if known != "name"]
    follows = any(_fits(n_tokens, _tokens(student, case, *each)) for each in real)
    if not follows and _token_slip(student, case, real) in ("", NO_WEIGHTS):
        follow = 'tokens do not follow from the model\'s real size, for any entry "vram"'
        raise Wrong(f"{show(n_tokens)} {follow}", cause=f"the {follow}")


def _token_slip(student: Student, case: AnswerCase, readings: Iterable[tuple[str, str]]) -> str:
    """The sentences for the tokens that known mistakes give with one of these readings."""
    _, _, n_tokens = _longest_fields(student, case)
    sizes = [_sizes(student, case, *each) for each in readings]
    wrong = [
        [token_slips(total, weights, BATCH_OF_EIGHT * token) for total in totals]
        for totals, weights, token in sizes
    ]
    return joined(
        sentence
        for sentence in wrong[0][0]
        for ends in wrong
        if _fits(n_tokens, [slips[sentence] for slips in ends])
    )


def _longest_fields(student: Student, case: AnswerCase) -> tuple[str, str, float]:
    answer = fields_of(student, case, ("vram", "params", "n_tokens"))
    reading = choice_in(answer["vram"], VRAM_READINGS, 'the entry "vram"')
    count = choice_in(answer["params"], tuple(PARAMETER_COUNTS), "the parameter count")
    return reading, count, finite_number_in(answer["n_tokens"], "the number of tokens")


def _sizes(
    student: Student, case: AnswerCase, reading: str, count: str
) -> tuple[tuple[int, int], float, float]:
    """The bytes of the card, lowest and highest, of the weights and of one token."""
    functions = case.right or student
    token_bytes = ask(functions, "kv_cache_bytes", config_of(functions, FOURTEEN), 1)
    return vram_readings("L40S")[reading], 2 * PARAMETER_COUNTS[count], token_bytes


def _tokens(student: Student, case: AnswerCase, reading: str, count: str) -> list[float]:
    """The fewest and most tokens that this reading and this count leave room for."""
    totals, *sizes = _sizes(student, case, reading, count)
    functions = case.right or student
    return [ask(functions, "longest_sequence", each, *sizes, BATCH_OF_EIGHT) for each in totals]


def _fits(n_tokens: float, right: Sequence[float]) -> bool:
    fewest, most = right
    return fewest - TOKEN_TOLERANCE <= n_tokens <= most + TOKEN_TOLERANCE


OPEN_CASES = {name: [AnswerCase(name)] for name in ("largest_on_80_gb", "longest_on_l40s")}
