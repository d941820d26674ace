"""Sentences of lab 7 on how a measured number grows or falls: they fit the records."""

import math
from dataclasses import replace
from itertools import pairwise

import pytest
from trends import RECORDS, stands_in

from labkit import flash_attention as flash
from labkit.flash_attention import flash_2_traffic, standard_traffic
from labkit.labs.flash_attention import tables
from labkit.labs.flash_attention.flops import flash_flops
from labkit.labs.flash_attention.records import Point, exponentials_per_s, floors_ms, points
from labkit.measuring.bounds import roofline_of
from labkit.measuring.roofline import Roofline

COMPUTING = ["products", "exponentials"]


def _quadratic_in_the_length():
    for name in ("math", "flash"):
        times = {
            row.n_input: row.time_s
            for row in RECORDS["flash-h200"].of("sdpa", name)
            if row.is_ok and row.setting == "D 64"
        }
        if not 3 < times[16384] / times[8192] < 5:
            return False
    return True


SPLIT = RECORDS["split-h200"]
WAYS = {row.setting or row.model: {} for row in SPLIT.of("decode_split")}
for _row in SPLIT.of("decode_split"):
    WAYS[_row.setting or _row.model][_row.n_input] = _row
LONGEST = 131_072


def _one_part_doubles():
    """Where a cache is long; a short one has a share that does not grow."""
    times = [row.time_s for _, row in sorted(WAYS["1 part"].items())]
    return all(1.55 < b / a < 2.1 for a, b in pairwise(times)) and times[-1] > 1.9 * times[-2]


def _as_long_as_reading():
    return 1 < WAYS["32 parts"][LONGEST].time_s / reading_s() < 1.1


def _many_parts_lose_on_a_short_cache():
    return WAYS["32 parts"][1024].time_s > 1.5 * WAYS["8 parts"][1024].time_s


def reading_s():
    """At the longest cache."""
    cache_bytes = WAYS["pytorch"][LONGEST].counts["cache_bytes"]
    return cache_bytes / roofline_of(SPLIT).bandwidth


TRENDS = [
    ("Both times grow with N²", _quadratic_in_the_length),
    ("With one part, each doubling of the cache doubles the time", _one_part_doubles),
    ("32 parts take about as long as the reading", _as_long_as_reading),
    ("With 1,024 tokens, 32 parts lose", _many_parts_lose_on_a_short_cache),
]


def test_the_time_to_read_a_cache_in_the_prose_is_the_tables():
    assert stands_in("07_flash_attention", f"read the cache takes {1e3 * reading_s():.3f} ms")


@pytest.mark.parametrize(("sentence", "holds"), TRENDS, ids=[each[0] for each in TRENDS])
def test_a_trend_in_the_prose_is_one_of_the_records(sentence, holds):
    assert stands_in("07_flash_attention", sentence)
    assert holds()


def bounds_of(setting):
    """The lower bounds of a point at N = 16,384, in ms."""
    record = RECORDS["flash-h200"]
    point = next(each for each in points(record) if str(each) == setting)
    return floors_ms(record, point, 16384, standard_traffic, flash_2_traffic)


@pytest.mark.parametrize(
    ("sentence", "setting", "bounds"),
    [
        ("That takes {:.2f} ms at the full bandwidth", "D 64", ["scores moved"]),
        ("need {:.2f} ms of moving and the products 1.40 ms", "D 64", ["tiles moved"]),
        ('"tiles moved" is {:.2f} ms, which', "D 64", ["tiles moved"]),
        ("At D = 64 the longer one takes {:.2f} ms", "D 64", ["products"]),
        ("= 64 the longer one takes 1.40 ms and the sum is {:.2f} ms", "D 64", COMPUTING),
        ("take 1.40 + {:.2f} = 2.43 ms one after", "D 64", ["exponentials"]),
        ("take 1.40 + 1.03 = {:.2f} ms one after", "D 64", COMPUTING),
        ("more than the sum, {:.2f} ms", "D 64, causal", COMPUTING),
        ("the products alone need {:.2f} ms", "D 128", ["products"]),
        ("2.81 ms, and the exponentials {:.2f} ms", "D 128", ["exponentials"]),
        ("and the sum is {:.2f} ms. With a causal mask and D = 128", "D 128", COMPUTING),
        ("ms, and the sum is {:.2f} ms. With a causal mask and D = 64", "D 128, causal", COMPUTING),
        ('"tiles moved" would be {:.2f} ms', "D 128", ["tiles moved"]),
    ],
)
def test_a_bound_in_the_prose_is_the_one_of_the_table(sentence, setting, bounds):
    floors = bounds_of(setting)
    total = sum(floors[name] for name in bounds)
    assert stands_in("07_flash_attention", sentence.format(total))


@pytest.mark.parametrize("setting", ["D 64", "D 128", "D 128, causal", "D 64, causal"])
def test_the_best_kernel_takes_from_the_longer_of_its_jobs_to_their_sum(setting):
    """With D = 64 and a mask it takes longer, as the text says."""
    jobs_ms = [bounds_of(setting)[name] for name in COMPUTING]
    row = next(
        row
        for row in RECORDS["flash-h200"].of("sdpa", "cudnn")
        if row.setting == setting and row.n_input == 16384
    )
    taken_ms = 1e3 * row.time_s
    if setting == "D 64, causal":
        assert sum(jobs_ms) < taken_ms < 1.05 * sum(jobs_ms)
        assert stands_in("07_flash_attention", "which is more than the sum")
    else:
        assert max(jobs_ms) <= taken_ms <= sum(jobs_ms)


def test_exponentials_are_counted_and_their_rate_is_that_of_the_units():
    point = Point(16, 64, False, False)
    assert [replace(point, is_causal=causal, has_back=back).exponentials(100)
            for causal, back in ((0, 0), (1, 0), (0, 1), (1, 1))] == [
        160_000, 80_000, 320_000, 160_000,
    ]  # fmt: skip
    known = exponentials_per_s("H200-SXM", RECORDS["flash-h200"].provenance.clock)
    assert known == pytest.approx(16 * 132 * 1.98e9)
    assert exponentials_per_s("H200-SXM") == pytest.approx(known, rel=0.005)
    assert exponentials_per_s("A100-SXM-80GB") == pytest.approx(16 * 108 * 1.41e9, rel=0.005)
    assert stands_in("07_flash_attention", f"computes {known / 1e12:.1f} · 10^12 exponentials")
    operations = Roofline.of("H200-SXM").peak("bfloat16") / known
    assert stands_in("07_flash_attention", f"{operations:.0f} operations of the tensor cores")


def test_the_gains_of_an_a100_in_the_prose_are_those_of_the_table(monkeypatch):
    standard = flash.standard_traffic, flash.standard_flops
    flash_1 = flash.flash_1_traffic, flash_flops

    def gains():
        table = tables.cards_table(flash.tile_sizes, standard, flash_1, flash.run_times)
        lines = [line for line in table.lines if line[0].startswith("A100")]
        return sorted(f"{float(line[-1]):.1f}" for line in lines if line[2] == "float16")

    low, high = gains()
    assert stands_in("07_flash_attention", f"with overlap the gain is {low} to {high}")
    monkeypatch.setattr(tables, "exponentials_per_s", lambda card: math.inf)
    low, high = gains()
    assert stands_in("07_flash_attention", f"Without the exponentials it would be {low} to {high}")
