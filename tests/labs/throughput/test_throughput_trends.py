"""Sentences of lab 2 on how a measured number grows or falls: they fit the records."""

from itertools import pairwise

import pytest
from trends import rows_by, stands_in

from labkit.labs.throughput.served import (
    EAGER_MODELS,
    counts_of_step,
    launched_by_step,
    steps_by_batch,
)
from labkit.labs.throughput.steps import launched, pass_of, thin_model
from labkit.measuring.records import recorded_results
from labkit.throughput import count_operations


def _grows_from_32():
    rows = rows_by("throughput-cpu", "input_sweep", "n_input")
    times_s = [row.time_s for n, row in sorted(rows.items()) if n >= 32]
    by = [rows[n].time_s / rows[1].time_s - 1 for n in (32, 64)]
    grows = len(times_s) >= 3 and all(a < b for a, b in pairwise(times_s))
    return grows and 0.17 < by[0] < 0.25 and 0.43 < by[1] < 0.53


def _steps(name, n_fed=1, setting="eager"):
    rows = recorded_results(f"{name}.jsonl")[name].of("decode_steps")
    return {
        row.model: row.time_s
        for row in rows
        if (row.n_input, row.setting) == (n_fed, setting)
    }  # fmt: skip


def _equal_operations():
    times_us = [
        1e6 * _steps("speculative-h200")[model] / launched_by_step(counts_of_step(model))
        for model in EAGER_MODELS
    ]
    return round(min(times_us)) >= 14 and round(max(times_us)) <= 16


def _equal_dispatches():
    times_us = []
    for model in EAGER_MODELS:
        n = counts_of_step(model)
        three = pass_of(thin_model(model, 3, dtype="bfloat16"))
        outside = launched(count_operations(three))[1] - 3 * n["views"]
        n_views = n["layers"] * n["views"] + outside
        n_dispatches = launched_by_step(n) + n_views
        assert model != "Qwen/Qwen3-8B" or n_views == 1302
        times_us.append(1e6 * _steps("speculative-h200")[model] / n_dispatches)
    return round(min(times_us), 1) == 8.5 and round(max(times_us), 1) == 8.7


def _many_users_cost_little():
    steps = steps_by_batch(recorded_results("serving-2gpu.jsonl")["serving-2gpu"], 512)
    return round(steps[1] / steps[64], 2) == 0.79


def _as_long():
    steps = _steps("speculative-h200")
    return 0.95 < steps["Qwen/Qwen3-0.6B"] / steps["Qwen/Qwen3-1.7B"] < 1.05


def _in_proportion_to_the_batch():
    rows = rows_by("throughput-cpu", "forward_by_batch", "batch_size")
    return all(0.75 < rows[n].time_s / rows[1].time_s / n < 1.25 for n in rows)


TRENDS = [
    ("From 32 tokens on the time grows: by a fifth at 32, and by half at 64.", _grows_from_32),
    ("An operation takes nearly the same time in all three models", _equal_operations),
    ("each of 64 users still gets 79 % of the speed of one", _many_users_cost_little),
    ("If views count as well, it is 8.5 to 8.7 µs in all three", _equal_dispatches),
    ("A step of Qwen3-0.6B takes as long as one of Qwen3-1.7B", _as_long),
    ("It grows in proportion from the start", _in_proportion_to_the_batch),
]


@pytest.mark.parametrize(("sentence", "holds"), TRENDS, ids=[each[0] for each in TRENDS])
def test_a_trend_in_the_prose_is_one_of_the_records(sentence, holds):
    assert stands_in("02_throughput", sentence)
    assert holds()
