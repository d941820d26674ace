"""Checks of lab 1, gathered, and the open cases."""

from labkit.checks.answers import AnswerCase
from labkit.labs.memory.checks.fit import *  # noqa: F403
from labkit.labs.memory.checks.inverse import *  # noqa: F403
from labkit.labs.memory.checks.inverse import LargestCase, LongestCase
from labkit.labs.memory.checks.products import *  # noqa: F403
from labkit.labs.memory.checks.products import (
    CacheCase,
    RecipeCase,
    ShapeCase,
    WeightCase,
    shape_fields,
)
from labkit.labs.memory.checks.tables import *  # noqa: F403
from labkit.labs.memory.checks.training import *  # noqa: F403
from labkit.labs.memory.checks.training import BYTE_NAMES

ADAM_8BIT = dict(zip(BYTE_NAMES, (2, 2, 4, 1, 1), strict=True))
MOMENTUM = {"weights": 4, "gradients": 2, "momentum": 1}
LLAMA_3 = shape_fields("a shape like Llama-3.1-8B's", 32, 32, 8, 128, 4096)
T5 = shape_fields("a shape with heads of their own width", 24, 16, 16, 128, 1024)

PUBLIC_CASES = {
    "weight_bytes": [
        WeightCase(7_000_000_000, 2, 14_000_000_000),
        WeightCase(124_439_808, 4, 497_759_232),
        WeightCase(2**53 + 1, 2, 18_014_398_509_481_986),
    ],
    "training_bytes": [
        RecipeCase(1_000_000, ADAM_8BIT, 10_000_000),
        RecipeCase(1_000_000, MOMENTUM, 7_000_000),
    ],
    "kv_bytes_per_token": [
        ShapeCase(LLAMA_3, 131_072),
        ShapeCase(T5, 196_608),
        ShapeCase(LLAMA_3, 65_536, width=1),
    ],
    "kv_cache_bytes": [CacheCase(LLAMA_3, n_tokens=100, batch_size=3, one_token=131_072)],
    "largest_model": [
        LargestCase(24_000_000_000, 2_000_000_000, 2, 11_000_000_000),
        LargestCase(16_000_000_000, 0, 4, 4_000_000_000),
        LargestCase(5, 0, 2, 2),
        LargestCase(2**60 + 3, 0, 2, 576_460_752_303_423_489),
        LargestCase(16_000_000_000, 17_000_000_000, 2, 0),
        LargestCase(16_000_000_000, 0, 0, None),
    ],
    "longest_sequence": [
        LongestCase(1_000_000, 400_000, 100, 1_500, {"batch_size": 4}),
        LongestCase(1_000_000, 400_000, 100, 5_000, {"overhead_bytes": 100_000}),
        LongestCase(1_000_000, 400_001, 100, 5_999),
        LongestCase(2**60 + 3, 0, 2, 576_460_752_303_423_489),
        LongestCase(1_000_000, 1_000_000, 100, 0),
        LongestCase(1_000_000, 3_000_000, 100, 0, {"batch_size": 2}),
        LongestCase(1_000_000, 400_000, 100, None, {"batch_size": 0}),
        LongestCase(1_000_000, 400_000, 0, None),
    ],
    "training_and_generation": [AnswerCase("training_and_generation")],
    "largest_on_80_gb": [AnswerCase("largest_on_80_gb")],
    "longest_on_l40s": [AnswerCase("longest_on_l40s")],
    "kv_table": [AnswerCase("kv_table")],
    "one_cell": [AnswerCase("one_cell")],
    "scaling": [AnswerCase("scaling")],
}
