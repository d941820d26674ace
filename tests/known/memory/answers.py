"""Wrong and right values for the answer cells of the lab."""

from collections.abc import Sequence
from typing import Any

from autograder.builder.source import find_lab
from labkit.labs.memory.checks.tables import FAMILY

RIGHT_CELLS = (3.5, 3.5, 4.5, 4.5, 5.0, 8.0)

_KEEPS = "training_keeps_five_numbers_per_parameter"
_TRAINED = "every_stored_parameter_is_trained"
_BILLIONS = "billions_follow_from_the_card_and_the_overhead"
_ALIVE = "overhead_is_what_one_pass_keeps_alive"
_TOKENS = "tokens_follow_from_the_stated_conventions"
_COUNTED = "every_parameter_of_the_model_is_counted"
_CELLS = "cells_follow_from_each_model"
_MULTIPLES = "cells_of_larger_batches_are_multiples"
_UNIT = "unit_is_named_for_what_it_is"
_SLOPE = "cache_is_proportional_to_the_batch"
_DEPTH = "cache_follows_the_depth"
_RATIOS = "each_ratio_is_cache_over_weights"
_CROSSING = "states_pay_only_beyond_a_length"
_PER_PASS = "overhead_grows_with_the_tokens_of_the_pass"
_PEAK = "peak_of_a_longer_prompt_follows"
_CHUNKS = "chunks_shrink_the_overhead_alone"
_LEFT = "what_the_weights_leave_of_a_node"
_SPREAD = "caches_that_are_spread_fill_the_node"
_COPIED = "a_copy_on_every_card_leaves_an_eighth"
_USD = "dollars_follow_from_price_and_measured_rate"


NAMES = ("weights", "gradients", "master_weights", "first_moment", "second_moment")
RECIPE = (2, 2, 4, 4, 4)


def training(kept: Sequence[Any] = RECIPE, gb: Any = 488.5) -> str:
    """The cell on training, as a student would fill it."""
    return f"training = {dict(zip(NAMES, kept, strict=True)) | {'gb_of_30b': gb}!r}"


def largest(vram: Any, overhead_gb: Any, billions: Any, n_tokens: Any = 2048) -> str:
    """The cell on the largest model."""
    return (
        f"largest_on_80_gb = dict(vram={vram!r}, n_tokens={n_tokens!r}, "
        f"overhead_gb={overhead_gb!r}, billions={billions!r})"
    )


def longest(vram: Any, params: Any, n_tokens: Any) -> str:
    """The cell on the longest sequence."""
    return f"longest_on_l40s = dict(vram={vram!r}, params={params!r}, n_tokens={n_tokens!r})"


def table(
    cells: Sequence[float],
    unit: Any = "GiB",
    n_tokens: Any = 32_768,
    batches: Sequence[float] = (1, 2, 4),
) -> str:
    """The table of caches, from its first column."""
    rows = {
        model: [round(cell * n, 3) for n in batches]
        for model, cell in zip(FAMILY, cells, strict=True)
    }
    answer = {"unit": unit, "n_tokens": n_tokens} | rows
    return f"kv_table = {answer!r}"


def peaks(per_token: Any = 107_040, peak: Any = 83.1, chunks: Any = 56.9) -> str:
    """The cell on recorded peaks."""
    answer = {"bytes_per_token": per_token, "peak_gb": peak, "peak_gb_in_chunks": chunks}
    return f"peaks = {answer!r}"


def node(**changed: Any) -> str:
    """The cell on a node and its price."""
    answer = {
        "left_gb": [13.1, 535.0],
        "overhead_gb": 10,
        "bytes_per_number": 2,
        "spread": 197,
        "copied": 24,
        "usd_per_card_hour": 3.45,
        "price_date": "2026-10-24",
        "usd_per_million": [12.85, 4.29],
    }
    return f"node = {answer | changed!r}"


TRAINING = [
    ("moments in 16 bits", (_KEEPS,), training((2, 2, 4, 2, 2), gb=366.4)),
    ("no master copy", (_KEEPS,), training((2, 2, 0, 4, 4), gb=366.4)),
    ("bits", (_KEEPS,), training((16, 16, 32, 32, 32), gb=3908)),
    ("gradients in 32 bits", (_KEEPS,), training((2, 4, 4, 4, 4), gb=549.6)),
    ("weights in 32 bits", (_KEEPS,), training((4, 2, 4, 4, 4), gb=549.6)),
    ("the experts of one token", (_TRAINED,), training(gb=53.6)),
    ("GiB", (_TRAINED,), training(gb=454.9)),
    ("bytes", (_TRAINED,), training(gb=488_513_961_984)),
    ("the weights alone", (_TRAINED,), training(gb=61.1)),
    ("two bytes left out", (_TRAINED,), training(gb=427.4)),
    ("NaN", (_TRAINED,), training(gb="X").replace("'X'", "float('nan')")),
]
LARGEST = [
    ("the other reading", (_BILLIONS,), largest("GB", 0, 43)),
    ("the other reading, decimal", (_BILLIONS,), largest("GiB", 0, 40)),
    ("a tenth of the card, guessed", (_ALIVE,), largest("GB", 8, 36)),
    ("overhead stated, not subtracted", (_BILLIONS,), largest("GB", 2, 40)),
    ("overhead subtracted from the billions", (_BILLIONS,), largest("GB", 4, 36)),
    ("a fifth of the weights", (_ALIVE,), largest("GB", 13.3, 33)),
    ("a fifth of the weights, unsaid", (_BILLIONS, _ALIVE), largest("GB", 0, 33)),
    ("a KV cache set aside", (_ALIVE,), largest("GiB", 20, 33, n_tokens=4096)),
    ("bits for bytes", (_BILLIONS,), largest("GB", 0, 5)),
    ("4 bytes", (_BILLIONS,), largest("GiB", 0, 20)),
    ("1 byte", (_BILLIONS,), largest("GB", 0, 80)),
    ("parameters, not billions", (_BILLIONS,), largest("GB", 0, 40 * 10**9)),
    ("overhead in bytes", (_BILLIONS, _ALIVE), largest("GB", 2 * 10**9, 39)),
    ("thousands of digits", (_BILLIONS, _ALIVE), largest("GB", 0, "X").replace("'X'", "16**4090")),
]
LONGEST = [
    ("the other reading", (_TOKENS,), longest("GB", "exact", 16_790)),
    ("the card's count under the name of the exact", (_TOKENS,), longest("GiB", "exact", 16_740)),
    ("14 billion", (_COUNTED,), longest("GB", "name", 15_260)),
    ("14 billion, as torch sees the card", (_COUNTED,), longest("torch", "name", 15_010)),
    ("14 billion called exact", (_TOKENS, _COUNTED), longest("GB", "exact", 15_260)),
    ("units mixed", (_TOKENS,), longest("GB", "exact", 15_630)),
    ("batch forgotten", (_TOKENS,), longest("driver", "exact", 114_560)),
    ("query heads", (_TOKENS,), longest("GB", "exact", 2_820)),
    ("keys without values", (_TOKENS,), longest("GiB", "card", 33_480)),
    ("4 bytes per cached number", (_TOKENS,), longest("GB", "exact", 7_040)),
    ("bits for bytes", (_TOKENS,), longest("GB", "exact", 1_760)),
    ("weights forgotten", (_TOKENS, _COUNTED), longest("GB", "exact", 36_620)),
    ("1 byte per parameter", (_TOKENS,), longest("GiB", "exact", 28_050)),
    ("layers forgotten", (_TOKENS,), longest("GB", "exact", 563_460)),
    ("4 bytes per parameter", (_TOKENS,), longest("GB", "exact", -8_450)),
    ("room and batch multiplied", (_TOKENS, _COUNTED), longest("GB", "exact", 901_500)),
    ("text", (_TOKENS, _COUNTED), longest("GB", "exact", "14090")),
    ("a reading of their own", (_TOKENS, _COUNTED), longest("48", "exact", 14_090)),
]
TABLE = [
    ("query heads", (_CELLS,), table((7, 7, 18, 18, 25, 64))),
    ("d_model / n_heads", (_CELLS,), table((1.75, 3.5, 2.8125, 4.5, 5, 5))),
    ("d_model", (_CELLS,), table((3.5, 7, 11.25, 18, 25, 40))),
    ("keys without values", (_CELLS,), table((1.75, 1.75, 2.25, 2.25, 2.5, 4))),
    ("4 bytes", (_CELLS,), table((7, 7, 9, 9, 10, 16))),
    ("bits", (_CELLS,), table((28, 28, 36, 36, 40, 64))),
    ("one layer", (_CELLS, _MULTIPLES), table((0.125,) * 6)),
    ("GB called GiB", (_CELLS,), table((3.758, 3.758, 4.832, 4.832, 5.369, 8.590))),
    ("32,768 called 32,000", (_CELLS,), table(RIGHT_CELLS, n_tokens=32_000)),
    ("one row of another model", (_CELLS,), table((3.5, 3.5, 4.5, 4.5, 5.5, 8.0))),
    ("a third in place of a fourth", (_MULTIPLES,), table(RIGHT_CELLS, batches=(1, 2, 3))),
    ("the batch does not matter", (_MULTIPLES,), table(RIGHT_CELLS, batches=(1, 1, 1))),
    ("GiB called GB", (_UNIT,), table(RIGHT_CELLS, unit="GB")),
    ("a unit that was not offered", (_CELLS, _MULTIPLES, _UNIT), table(RIGHT_CELLS, unit="MB")),
]
PEAKS = [
    ("tokens of one sequence", (_PER_PASS,), peaks(856_320)),
    ("the peak with its cache", (_PER_PASS,), peaks(254_496)),
    ("one vector of the MLP", (_PER_PASS,), peaks(24_576)),
    ("kilobytes", (_PER_PASS,), peaks(107.04)),
    ("weights and cache alone", (_PEAK,), peaks(peak=55.1)),
    ("the overhead of half the length", (_PEAK,), peaks(peak=69.1)),
    ("without the weights", (_PEAK,), peaks(peak=66.8)),
    ("twice the peak of half the length", (_PEAK,), peaks(peak=99.6)),
    ("in GiB", (_PEAK,), peaks(peak=77.4)),
    ("no overhead in chunks", (_CHUNKS,), peaks(chunks=55.1)),
    ("the chunk of one sequence", (_CHUNKS,), peaks(chunks=55.33)),
    ("a cache of one chunk", (_CHUNKS,), peaks(chunks=20.6)),
    ("a sixteenth of everything", (_CHUNKS,), peaks(chunks=5.2)),
    ("text", (_CHUNKS,), peaks(chunks="56.9")),
]
NODE = [
    ("16-bit weights", (_LEFT,), node(left_gb=[-657.9, -136.0])),
    ("the number on the box", (_LEFT,), node(left_gb=[-31.0, 456.97])),
    ("GiB", (_LEFT,), node(left_gb=[12.2, 498.3])),
    ("one card", (_LEFT,), node(left_gb=[-585.5, -520.3])),
    ("the used experts alone", (_LEFT,), node(left_gb=[646.6, 1168.5])),
    ("one number", (_LEFT,), node(left_gb=535.0)),
    ("weights forgotten", (_SPREAD,), node(spread=489)),
    ("overhead forgotten", (_SPREAD,), node(spread=232)),
    ("overhead of one card", (_SPREAD,), node(spread=228)),
    ("the other bytes per number", (_SPREAD,), node(spread=395)),
    ("copies on every card", (_SPREAD,), node(spread=24)),
    ("rounded up", (_SPREAD,), node(spread=198)),
    ("no copies", (_COPIED,), node(copied=197)),
    ("copies, weights forgotten", (_COPIED,), node(copied=61)),
    ("copies, overhead forgotten", (_COPIED,), node(copied=29)),
    ("no overhead at all", (_SPREAD, _COPIED), node(overhead_gb=0, spread=232, copied=29)),
    ("4 bytes per number", (_SPREAD, _COPIED), node(bytes_per_number=4, spread=98, copied=12)),
    ("price of one card", (_USD,), node(usd_per_million=[1.606, 0.536])),
    ("rate of one card", (_USD,), node(usd_per_million=[102.8, 34.3])),
    ("price per second", (_USD,), node(usd_per_million=[46_247, 15_429])),
    ("rate of each user", (_USD,), node(usd_per_million=[102.77, 274.3])),
    ("dollars per token", (_USD,), node(usd_per_million=[12.85e-6, 4.29e-6])),
    ("no date", (_USD,), node(price_date="last week")),
    ("price of the whole node", (_USD,), node(usd_per_card_hour=27.6)),
    ("free", (_USD,), node(usd_per_card_hour=0, usd_per_million=[0, 0])),
]
RIGHT = next(cell.text for cell in find_lab("memory").marked if cell.name == "scaling")
SCALING = [
    ("the factor for the slope", (_SLOPE,), '"batch_slope": 1', '"batch_slope": 2'),
    ("no growth", (_SLOPE,), '"batch_slope": 1', '"batch_slope": 0'),
    ("with the parameters", (_DEPTH,), '"kv_ratio": 2.29', '"kv_ratio": 55'),
    ("query heads", (_DEPTH,), '"kv_ratio": 2.29', '"kv_ratio": 9.14'),
    ("query heads of the larger one", (_DEPTH,), '"kv_ratio": 2.29', '"kv_ratio": 18.3'),
    ("with d_model", (_DEPTH,), '"kv_ratio": 2.29', '"kv_ratio": 5'),
    ("the smaller over the larger", (_DEPTH,), '"params_ratio": 55', '"params_ratio": 0.018'),
    ("read off the names", (_DEPTH,), '"params_ratio": 55', '"params_ratio": 53.3'),
    ("percent", (_RATIOS,), '"Qwen3-0.6B": 3.15', '"Qwen3-0.6B": 315'),
    ("weights over cache", (_RATIOS,), '"Qwen3-0.6B": 3.15', '"Qwen3-0.6B": 0.317'),
    ("4-byte weights", (_RATIOS,), '"Qwen3-32B": 0.131', '"Qwen3-32B": 0.0655'),
    ("growth of the hybrid forgotten", (_CROSSING,), '"crossing": 1057', '"crossing": 792'),
    ("the hybrid against itself", (_CROSSING,), '"crossing": 1057', '"crossing": 3168'),
    ("the state of one layer", (_CROSSING,), '"crossing": 1057', '"crossing": 29.3'),
    ("no crossing", (_CROSSING,), '"crossing": 1057', '"crossing": 0'),
]

MUTANTS = {
    "training": TRAINING,
    "largest_on_80_gb": LARGEST,
    "longest_on_l40s": LONGEST,
    "kv_table": TABLE,
    "peaks": PEAKS,
    "node": NODE,
    "scaling": [(title, by, RIGHT.replace(old, new)) for title, by, old, new in SCALING],
}


def _scaling(
    slope: float, params: float, cache: float, ratios: tuple[float, ...], crossing: float
) -> str:
    answer = {
        "batch_slope": slope,
        "params_ratio": params,
        "kv_ratio": cache,
        "kv_over_weights": dict(zip((FAMILY[0], FAMILY[-1]), ratios, strict=True)),
        "crossing": crossing,
    }
    return f"scaling = {answer!r}"


VARIANTS = {
    "training": {
        "floats": training((2.0, 2.0, 4.0, 4.0, 4.0), gb=488.514),
        "three digits": training(gb=489),
        "computed": training(gb="X").replace("'X'", "16 * 30_532_122_624 / 1e9"),
    },
    "largest_on_80_gb": {
        "decimal, nothing else alive": largest("GB", 0, 40),
        "binary, nothing else alive": largest("GiB", 0, 43),
        "binary, rounded down because it must fit": largest("gib", 0, 42),
        "binary, unrounded": largest("GiB", 0, 42.95),
        "decimal, logits and a context": largest("80 GB", 1.5, 39.25),
        "as the driver shows it, 1 GiB": largest("driver", 2**30 / 1e9, 42),
        "as torch sees it": largest("torch", 1, 42, n_tokens=512),
        "4 GB stated": largest("GB", 4, 38),
        "derived for the longest text": largest("GB", 5.8, 37, n_tokens=4096),
    },
    "longest_on_l40s": {
        "decimal, exact": longest("GB", "exact", 14_090),
        "decimal, exact, rounded down": longest("GB", "exact", 14_080),
        "decimal, card": longest("GB", "card", 14_040),
        "binary, exact": longest("GiB", "exact", 16_790),
        "binary, card, rounded down": longest("48 GiB", "card", 16_730),
        "driver, exact, unrounded": longest("driver", "exact", 14_319.75),
        "driver, card": longest("driver", "card", 14_270),
        "torch, exact, lowest total seen": longest("torch", "exact", 13_790),
        "torch, exact": longest("torch", "exact", 13_840),
        "torch, card": longest("Torch", "card", 13_780),
    },
    "kv_table": {
        "GB": table([cell * 2**30 / 1e9 for cell in RIGHT_CELLS], "GB"),
        "GB for 32,000 tokens": table((3.67, 3.67, 4.719, 4.719, 5.243, 8.389), "GB", 32_000),
        "GiB for 32,000 tokens": table((3.42, 3.42, 4.39, 4.39, 4.88, 7.81), "gib", 32_000),
        "arrays": table(RIGHT_CELLS).replace("[", "__import__('numpy').array([").replace("]", "])"),
        "whole numbers and tuples": table(RIGHT_CELLS)
        .replace("[", "(")
        .replace("]", ")")
        .replace(".0", ""),
    },
    "peaks": {
        "the row of 16,384 alone": peaks(106_864, 83.1, 56.86),
        "three vectors and four, computed": peaks(106_496, 83.0, 56.9),
        "computed to the byte": peaks(107_040.0, 83.1417, 56.8654),
    },
    "node": {
        "FP8 cache, another price": node(
            bytes_per_number=1,
            spread=395,
            copied=49,
            usd_per_card_hour=6.31,
            price_date="2026-11-02",
            usd_per_million=(23.5, 7.84),
        ),
        "a larger overhead, arrays": node(overhead_gb=20.0, spread=162, copied=20).replace(
            "[13.1, 535.0]", "__import__('numpy').array([13, 535])"
        ),
        "one GB": node(overhead_gb=1, spread=228, copied=28),
    },
    "scaling": {
        "three digits": _scaling(1.0, 54.97, 2.286, (3.153, 0.1311), 1057),
        "two digits": _scaling(1, 55, 2.3, (3.2, 0.13), 1056.0),
    },
}
