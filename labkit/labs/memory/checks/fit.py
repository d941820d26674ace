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
    hint="Call your largest_model with your bytes of 80 GB and your overhead. Divide by 10^9.",
)
def billions_follow_from_the_card_and_the_overhead(student: Student, case: AnswerCase) -> None:
    """The parameters follow from your entries "vram" and "overhead_gb"."""
    reading, _, overhead_bytes, billions = _largest_fields(student, case)
    fewest, most = _billions(student, case, reading, overhead_bytes)
    if not fewest - 1e-6 <= billions <= most + 1e-6:
        why = "Give billions, not parameters." if billions > 1e6 else ""
        why = why or WRONG_BILLIONS.get(round(billions), "")
        others = [name for name in VRAM_READINGS if name != reading]
        if not why and any(
            low - 1e-6 <= billions <= high + 1e-6
            for low, high in (_billions(student, case, name, overhead_bytes) for name in others)
        ):
            why = 'It fits another entry for "vram" than yours.'
        what = f"{show(billions)} billion parameters"
        refuse(case, what, why, cause="the number of parameters")


@check(
    "largest_on_80_gb",
    hint="Add up the activations of one layer, the logits and the CUDA context.",
)
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
    ranges = [_billions(student, case, name, overhead_bytes) for name in VRAM_READINGS]
    if not any(low - 1e-6 <= billions <= high + 1e-6 for low, high in ranges):
        raise Wrong(
            f'{show(billions)} billion do not follow from this overhead for any entry "vram"',
            why=WRONG_BILLIONS.get(round(min(billions, 1e6)), ""),
        )


WRONG_BILLIONS = {
    5: "That is 16 bytes per parameter, as in training. 16 bits are 2 bytes.",
    10: "That is 8 bytes per parameter: 16 bits are 2 bytes.",
    20: "That is 4 bytes per parameter: the weights have 16 bits, which are 2 bytes.",
    33: "A fifth of the weights was set aside, but one pass needs nothing that grows with them.",
    80: "That is 1 byte per parameter: the weights have 16 bits, which are 2 bytes.",
    160: "That is half a byte per parameter: the weights have 16 bits, which are 2 bytes.",
}


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
    hint="Pass the bytes of the card, the weights and one token to your longest_sequence.",
)
def tokens_follow_from_the_stated_conventions(student: Student, case: AnswerCase) -> None:
    """The tokens follow from your entries "vram" and "params"."""
    reading, count, n_tokens = _longest_fields(student, case)
    if n_tokens < 0:
        why = "With 4 bytes per parameter the model does not fit, but here a parameter has 2 bytes."
        raise Wrong("a sequence of negative length", why=why)
    for wrong, sentence in WRONG_TOKENS.items():
        if abs(n_tokens - wrong) <= TOKEN_TOLERANCE:
            raise Wrong(f"{show(n_tokens)} tokens do not follow from your entries", why=sentence)
    fewest, most = _tokens(student, case, reading, count)
    if _accepts(n_tokens, fewest, most):
        return
    why = _token_slip(n_tokens, most)
    for other in VRAM_READINGS:
        for other_count in PARAMETER_COUNTS:
            if not why and _accepts(n_tokens, *_tokens(student, case, other, other_count)):
                why = f"It fits vram={other!r} and params={other_count!r}, not yours."
    what = f"tokens for {reading!r} and {count!r}"
    refuse(case, f"{show(n_tokens)} {what}", why, cause=f"the number of {what}")


@check(
    "longest_on_l40s",
    hint="Use n_params of the table in section 1, or 14.8 billion of the model card.",
)
def every_parameter_of_the_model_is_counted(student: Student, case: AnswerCase) -> None:
    """The answer uses the real number of parameters, not the 14 billion of the name."""
    _, count, n_tokens = _longest_fields(student, case)
    if count == "name":
        raise Wrong(
            "14 billion is in the name of the model, but it has more parameters",
            why="Take the number from the table of section 1, or from the model card.",
        )
    if not any(
        _accepts(n_tokens, *_tokens(student, case, reading, known))
        for reading in VRAM_READINGS
        for known in ("exact", "card")
    ):
        follow = 'tokens do not follow from the model\'s real size, for any entry "vram"'
        raise Wrong(f"{show(n_tokens)} {follow}", cause=f"the {follow}")


WRONG_TOKENS = {
    15_630: "The weights are in GiB but the card is in GB: use one unit for both.",
    112_690: "The batch was left out: 8 sequences share the room.",
    134_295: "The batch was left out: 8 sequences share the room.",
    2_820: "40 query heads (or d_model) were counted. Keys and values are stored once per KV head.",
    3_360: "40 query heads (or d_model) were counted. Keys and values are stored once per KV head.",
    28_170: "Only half of the cache was counted: both keys and values are stored.",
    33_570: "Only half of the cache was counted: both keys and values are stored.",
    7_040: "4 bytes per stored number were taken: 16 bits are 2 bytes.",
    8_390: "4 bytes per stored number were taken: 16 bits are 2 bytes.",
    1_760: "Bits were taken for bytes: 16 bits are 2 bytes.",
    2_100: "Bits were taken for bytes: 16 bits are 2 bytes.",
    36_620: "The weights were not subtracted from the card.",
    39_320: "The weights were not subtracted from the card.",
    25_350: "1 byte per parameter was taken: half precision is 2 bytes.",
    28_050: "1 byte per parameter was taken: half precision is 2 bytes.",
    563_460: "The layers were left out: each layer has a cache of its own.",
    671_480: "The layers were left out: each layer has a cache of its own.",
}
TOKEN_RATIOS = {
    8: "The batch was left out: 8 sequences share the room.",
    1 / 5: "40 query heads (or d_model) were counted. Keys and values are stored once per KV head.",
    2: "Only half of the cache was counted: both keys and values are stored.",
    1 / 2: "4 bytes per stored number were taken: 16 bits are 2 bytes.",
    1 / 8: "Bits were taken for bytes: 16 bits are 2 bytes.",
    40: "The layers were left out: each layer has a cache of its own.",
}


def _token_slip(n_tokens: float, right: float) -> str:
    for ratio, sentence in TOKEN_RATIOS.items():
        if math.isclose(n_tokens, right * ratio, rel_tol=0.004):
            return sentence
    return ""


def _longest_fields(student: Student, case: AnswerCase) -> tuple[str, str, float]:
    answer = fields_of(student, case, ("vram", "params", "n_tokens"))
    reading = choice_in(answer["vram"], VRAM_READINGS, 'the entry "vram"')
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
