"""Sentences of lab 3 on how a measured number grows or falls: they fit the records."""

import pytest
from trends import RECORDS, rows_by, stands_in

from labkit.labs.cache_benchmark.records import curve


def _both_ways_at(setting, n_new):
    curves = (curve(RECORDS["cache-h200"], setting, use_cache) for use_cache in (False, True))
    without, cached = (dict(zip(*each, strict=True))[n_new] for each in curves)
    return without / cached


def _halves_the_prefill():
    both = [
        rows_by("cache-h200", "multi_turn", "setting", use_cache=use_cache)
        for use_cache in (False, True)
    ]
    ratios = [both[0][f"round {i}"].time_s / both[1][f"round {i}"].time_s for i in (2, 3, 4)]
    return all(1.6 < ratio < 2.5 for ratio in ratios)


TRENDS = [
    (
        "nearly equal at 519 tokens and differ at 32,000.",
        lambda: 0.85 < _both_ways_at("baseline", 512) < 1.15 < _both_ways_at("long prompt", 32) / 5,
    ),
    ("the cache halves the time of a prefill.", _halves_the_prefill),
]


@pytest.mark.parametrize(("sentence", "holds"), TRENDS, ids=[each[0] for each in TRENDS])
def test_a_trend_in_the_prose_is_one_of_the_records(sentence, holds):
    assert stands_in("03_cache_benchmark", sentence)
    assert holds()
