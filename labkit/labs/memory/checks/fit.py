"""Checks of lab 1's answers on what fits: the largest model and the longest sequence."""

import math

from labkit.bridge.student import Student
from labkit.checks.answers import (
    AnswerCase,
    ask,
    choice_in,
    fields_of,
    finite_number_in,
    refuse,
    shape_of,
)
from labkit.checks.compare import show
from labkit.checks.core import Wrong, check
from labkit.models.facts import VRAM_READINGS, models, vram_readings

EIGHTY_GB_CARDS = ("A100-SXM-80GB", "H100-PCIe", "H100-SXM")
LONGEST_WINDOW = 4096
BATCH_OF_EIGHT = 8
FOURTEEN = "Qwen/Qwen3-14B"
PARAMETER_COUNTS = {
    "exact": models()[FOURTEEN]["params_exact"],
    "card": 14_800_000_000,
    "name": 14_000_000_000,
}
TOKEN_TOLERANCE = 15  # to the nearest 10, or down to 10, and either of them one step off


@check(
    "largest_on_80_gb",
    hint="Your largest_model gives parameters: one reading of 80 GB, less the overhead.",
)
def billions_follow_from_the_card_and_the_overhead(student: Student, case: AnswerCase) -> None:
    """The number of parameters follows from the reading of 80 GB and the overhead beside it."""
    reading, _, overhead_bytes, billions = _largest_fields(student, case)
    fewest, most = _billions(student, case, reading, overhead_bytes)
    if not fewest - 1e-6 <= billions <= most + 1e-6:
        why = "The answer is asked in billions." if billions > 1e6 else ""
        why = why or WRONG_BILLIONS.get(round(billions), "")
        others = [name for name in VRAM_READINGS if name != reading]
        if not why and any(
            low - 1e-6 <= billions <= high + 1e-6
            for low, high in (_billions(student, case, name, overhead_bytes) for name in others)
        ):
            why = "It belongs to another reading of 80 GB than the one named."
        what = f"{show(billions)} billion parameters"
        refuse(case, what, why, cause="the number of parameters")


@check(
    "largest_on_80_gb",
    hint="In one pass, one layer's activations are alive at a time, and the logits at the end.",
)
def overhead_is_what_one_pass_keeps_alive(student: Student, case: AnswerCase) -> None:
    """The overhead is what one forward pass keeps beside the weights: a few GB, or left out."""
    _, n_tokens, overhead_bytes, billions = _largest_fields(student, case)
    # a context and workspaces; logits in 16 and 32 bits and three of the widest buffers per token
    most_bytes = max(4.5e9, 1.5e9 + n_tokens * (151_936 * 6 + 3 * 25_600 * 2))
    if overhead_bytes > most_bytes:
        raise Wrong(
            f"{overhead_bytes / 1e9:.3g} GB beside the weights for {n_tokens:,.0f} tokens",
            why="Nothing in proportion to the weights is alive besides the weights, and no cache: "
            "add up one layer's activations, the logits and the CUDA context.",
        )
    ranges = [_billions(student, case, name, overhead_bytes) for name in VRAM_READINGS]
    if not any(low - 1e-6 <= billions <= high + 1e-6 for low, high in ranges):
        raise Wrong(
            f"{show(billions)} billion parameters follow from this overhead by no reading of 80 GB",
            why=WRONG_BILLIONS.get(round(min(billions, 1e6)), ""),
        )


WRONG_BILLIONS = {
    5: "16 bits are 2 bytes, not 16; and 16 bytes per parameter is what training keeps.",
    10: "That is 8 bytes per parameter: 16 bits are 2 bytes.",
    20: "That is 4 bytes per parameter, 32 bits; the weights have 16.",
    33: "A fifth of the weights was set aside, but nothing alive in one pass grows with them.",
    80: "That is 1 byte per parameter; the weights have 16 bits.",
    160: "That is half a byte per parameter; the weights have 16 bits.",
}


def _largest_fields(student: Student, case: AnswerCase) -> tuple[str, float, int, float]:
    """The fields, checked: reading of the card, tokens, overhead in bytes, billions."""
    answer = fields_of(student, case, ("vram", "n_tokens", "overhead_gb", "billions"))
    reading = choice_in(answer["vram"], VRAM_READINGS, "the reading of 80 GB")
    n_tokens = finite_number_in(answer["n_tokens"], "the length of the sequence")
    if not 1 <= n_tokens <= LONGEST_WINDOW:
        raise Wrong("n_tokens", expected=f"1 to {LONGEST_WINDOW:,}", got=show(n_tokens))
    overhead_gb = finite_number_in(answer["overhead_gb"], "the overhead")
    if not 0 <= overhead_gb < 80:
        why = "It is asked in GB, not in bytes." if overhead_gb > 1e6 else ""
        raise Wrong("overhead_gb", expected="0 to 80 GB", got=show(overhead_gb), why=why)
    return (
        reading,
        n_tokens,
        round(overhead_gb * 1e9),
        finite_number_in(answer["billions"], "billions"),
    )


def _billions(
    student: Student, case: AnswerCase, reading: str, overhead_bytes: int
) -> tuple[int, float]:
    """From rounding down to rounding to the nearest billion, over the cards of the 80 GB class."""
    functions = case.right or student
    totals = [total for card in EIGHTY_GB_CARDS for total in vram_readings(card)[reading]]
    fewest = ask(functions, "largest_model", min(totals), overhead_bytes) / 1e9
    most = ask(functions, "largest_model", max(totals), overhead_bytes) / 1e9
    return math.floor(fewest), max(most, math.floor(most + 0.5))


@check(
    "longest_on_l40s",
    weight=4,
    hint="Weights, one token and one card, each from your functions, into longest_sequence.",
)
def tokens_follow_from_the_stated_conventions(student: Student, case: AnswerCase) -> None:
    """The tokens follow from the reading of 48 GB and the parameter count beside them."""
    reading, count, n_tokens = _longest_fields(student, case)
    if n_tokens < 0:
        why = "With 4 bytes per parameter the model would not even load; it has 2."
        raise Wrong("a sequence of negative length", why=why)
    for wrong, sentence in WRONG_TOKENS.items():
        if abs(n_tokens - wrong) <= TOKEN_TOLERANCE:
            raise Wrong(f"{show(n_tokens)} tokens do not follow", why=sentence)
    fewest, most = _tokens(student, case, reading, count)
    if _accepts(n_tokens, fewest, most):
        return
    why = _token_slip(n_tokens, most)
    for other in VRAM_READINGS:
        for other_count in PARAMETER_COUNTS:
            if not why and _accepts(n_tokens, *_tokens(student, case, other, other_count)):
                why = f"It belongs to vram={other!r} and params={other_count!r}: which do you mean?"
    what = f"tokens for {reading!r} and {count!r}"
    refuse(case, f"{show(n_tokens)} {what}", why, cause=f"the number of {what}")


@check(
    "longest_on_l40s",
    hint="How much are the parameters that the name rounds away, in tokens?",
)
def every_parameter_of_the_model_is_counted(student: Student, case: AnswerCase) -> None:
    """The weights are counted, not read off the model's name."""
    _, count, n_tokens = _longest_fields(student, case)
    if count == "name":
        raise Wrong(
            "14 billion is the name of the model, not its size",
            why="The model card and the table above know how many more it has.",
        )
    if not any(
        _accepts(n_tokens, *_tokens(student, case, reading, known))
        for reading in VRAM_READINGS
        for known in ("exact", "card")
    ):
        follow = "tokens follow from the model's real size by no reading"
        raise Wrong(f"{show(n_tokens)} {follow}", cause=f"the {follow}")


WRONG_TOKENS = {
    15_630: "The weights were converted to GiB, the card was not: one unit for both.",
    112_690: "The batch was forgotten: the room is shared by 8 sequences.",
    134_295: "The batch was forgotten: the room is shared by 8 sequences.",
    2_820: "40 query heads (or d_model) were counted; keys and values exist once per KV head.",
    3_360: "40 query heads (or d_model) were counted; keys and values exist once per KV head.",
    28_170: "Half a cache: both keys and values are kept.",
    33_570: "Half a cache: both keys and values are kept.",
    7_040: "4 bytes per cached number; the cache is 16-bit unless stated otherwise.",
    8_390: "4 bytes per cached number; the cache is 16-bit unless stated otherwise.",
    1_760: "Bits were taken for bytes: 16 bits are 2 bytes.",
    2_100: "Bits were taken for bytes: 16 bits are 2 bytes.",
    36_620: "The weights were forgotten: they take their part before the first token.",
    39_320: "The weights were forgotten: they take their part before the first token.",
    25_350: "Weights at 1 byte per parameter; half precision is 2 bytes.",
    28_050: "Weights at 1 byte per parameter; half precision is 2 bytes.",
    563_460: "The layers were forgotten: every layer has its own cache.",
    671_480: "The layers were forgotten: every layer has its own cache.",
}
TOKEN_RATIOS = {
    8: "The batch was forgotten: the room is shared by 8 sequences.",
    1 / 5: "40 query heads (or d_model) were counted; keys and values exist once per KV head.",
    2: "Half a cache: both keys and values are kept.",
    1 / 2: "4 bytes per cached number; the cache is 16-bit unless stated otherwise.",
    1 / 8: "Bits were taken for bytes: 16 bits are 2 bytes.",
    40: "The layers were forgotten: every layer has its own cache.",
}


def _token_slip(n_tokens: float, right: float) -> str:
    for ratio, sentence in TOKEN_RATIOS.items():
        if math.isclose(n_tokens, right * ratio, rel_tol=0.004):
            return sentence
    return ""


def _longest_fields(student: Student, case: AnswerCase) -> tuple[str, str, float]:
    answer = fields_of(student, case, ("vram", "params", "n_tokens"))
    reading = choice_in(answer["vram"], VRAM_READINGS, "the reading of 48 GB")
    count = choice_in(answer["params"], tuple(PARAMETER_COUNTS), "the parameter count")
    return reading, count, finite_number_in(answer["n_tokens"], "the number of tokens")


def _tokens(student: Student, case: AnswerCase, reading: str, count: str) -> tuple[float, float]:
    """The fewest and most tokens that this reading and this count leave room for."""
    functions = case.right or student
    model_bytes = ask(functions, "weight_bytes", PARAMETER_COUNTS[count])
    token_bytes = ask(functions, "kv_bytes_per_token", shape_of(functions, FOURTEEN))
    fewest, most = (
        ask(functions, "longest_sequence", total, model_bytes, token_bytes, BATCH_OF_EIGHT)
        for total in vram_readings("L40S")[reading]
    )
    return fewest, most


def _accepts(n_tokens: float, fewest: float, most: float) -> bool:
    return fewest - TOKEN_TOLERANCE <= n_tokens <= most + TOKEN_TOLERANCE


OPEN_CASES = {name: [AnswerCase(name)] for name in ("largest_on_80_gb", "longest_on_l40s")}
