"""Wrong and right values for the answer cells of the lab."""

from collections.abc import Sequence
from math import prod
from typing import Any

from autograder.builder.source import find_lab
from labkit.labs.memory.checks.tables import FAMILY

RIGHT_CELLS = (3.5, 3.5, 4.5, 4.5, 5.0, 8.0)

_KEEPS = "training_keeps_five_numbers_per_parameter"
_ALONE = "generation_keeps_the_weights_alone"
_STATE = "optimizer_state_is_counted_against_the_weights"
_PER_TOKEN = "cache_grows_by_the_same_bytes_per_token"
_BILLIONS = "billions_follow_from_the_card_and_the_overhead"
_ALIVE = "overhead_is_what_one_pass_keeps_alive"
_TOKENS = "tokens_follow_from_the_stated_conventions"
_COUNTED = "every_parameter_of_the_model_is_counted"
_CELLS = "cells_follow_from_each_model"
_MULTIPLES = "cells_of_larger_batches_are_multiples"
_UNIT = "unit_is_named_for_what_it_is"
_FACTORS = "factors_are_those_of_the_model"
_PRODUCT = "factors_multiply_to_the_bytes"
_SLOPE = "cache_is_proportional_to_the_batch"
_DEPTH = "cache_follows_the_depth"
_RATIOS = "each_ratio_is_cache_over_weights"


def kept(weights: Any, gradients: Any, master: Any, first: Any, second: Any) -> dict[str, Any]:
    """Bytes kept per parameter, as the cell asks for them."""
    return {
        "weights": weights,
        "gradients": gradients,
        "master_weights": master,
        "first_moment": first,
        "second_moment": second,
    }


def training(
    in_training: Sequence[Any] = (2, 2, 4, 4, 4),
    in_generation: Sequence[Any] = (2, 0, 0, 0, 0),
    ratio: Any = 6,
    per_token: Any = 147_456,
) -> str:
    """The cell on training and generation, as a student would fill it."""
    answer = {
        "training": kept(*in_training),
        "generation": kept(*in_generation),
        "optimizer_over_weights": ratio,
        "kv_bytes_per_token_of_8b": per_token,
    }
    return f"training_and_generation = {answer!r}"


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


def one_cell(n_bytes: float | None = None, **changed: Any) -> str:
    """One cell of the table for Qwen3-32B, factor by factor; the product follows if not given."""
    factors = {
        "k_and_v": 2,
        "n_layers": 64,
        "n_kv_heads": 8,
        "numbers_per_head": 128,
        "bytes_per_number": 2,
        "n_tokens": 32_768,
        "batch_size": 1,
    } | changed
    product = prod(factors.values()) if n_bytes is None else n_bytes
    answer = {"model": "Qwen3-32B", "bytes": product} | factors
    return f"one_cell = {answer!r}"


TRAINING = [
    ("moments in 16 bits", (_KEEPS,), training((2, 2, 4, 2, 2), ratio=4)),
    ("no master copy", (_KEEPS,), training((2, 2, 0, 4, 4), ratio=4)),
    ("bits", (_KEEPS, _ALONE), training((16, 16, 32, 32, 32), (16, 0, 0, 0, 0))),
    ("gradients in 32 bits", (_KEEPS,), training((2, 4, 4, 4, 4))),
    ("gradients in generation", (_ALONE,), training(in_generation=(2, 2, 0, 0, 0))),
    ("weights of 4 bytes in generation", (_ALONE,), training(in_generation=(4, 0, 0, 0, 0))),
    ("state without the master copy", (_STATE,), training(ratio=4)),
    ("all 16 bytes taken for the state", (_STATE,), training(ratio=8)),
    ("query heads", (_PER_TOKEN,), training(per_token=589_824)),
    ("keys without values", (_PER_TOKEN,), training(per_token=73_728)),
    ("megabytes", (_PER_TOKEN,), training(per_token=0.147)),
    ("NaN", (_PER_TOKEN,), training(per_token="X").replace("'X'", "float('nan')")),
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
ONE_CELL = [
    ("query heads", (_FACTORS,), one_cell(n_kv_heads=64)),
    ("d_model / n_heads", (_FACTORS,), one_cell(numbers_per_head=80)),
    ("keys without values", (_FACTORS,), one_cell(k_and_v=1)),
    ("4 bytes", (_FACTORS,), one_cell(bytes_per_number=4)),
    ("bits", (_FACTORS,), one_cell(bytes_per_number=16)),
    ("another model's layers", (_FACTORS,), one_cell(n_layers=36)),
    ("the product in GiB", (_PRODUCT,), one_cell(n_bytes=8.0)),
    ("batch left out of the product", (_PRODUCT,), one_cell(n_bytes=2**33, batch_size=4)),
    ("a batch that was not asked for", (_FACTORS, _PRODUCT), one_cell(batch_size=3)),
    ("layers as text", (_FACTORS, _PRODUCT), one_cell(n_bytes=2**33, n_layers="64")),
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
    ("4-byte weights", (_RATIOS,), '"Qwen3-8B": 0.295', '"Qwen3-8B": 0.1475'),
]

MUTANTS = {
    "training_and_generation": TRAINING,
    "largest_on_80_gb": LARGEST,
    "longest_on_l40s": LONGEST,
    "kv_table": TABLE,
    "one_cell": ONE_CELL,
    "scaling": [(title, by, RIGHT.replace(old, new)) for title, by, old, new in SCALING],
}


_OWN = 'kv_bytes_per_token(ModelShape.of("Qwen/Qwen3-8B"))'


def _scaling(slope: float, params: float, cache: float, ratios: tuple[float, ...]) -> str:
    answer = {
        "batch_slope": slope,
        "params_ratio": params,
        "kv_ratio": cache,
        "kv_over_weights": dict(zip(FAMILY, ratios, strict=True)),
    }
    return f"scaling = {answer!r}"


VARIANTS = {
    "training_and_generation": {
        "floats": training((2.0, 2.0, 4.0, 4.0, 4.0), ratio=6.0),
        "per_token computed": training(per_token="X").replace("'X'", "2 * 36 * 8 * 128 * 2"),
        "own function": training(per_token="X").replace("'X'", _OWN),
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
    "one_cell": {
        "another row, batch 4": one_cell(n_layers=36, batch_size=4).replace("32B", "4B"),
        "32,000 tokens and the hub's name": one_cell(n_tokens=32_000).replace(
            "Qwen3", "Qwen/Qwen3"
        ),
        "the product with three digits": one_cell(n_bytes=8.59e9),
        "floats": one_cell(n_layers=64.0),
    },
    "scaling": {
        "three digits": _scaling(1.0, 54.97, 2.286, (3.153, 1.092, 0.6006, 0.2950, 0.1818, 0.1311)),
        "two digits": _scaling(1, 55, 2.3, (3.2, 1.1, 0.6, 0.29, 0.18, 0.13)),
    },
}
