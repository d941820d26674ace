"""Checks of lab 1's answers on how the caches of the Qwen3 family grow."""

import math
from collections.abc import Iterator, Mapping, Sequence
from functools import partial

from labkit.bridge.student import Student
from labkit.checks.answers import AnswerCase, ask, expect_close, field_of, fields_of, is_near
from labkit.checks.compare import expect_mapping, finite_number_in, joined, show, slips_named
from labkit.checks.core import Wrong, check
from labkit.labs.memory.checks.tables import FAMILY, LENGTHS, cache_bytes, config_of
from labkit.models.facts import models

ENDS = FAMILY[0], FAMILY[-1]
HYBRID, GROUPED, LONG = "Qwen3-Next-80B-A3B-Instruct", "Qwen3-30B-A3B", 2**17

_scaling = partial(check, "scaling")


@_scaling(hint="If the batch doubles, the cache grows by a factor f. The slope is log(f) / log(2).")
def cache_is_proportional_to_the_batch(student: Student, case: AnswerCase) -> None:
    """`batch_slope` is the slope of log(cache) over log(batch size)."""
    slope = field_of(student, case, "batch_slope")
    functions = case.right or student
    config = config_of(functions, "Qwen/Qwen3-8B")
    one, eight = (ask(functions, "kv_cache_bytes", config, 1024, batch) for batch in (1, 8))
    if not one > 0 or not eight > 0:
        raise Wrong("your kv_cache_bytes gives no bytes to compare with")
    slips = {2.0: "A slope of 2 means four times the cache for twice the batch."}
    right, source = math.log(eight / one, 8), "the caches of two batch sizes"
    expect_close(case, slope, right, "the slope", source, relative=0.02, slips=slips)


@_scaling(
    hint="Divide: parameters of Qwen3-32B by those of Qwen3-0.6B, and the same for the caches.",
)
def cache_follows_the_depth(student: Student, case: AnswerCase) -> None:
    """`params_ratio` and `kv_ratio` compare the largest model with the smallest."""
    params_ratio = field_of(student, case, "params_ratio")
    kv_ratio = field_of(student, case, "kv_ratio")
    facts = [models()[f"Qwen/{model}"] for model in (FAMILY[0], FAMILY[-1])]
    counted = facts[1]["params_exact"] / facts[0]["params_exact"]
    if not math.isclose(params_ratio, counted, rel_tol=0.02):
        slips = {
            1 / counted: "Divide the larger by the smaller.",
            32
            / 0.6: "That is the ratio of the names. Use the parameters in the table of section 1.",
        }
        why = slips_named(params_ratio, slips, 0.02)
        raise Wrong(f"the parameters do not grow {show(params_ratio)} times", why=why)
    functions = case.right or student
    small, large = (
        ask(functions, "kv_cache_bytes", config_of(functions, f"Qwen/{model}"), 1024)
        for model in (FAMILY[0], FAMILY[-1])
    )
    if not small > 0:
        raise Wrong("your kv_cache_bytes gives no bytes to compare with")
    why = joined(text for wrong, text in _kv_ratio_slips(*facts) if is_near(kv_ratio, wrong, 0.01))
    source = "the layers, KV heads and head_dim of both models"
    what, right = "the ratio of the caches", large / small
    expect_close(case, kv_ratio, right, what, source, relative=0.02, why=why)


def _kv_ratio_slips(
    small: Mapping[str, int], large: Mapping[str, int]
) -> Iterator[tuple[float, str]]:
    """The cache ratios of known mistakes, each with its sentence."""

    def ratio(*keys: str, of_small: Sequence[str] = ()) -> float:
        """Of the products of these facts; of_small: those of the smaller model, if they differ."""
        return math.prod(map(large.get, keys)) / math.prod(map(small.get, of_small or keys))

    layers, width = "num_hidden_layers", "head_dim"
    queries, shared = "num_attention_heads", "num_key_value_heads"
    both = (layers, queries, width), (layers, shared, width)
    yield ratio(*both[0]), "Query heads were counted for both models. Count KV heads."
    one = "Query heads were counted for one of the two models. Count KV heads."
    yield ratio(*both[0], of_small=both[1]), one
    yield ratio(*both[1], of_small=both[0]), one
    yield ratio("hidden_size"), "hidden_size was used. Only layers, KV heads and head_dim decide."
    yield (
        ratio(layers, "hidden_size"),
        "hidden_size was used. Count num_key_value_heads * head_dim numbers.",
    )
    yield (
        ratio(layers, shared, "hidden_over_heads"),
        "hidden_size / num_attention_heads was taken for the width of a head. Use head_dim.",
    )
    yield 1 / ratio(*both[1]), "Divide the larger by the smaller."
    yield ratio("params_exact"), "That is how the parameters grow. The cache grows less."


@_scaling(hint="Divide kv_cache_bytes at 32,768 tokens by twice the parameters.")
def each_ratio_is_cache_over_weights(student: Student, case: AnswerCase) -> None:
    """Each ratio is the cache of one sequence divided by the weights of its model."""
    answer = fields_of(student, case, ("kv_over_weights",))
    ratios = expect_mapping(answer["kv_over_weights"], ENDS, 'the entry "kv_over_weights"')
    for model in ENDS:
        got = finite_number_in(ratios[model], f"the ratio of {model}")
        right = cache_bytes(student, case, model, LENGTHS[0]) / _weights(model)
        slips = {
            right * 100: "That is in percent: give the ratio.",
            1 / right
            if right
            else 0: "That is weights divided by cache. Divide the cache by the weights.",
            right * 2: "That is twice too much. Compare the bytes per number in both.",
            right / 2: "That is half. Compare the bytes per number in both. Count keys and values.",
        }
        source = "the cache of 32,768 tokens and the weights of this model"
        expect_close(case, got, right, f"the ratio of {model}", source, relative=0.03, slips=slips)


def _weights(model: str) -> int:
    """The bytes of the 16-bit weights."""
    return 2 * models()[f"Qwen/{model}"]["params_exact"]


@_scaling(hint="At that length, the state equals what the full layers save. Divide by the saving.")
def states_pay_only_beyond_a_length(student: Student, case: AnswerCase) -> None:
    """`crossing` is the length from which Qwen3-Next's cache is smaller than Qwen3-30B-A3B's."""
    got = field_of(student, case, "crossing")
    functions = case.right or student
    hybrid, full = (config_of(functions, f"Qwen/{name}") for name in (HYBRID, GROUPED))
    start, at_end = (ask(functions, "kv_cache_bytes", hybrid, n) for n in (0, LONG))
    of_full = ask(functions, "kv_cache_bytes", full, LONG) / LONG
    saved = of_full - (at_end - start) / LONG
    if not start > 0 or not saved > 0:
        raise Wrong("by your own functions, the two caches are never equal")
    slips = {
        start / of_full: "The full layers of Qwen3-Next grow too: subtract their bytes per token.",
        start / (at_end - start) * LONG: "Compare with Qwen3-30B-A3B, not with Qwen3-Next itself.",
        start / saved / 36: "That is the state of one layer: 36 layers have one.",
    }
    source = "the state and the bytes per token of both models"
    expect_close(case, got, start / saved, "the length", source, relative=0.005, slips=slips)


OPEN_CASES = {"scaling": [AnswerCase("scaling")]}
