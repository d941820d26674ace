"""Checks of lab 1's answers on the Qwen3 family: table of caches, one cell of it, growth."""

import math
from collections.abc import Mapping

import numpy
import torch

from labkit.bridge.student import Student
from labkit.checks.answers import (
    AnswerCase,
    ask,
    choice_in,
    expect_close,
    field_of,
    fields_of,
    finite_number_in,
    is_near,
    refuse,
    shape_of,
)
from labkit.checks.compare import expect_mapping, show
from labkit.checks.core import Wrong, check
from labkit.models.facts import models

FAMILY = ("Qwen3-0.6B", "Qwen3-1.7B", "Qwen3-4B", "Qwen3-8B", "Qwen3-14B", "Qwen3-32B")
UNITS = {"GB": 10**9, "GiB": 2**30}
LENGTHS = (32_768, 32_000)


@check(
    "kv_table",
    weight=3,
    hint="Call kv_cache_bytes with each model. Then divide by the bytes of your unit.",
)
def cells_follow_from_each_model(student: Student, case: AnswerCase) -> None:
    """The cells of batch 1 follow from layers, KV heads and head_dim of each model."""
    unit, n_tokens, rows = _table_fields(student, case)
    cells = {model: row[0] for model, row in rows.items()}
    slip = _rule_behind(cells, n_tokens)
    if slip:
        raise Wrong("these cells follow another formula", why=slip)
    right = {model: _cache_bytes(student, case, model, n_tokens) for model in FAMILY}
    accepted = ("GB", "GiB") if unit == "GB" else ("GiB",)
    if any(_all_close(cells, right, UNITS[name]) for name in accepted):
        return
    if unit == "GiB" and _all_close(cells, right, UNITS["GB"]):
        raise Wrong(
            "these numbers are GB, not GiB", why="1 GiB is 2^30 bytes, 7.4 % more than 1 GB."
        )
    other = sum(LENGTHS) - n_tokens
    elsewhere = {model: size * other / n_tokens for model, size in right.items()}
    if any(_all_close(cells, elsewhere, UNITS[name]) for name in accepted):
        raise Wrong(f"these cells are for {other:,} tokens, not for {n_tokens:,}")
    for model in FAMILY:
        if not math.isclose(cells[model] * UNITS[unit], right[model], rel_tol=0.01):
            row = f"{model}, batch 1"
            refuse(case, f"{row}: {show(cells[model])} {unit}", "", cause=row)


@check("kv_table", hint="Multiply the cell of batch 1 by 2 and by 4.")
def cells_of_larger_batches_are_multiples(student: Student, case: AnswerCase) -> None:
    """In each row, batch 2 is twice batch 1, and batch 4 is four times batch 1."""
    _, _, rows = _table_fields(student, case)
    if not 0 < rows[FAMILY[0]][0] < rows[FAMILY[-1]][0]:
        raise Wrong("the model with the most layers must have the largest cache")
    for model, (one, two, four) in rows.items():
        if not math.isclose(two, 2 * one, rel_tol=0.015):
            what = f"{model}: {show(two)} at batch 2 beside {show(one)} at batch 1"
            raise Wrong(what, cause=f"{model}: batch 2 is not twice batch 1")
        if not math.isclose(four, 4 * one, rel_tol=0.015):
            what = f"{model}: {show(four)} at batch 4 beside {show(one)} at batch 1"
            raise Wrong(what, cause=f"{model}: batch 4 is not four times batch 1")


@check(
    "kv_table", weight=0, hint="1 GB is 10^9 bytes, 1 GiB is 2^30 bytes. This check has no points."
)
def unit_is_named_for_what_it_is(student: Student, case: AnswerCase) -> None:
    """The entry "unit" is the unit of your numbers (this check has no points)."""
    unit, n_tokens, rows = _table_fields(student, case)
    cells = {model: row[0] for model, row in rows.items()}
    right = {model: _cache_bytes(student, case, model, n_tokens) for model in FAMILY}
    if unit == "GB" and _all_close(cells, right, UNITS["GiB"]):
        raise Wrong(
            'these numbers are GiB, but the entry "unit" is GB',
            why="They are accepted. But 7.4 % can decide whether a model fits.",
        )


WRONG_RULES = {  # GiB at 32,768 tokens of Qwen3-4B and Qwen3-32B
    (18.0, 64.0): "Query heads were counted. Multiply by the number of KV heads.",
    (2.8125, 5.0): "d_model / n_heads was taken for the width of a head. Use head_dim.",
    (11.25, 40.0): "d_model was used. Keys and values have n_kv_heads * head_dim numbers.",
    (2.25, 4.0): "Only half of each cache was counted: both keys and values are stored.",
    (9.0, 16.0): "4 bytes per number were taken: half precision is 2 bytes.",
    (36.0, 64.0): "These are eight times too large: 16 bits are 2 bytes.",
    (0.125, 0.125): "One layer was counted: each layer stores its own keys and values.",
}


def _rule_behind(cells: Mapping[str, float], n_tokens: int) -> str:
    for wrong, sentence in WRONG_RULES.items():
        for unit in UNITS.values():
            scale = n_tokens / LENGTHS[0] * UNITS["GiB"] / unit
            pairs = zip((cells["Qwen3-4B"], cells["Qwen3-32B"]), wrong, strict=True)
            if all(math.isclose(got, value * scale, rel_tol=0.01) for got, value in pairs):
                return sentence
    return ""


def _table_fields(student: Student, case: AnswerCase) -> tuple[str, int, dict[str, list[float]]]:
    """Unit, tokens and rows, checked for form."""
    answer = fields_of(student, case, ("unit", "n_tokens", *FAMILY))
    unit = choice_in(answer["unit"], tuple(UNITS), "the unit")
    n_tokens = finite_number_in(answer["n_tokens"], "the tokens of 32k")
    if n_tokens not in LENGTHS:
        raise Wrong("n_tokens", expected="32,768 or 32,000", got=show(n_tokens))
    rows = {}
    for model in FAMILY:
        row = answer[model]
        if isinstance(row, numpy.ndarray | torch.Tensor):
            row = row.reshape(-1).tolist()
        if not isinstance(row, list | tuple) or len(row) != 3:
            raise Wrong(f"the row of {model}", expected="three numbers", got=show(row))
        rows[model] = [finite_number_in(cell, f"a cell of {model}") for cell in row]
    return unit, int(n_tokens), rows


def _cache_bytes(student: Student, case: AnswerCase, model: str, n_tokens: int) -> float:
    functions = case.right or student
    return ask(functions, "kv_cache_bytes", shape_of(functions, f"Qwen/{model}"), n_tokens)


def _all_close(cells: Mapping[str, float], right: Mapping[str, float], unit: int) -> bool:
    return all(math.isclose(cells[model] * unit, right[model], rel_tol=0.01) for model in FAMILY)


@check(
    "one_cell", hint="Take layers, KV heads and head_dim of the model from the table in section 1."
)
def factors_are_those_of_the_model(student: Student, case: AnswerCase) -> None:
    """The factors are those of the model, batch and length that you chose."""
    model, factors, _ = _one_cell_fields(student, case)
    facts = models()[f"Qwen/{model}"]
    slips = {
        ("n_kv_heads", facts["num_attention_heads"]): "That is the number of query heads.",
        ("n_kv_heads", facts["hidden_size"]): "That is d_model.",
        ("numbers_per_head", facts["hidden_size"]): "That is d_model.",
        (
            "numbers_per_head",
            facts["hidden_over_heads"],
        ): "d_model / n_heads is not this model's head_dim.",
        ("bytes_per_number", 16): "16 bits are 2 bytes.",
        ("bytes_per_number", 4): "Half precision is 2 bytes.",
        ("k_and_v", 1): "Both a key and a value are stored: enter 2.",
    }
    looked_up = {
        "n_layers": facts["num_hidden_layers"],
        "n_kv_heads": facts["num_key_value_heads"],
        "numbers_per_head": facts["head_dim"],
    }
    for name, factor in factors.items():
        is_wrong = factor != looked_up[name] if name in looked_up else (name, factor) in slips
        if case.right and name in case.right.FACTORS:
            is_wrong = factor not in case.right.FACTORS[name]
        if is_wrong:
            raise Wrong(f"{model}: {show(factor)} for {name}", why=slips.get((name, factor), ""))


@check("one_cell", hint="Multiply your seven factors.")
def factors_multiply_to_the_bytes(student: Student, case: AnswerCase) -> None:
    """The bytes are the product of the factors."""
    _, factors, n_bytes = _one_cell_fields(student, case)
    product = math.prod(factors.values())
    if not math.isclose(n_bytes, product, rel_tol=0.005):
        why = ""
        for unit, size in UNITS.items():
            if math.isclose(n_bytes * size, product, rel_tol=0.01):
                why = f"That is in {unit}: give bytes."
        if not why and math.isclose(n_bytes * factors["batch_size"], product, rel_tol=0.005):
            why = "The batch was left out: multiply by batch_size."
        raise Wrong("the bytes", expected="the product of the seven", got=show(n_bytes), why=why)


FACTORS = (
    "k_and_v",
    "n_layers",
    "n_kv_heads",
    "numbers_per_head",
    "bytes_per_number",
    "n_tokens",
    "batch_size",
)


def _one_cell_fields(student: Student, case: AnswerCase) -> tuple[str, dict[str, float], float]:
    answer = fields_of(student, case, ("model", *FACTORS, "bytes"))
    model = answer["model"]
    short = model.rpartition("/")[2] if isinstance(model, str) else model
    model = choice_in(short, FAMILY, "the model")
    factors = {name: finite_number_in(answer[name], name) for name in FACTORS}
    for name, factor in factors.items():
        if not 1 <= factor <= 10**6 or factor != int(factor):
            raise Wrong(name, expected="a whole number, at least 1", got=show(factor))
    if factors["n_tokens"] not in LENGTHS:
        raise Wrong("n_tokens", expected="32,768 or 32,000", got=show(factors["n_tokens"]))
    if factors["batch_size"] not in (1, 2, 4):
        raise Wrong("batch_size", expected="1, 2 or 4", got=show(factors["batch_size"]))
    return model, factors, finite_number_in(answer["bytes"], "the bytes")


@check(
    "scaling",
    hint="If the batch doubles, the cache grows by a factor f. The slope is log(f) / log(2).",
)
def cache_is_proportional_to_the_batch(student: Student, case: AnswerCase) -> None:
    """`batch_slope` is the slope of log(cache) over log(batch size)."""
    slope = field_of(student, case, "batch_slope")
    functions = case.right or student
    shape = shape_of(functions, "Qwen/Qwen3-8B")
    one, eight = (ask(functions, "kv_cache_bytes", shape, 1024, batch) for batch in (1, 8))
    if not one > 0 or not eight > 0:
        raise Wrong("your kv_cache_bytes gives no bytes to compare with")
    why = "2 is the factor, not the slope: the slope is log(2) / log(2)." if slope == 2 else ""
    expect_close(case, slope, math.log(eight / one, 8), "the slope", relative=0.02, why=why)


@check(
    "scaling",
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
        why = next(
            (text for wrong, text in slips.items() if is_near(params_ratio, wrong, 0.02)), ""
        )
        raise Wrong(f"the parameters do not grow {show(params_ratio)} times", why=why)
    functions = case.right or student
    small, large = (
        ask(functions, "kv_cache_bytes", shape_of(functions, f"Qwen/{model}"), 1024)
        for model in (FAMILY[0], FAMILY[-1])
    )
    if not small > 0:
        raise Wrong("your kv_cache_bytes gives no bytes to compare with")
    slips = {
        9.143: "Query heads were counted for one of the two models. Count KV heads.",
        5.0: "d_model was used. Only layers, KV heads and head_dim decide.",
        counted: "That is how the parameters grow. The cache grows less.",
    }
    why = next((text for wrong, text in slips.items() if is_near(kv_ratio, wrong, 0.03)), "")
    expect_close(case, kv_ratio, large / small, "the ratio of the caches", relative=0.02, why=why)


@check(
    "scaling",
    weight=2,
    hint="Divide kv_cache_bytes at 32,768 tokens by weight_bytes, both with 2 bytes per number.",
)
def each_ratio_is_cache_over_weights(student: Student, case: AnswerCase) -> None:
    """Each ratio is the cache of one sequence divided by the weights of its model."""
    answer = fields_of(student, case, ("kv_over_weights",))
    ratios = expect_mapping(answer["kv_over_weights"], FAMILY, 'the entry "kv_over_weights"')
    functions = case.right or student
    for model in FAMILY:
        got = finite_number_in(ratios[model], f"the ratio of {model}")
        n_params = models()[f"Qwen/{model}"]["params_exact"]
        weights = ask(functions, "weight_bytes", n_params)
        if not weights > 0:
            raise Wrong("your weight_bytes gives no bytes to compare with")
        right = _cache_bytes(student, case, model, LENGTHS[0]) / weights
        slips = {
            right * 100: "That is in percent: give the ratio.",
            1 / right
            if right
            else 0: "That is weights divided by cache. Divide the cache by the weights.",
            right * 2: "That is twice too much. Take 2 bytes per number for both.",
            right / 2: "That is half. Take 2 bytes per number for both, and count keys and values.",
        }
        why = next((text for wrong, text in slips.items() if is_near(got, wrong, 0.03)), "")
        expect_close(case, got, right, f"the ratio of {model}", relative=0.03, why=why)


OPEN_CASES = {name: [AnswerCase(name)] for name in ("kv_table", "one_cell", "scaling")}
