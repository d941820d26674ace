"""Checks of lab 1's answers on the Qwen3 family: the table of caches, and one cell of it."""

import math
from collections.abc import Mapping
from functools import partial
from typing import Any

from labkit.bridge.student import Student
from labkit.bridge.wire import is_array
from labkit.checks.answers import AnswerCase, ask, choice_in, fields_of, refuse
from labkit.checks.compare import finite_number_in, show
from labkit.checks.core import Wrong, check

FAMILY = ("Qwen3-0.6B", "Qwen3-1.7B", "Qwen3-4B", "Qwen3-8B", "Qwen3-14B", "Qwen3-32B")
UNITS = {"GB": 10**9, "GiB": 2**30}
LENGTHS = (32_768, 32_000)

_table = partial(check, "kv_table")


@_table(
    weight=3,
    hint="Call kv_cache_bytes with each model. Then divide by the bytes of your unit.",
)
def cells_follow_from_each_model(student: Student, case: AnswerCase) -> None:
    """The cells of batch 1 follow from layers, KV heads and head_dim of each model."""
    unit, n_tokens, rows = _table_fields(student, case)
    cells = {model: row[0] for model, row in rows.items()}
    right = {model: cache_bytes(student, case, model, n_tokens) for model in FAMILY}
    accepted = ("GB", "GiB") if unit == "GB" else ("GiB",)
    if any(_all_close(cells, right, UNITS[name]) for name in accepted):
        return
    if slip := _rule_behind(cells, n_tokens):
        raise Wrong("these cells follow another formula", why=slip)
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
            source = "the layers, KV heads and head_dim of this model"
            refuse(case, f"{row}: {show(cells[model])} {unit}", source, cause=row)


@_table(hint="Multiply the cell of batch 1 by 2 and by 4.")
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


@_table(weight=0, hint="1 GB is 10^9 bytes, 1 GiB is 2^30 bytes. This check has no points.")
def unit_is_named_for_what_it_is(student: Student, case: AnswerCase) -> None:
    """The entry "unit" is the unit of your numbers (this check has no points)."""
    unit, n_tokens, rows = _table_fields(student, case)
    cells = {model: row[0] for model, row in rows.items()}
    right = {model: cache_bytes(student, case, model, n_tokens) for model in FAMILY}
    if unit == "GB" and _all_close(cells, right, UNITS["GiB"]):
        raise Wrong(
            'these numbers are GiB, but the entry "unit" is GB',
            why="They are accepted. But 7.4 % can decide whether a model fits.",
        )


WRONG_RULES = {  # GiB at 32,768 tokens of Qwen3-4B and Qwen3-32B
    (18.0, 64.0): "Query heads were counted. Multiply by the number of KV heads.",
    (
        2.8125,
        5.0,
    ): "hidden_size / num_attention_heads was taken for the width of a head. Use head_dim.",
    (11.25, 40.0): "hidden_size was used. The width of a token is num_key_value_heads * head_dim.",
    (2.25, 4.0): "These are half. Count 2 bytes per number, for keys and for values.",
    (9.0, 16.0): "These are twice too large. Count 2 bytes per number, for keys and for values.",
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
        if is_array(row):
            row = row.reshape(-1).tolist()
        if not isinstance(row, list | tuple) or len(row) != 3:
            raise Wrong(f"the row of {model}", expected="three numbers", got=show(row))
        rows[model] = [finite_number_in(cell, f"a cell of {model}") for cell in row]
    return unit, int(n_tokens), rows


def config_of(functions: Any, model: str) -> Any:
    """The ModelConfig of a model, where the functions are."""
    return functions.ModelConfig.of(model)


def cache_bytes(student: Student, case: AnswerCase, model: str, n_tokens: int) -> float:
    """The cache of one sequence of this length, by the functions that judge."""
    functions = case.right or student
    return ask(functions, "kv_cache_bytes", config_of(functions, f"Qwen/{model}"), n_tokens)


def _all_close(cells: Mapping[str, float], right: Mapping[str, float], unit: int) -> bool:
    return all(math.isclose(cells[model] * unit, right[model], rel_tol=0.01) for model in FAMILY)


OPEN_CASES = {"kv_table": [AnswerCase("kv_table")]}
