"""Sentences of lab 3 on how a measured number grows or falls: they fit the records."""

import pytest
from trends import RECORDS, rows_by, stands_in

from labkit.labs.cache_benchmark.records import curve, launch_s, passes, slopes


def _first_longer(name):
    limit = 1.5 * launch_s(RECORDS[name], "baseline")
    return next((n for n, time_s in passes(RECORDS[name]) if time_s > limit), None)


def _saves_half_the_prefill():
    both = [
        rows_by("cache-h100", "multi_turn", "setting", use_cache=use_cache)
        for use_cache in (False, True)
    ]
    ratios = [both[0][f"round {i}"].time_s / both[1][f"round {i}"].time_s for i in (2, 3, 4)]
    return all(2 < ratio < 4 for ratio in ratios)


def _slopes_ms(setting, use_cache):
    found = slopes(*curve(RECORDS["cache-h100"], setting, use_cache))
    return round(1e3 * min(found)), round(1e3 * max(found))


def _lie_within(*ways):
    """Whether the slopes in ms of these settings and ways lie in their ranges."""
    return all(
        low <= low_ms and high_ms <= high
        for setting, use_cache, low, high in ways
        for low_ms, high_ms in [_slopes_ms(setting, use_cache)]
    )


TRENDS = [
    (
        "20 to 23 ms per further token without a cache, and 22 to 27 ms with one.",
        lambda: _lie_within(("baseline", False, 20, 23), ("baseline", True, 22, 27)),
    ),
    (
        "its layers: 9 to 12 ms per token for 16 layers, and 18 to 27 ms for 32.",
        lambda: _lie_within(
            *(("smaller", use_cache, 9, 12) for use_cache in (False, True)),
            *(
                (setting, use_cache, 18, 27)
                for setting in ("baseline", "older")
                for use_cache in (False, True)
            ),
        ),
    ),
    (
        "one prefill per token: 1.34 s on the H100",
        lambda: _lie_within(("long prompt", False, 1340, 1344)),
    ),
    (
        "With a cache it is 20 ms, about as for the baseline.",
        lambda: _lie_within(("long prompt", True, 19, 21)),
    ),
    (
        "and passes are longer from 9.5 tokens on.",
        lambda: _first_longer("cache-cpu") == 9.5 and _first_longer("cache-h100") == 1166,
    ),
    ("the cache saves more than half of the time of a prefill.", _saves_half_the_prefill),
]


@pytest.mark.parametrize(("sentence", "holds"), TRENDS, ids=[each[0] for each in TRENDS])
def test_a_trend_in_the_prose_is_one_of_the_records(sentence, holds):
    assert stands_in("03_cache_benchmark", sentence)
    assert holds()
