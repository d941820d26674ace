"""Sentences on how a measured number grows or falls: each stands in a lab and fits the records."""

from itertools import pairwise

import pytest

from autograder.builder.source import SOURCES
from labkit.labs.cache_benchmark.records import curve
from labkit.labs.speculative.records import gains
from labkit.measuring.records import recorded_results

RECORDS = recorded_results()


def _rows(record, experiment, by, **fields):
    rows = [row for row in RECORDS[record].of(experiment) if row.is_ok]
    rows = [row for row in rows if all(getattr(row, key) == fields[key] for key in fields)]
    return {getattr(row, by): row for row in rows}


def _grows_from_128():
    rows = _rows("throughput-cpu", "input_sweep", "n_input")
    times_s = [row.time_s for n, row in sorted(rows.items()) if n >= 128]
    return len(times_s) >= 3 and all(a < b for a, b in pairwise(times_s))


def _throughput_hardly_rises():
    rate = {n: r.tokens_per_s for n, r in _rows("throughput-cpu", "output_sweep", "n_new").items()}
    return rate[64] > 3 * rate[1] and 1 < rate[256] / rate[64] < 1.25


def _in_proportion_to_the_batch():
    rows = _rows("throughput-cpu", "forward_by_batch", "batch_size")
    return all(0.75 < rows[n].time_s / rows[1].time_s / n < 1.25 for n in rows)


def _both_ways_at(setting, n_new):
    curves = (curve(RECORDS["cache-h200"], setting, use_cache) for use_cache in (False, True))
    without, cached = (dict(zip(*each, strict=True))[n_new] for each in curves)
    return without / cached


def _halves_the_prefill():
    both = [
        _rows("cache-h200", "multi_turn", "setting", use_cache=use_cache)
        for use_cache in (False, True)
    ]
    ratios = [both[0][f"round {i}"].time_s / both[1][f"round {i}"].time_s for i in (2, 3, 4)]
    return all(1.6 < ratio < 2.5 for ratio in ratios)


def _regimes(drafts):
    """Speedup by gamma of the curves whose drafts come from a model, or by copying ("n-gram")."""
    curves = {}
    for gain in gains(RECORDS["speculative-cpu"], experiment="regimes"):
        *_, prompts, n_new, source = gain.row.setting.split(", ")
        if source == drafts:
            curves.setdefault((prompts, n_new), {})[gain.gamma] = gain.speedup[0]
    return curves


def _best_gammas():
    curves = _regimes("model").values()
    falls = all(each[10] < 0.9 * max(each.values()) for each in curves)
    return falls and sorted(max(each, key=each.get) for each in curves) == [2, 3, 3, 7]


def _copying_gains():
    curves = _regimes("n-gram").items()
    return {kind: [n for n in each if each[n] > 1] for kind, each in curves} == {
        ("simple", "64 new"): [1, 2, 3],
        ("simple", "128 new"): [],
        ("normal", "64 new"): [],
        ("normal", "128 new"): [],
    }


def _every_eager_pair_loses():
    speedups = [
        gain.speedup[0] for gain in gains(RECORDS["speculative-h200"], None, "eager_speculation")
    ]
    return len(speedups) == 12 and (round(min(speedups), 2), round(max(speedups), 2)) == (0.7, 0.93)


def _same_order_of_sources():
    found = gains(RECORDS["speculative-cpu"], experiment="by_source")
    at_best = [gain for gain in found if (gain.row.model, gain.gamma) == ("tiny", 7)]
    by_alpha = sorted(at_best, key=lambda gain: gain.alpha[0])
    return len(at_best) == 4 and by_alpha == sorted(at_best, key=lambda gain: gain.speedup[0])


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


TRENDS = [
    ("02", "From 128 tokens on the time grows.", _grows_from_128),
    ("02", "Then it hardly rises:", _throughput_hardly_rises),
    ("02", "It grows in proportion from the start", _in_proportion_to_the_batch),
    (
        "03",
        "nearly equal at 519 tokens and differ at 32,000.",
        lambda: 0.85 < _both_ways_at("baseline", 512) < 1.15 < _both_ways_at("long prompt", 32) / 5,
    ),
    ("03", "the cache halves the time of a prefill.", _halves_the_prefill),
    ("06", "The speedups have the same order:", _same_order_of_sources),
    ("06", "the speedup is 0.70 to 0.93.", _every_eager_pair_loses),
    (
        "06",
        "is best at γ = 2 and 3 (simple prompts, 64 and 128 new tokens) and at γ = 3 and 7",
        _best_gammas,
    ),
    ("06", "64 new tokens, at γ = 1, 2 and 3. For normal", _copying_gains),
    ("07", "Both times grow with N²", _quadratic_in_the_length),
]


@pytest.mark.parametrize(("lab", "sentence", "holds"), TRENDS, ids=[each[1] for each in TRENDS])
def test_a_trend_in_the_prose_is_one_of_the_records(lab, sentence, holds):
    (path,) = SOURCES.glob(f"{lab}_*.py")
    assert sentence in " ".join(path.read_text(encoding="utf-8").replace("\n#", " ").split())
    assert holds()
