"""Lab 3's experiments: what rows they give, how they resume, and what they do without memory."""

import math
from dataclasses import replace

import pytest
import torch

from labkit import zoo
from labkit.cache_benchmark import leaves_launch_floor_at, predicted_time_s
from labkit.labs.cache_benchmark import experiments as cache_experiments
from labkit.labs.cache_benchmark import runs as cache_runs
from labkit.labs.cache_benchmark.experiments import (
    EXPERIMENTS,
    PAST_BUDGET,
    cache_or_not,
    invalidation,
    leak,
    multi_turn,
    offload,
    pass_by_length,
)
from labkit.labs.cache_benchmark.records import (
    curve,
    launch_s,
    passes,
    predicted_curve,
    roofline_of,
    settings_of,
)
from labkit.labs.cache_benchmark.single_passes import predicted_crossing, rows_of_passes
from labkit.measuring.bench import Bench
from labkit.measuring.physics import refusals
from labkit.measuring.profiles import CPU
from labkit.measuring.provenance import Provenance
from labkit.measuring.recorder import Recorder
from labkit.measuring.records import OUT_OF_MEMORY, Record, Row, recorded_results

SMALL = replace(
    CPU,
    roles=dict.fromkeys(CPU.roles, "tiny-draft"),
    cache_lengths=(1, 2, 4),
    long_prompt_length=32,
    long_uncached_lengths=(1, 2),
    n_repeats=2,
)
HERE = Provenance.here(SMALL, "a test")
NOT_RECORDED = {"cache-cpu": {"leak", "pass_by_length"}}  # no core was quiet since they exist


def test_each_setting_has_a_short_pass_and_two_curves():
    rows = list(cache_or_not(SMALL, ["baseline", "long prompt"]))
    assert all(row.is_ok for row in rows)
    found = [(r.setting, r.experiment, r.use_cache, r.n_new) for r in rows]
    assert found[0] == ("baseline", "one_token_pass", False, 1)
    lengths = {
        (s, c): [n for t, e, d, n in found if (t, d) == (s, c) and e == "cache_or_not"]
        for s in ("baseline", "long prompt")
        for c in (True, False)
    }
    assert lengths["baseline", True] == lengths["baseline", False] == [1, 2, 4]
    assert lengths["long prompt", True] == [1, 2, 4]
    assert lengths["long prompt", False] == [1, 2]
    assert {row.n_input for row in rows if row.setting == "long prompt"} == {1, 32}
    for row in rows:
        if row.experiment == "cache_or_not":
            assert 1 <= len(row.samples_s) <= 2


def test_times_of_one_run_rise_with_the_length():
    model = zoo.load("tiny-draft", profile="cpu")
    tokens = torch.arange(8)[None]
    for use_cache in (True, False):
        times_s = list(cache_runs.times_at(model, tokens, [1, 3, 5], use_cache))
        assert len(times_s) == 3
        assert times_s == sorted(times_s)


def test_a_length_beyond_the_budget_is_a_row_that_says_so():
    rows = list(cache_or_not(SMALL, ["baseline"], longest_run_s=0.0))
    outcomes = {r.n_new: r.outcome for r in rows if r.experiment == "cache_or_not"}
    assert outcomes == {1: "ok", 2: PAST_BUDGET, 4: PAST_BUDGET}


def test_without_memory_the_rows_say_so_and_the_next_curve_is_measured(monkeypatch):
    real = cache_experiments.times_at

    def times_at(model, tokens, lengths, use_cache, longest_s=math.inf):
        for length, time_s in zip(lengths, real(model, tokens, lengths, use_cache), strict=False):
            if use_cache and length > 2:
                raise torch.OutOfMemoryError("no room")
            yield time_s

    monkeypatch.setattr(cache_experiments, "times_at", times_at)
    rows = [r for r in cache_or_not(SMALL, ["baseline"]) if r.experiment == "cache_or_not"]
    with_cache = {row.n_new: row.outcome for row in rows if row.use_cache}
    assert with_cache == {1: "ok", 2: "ok", 4: OUT_OF_MEMORY}
    assert {row.outcome for row in rows if not row.use_cache} == {"ok"}


def test_an_interrupt_keeps_the_samples_that_are_there(monkeypatch):
    real, runs = cache_experiments.times_at, []

    def times_at(model, tokens, lengths, use_cache, longest_s=math.inf):
        runs.append(lengths)
        if len(runs) == 4:
            raise KeyboardInterrupt
        yield from real(model, tokens, lengths, use_cache)

    def one_token(model, profile, row):
        return replace(row, outcome="not measured here")

    monkeypatch.setattr(cache_experiments, "times_at", times_at)
    monkeypatch.setattr(cache_experiments, "_one_token_pass", one_token)
    rows = []
    with pytest.raises(KeyboardInterrupt):
        rows.extend(cache_or_not(replace(SMALL, n_repeats=5), ["baseline"], seconds_per_curve=60))
    kept = [row for row in rows if row.experiment == "cache_or_not"]
    assert [(row.n_new, len(row.samples_s)) for row in kept] == [(1, 2), (2, 2), (4, 2)]


def test_the_first_run_of_a_curve_is_no_sample_but_is_kept():
    rows = [r for r in cache_or_not(SMALL, ["baseline"]) if r.experiment == "cache_or_not"]
    for row in rows:
        assert len(row.samples_s) <= SMALL.n_repeats
        assert row.counts["first_s"] not in row.samples_s


def test_an_unknown_setting_is_named():
    with pytest.raises(ValueError, match="no setting is called 'longer'"):
        next(cache_or_not(SMALL, ["longer"]))


def test_what_is_done_is_not_measured_again(tmp_path):
    recorder = Recorder(tmp_path / "r.jsonl", HERE)
    for row in cache_or_not(SMALL, ["baseline"], is_done=recorder.is_done):
        recorder.save(row)
    assert list(cache_or_not(SMALL, ["baseline"], is_done=recorder.is_done)) == []


def test_rounds_and_edits_count_what_is_computed():
    rows = list(multi_turn(SMALL, n_characters=700, n_new=4))
    assert [row.setting for row in rows] == [f"round {i}" for i in (1, 2, 3, 4)] * 2
    for row in rows:
        n_prompt, n_saved, n_computed = row.counts.values()
        assert n_saved + n_computed == n_prompt
        assert n_computed == row.n_input
        assert (row.counts["saved_tokens"] > 0) == (row.use_cache and row.setting != "round 1")
    edits = {row.setting: row.counts["saved_tokens"] for row in invalidation(SMALL)}
    assert edits == {"first": 0, "same": 368, "space before": 0, "space after": 368, "one name": 96}


def test_passes_are_measured_by_length_and_where_the_prediction_is():
    rows = list(pass_by_length(SMALL, also=[7], longest=8))
    assert [row.n_input for row in rows] == [1, 2, 4, 7, 8]
    assert all(row.is_ok and row.n_new == 1 and not row.use_cache for row in rows)
    done = {rows[0].key}
    again = list(pass_by_length(SMALL, longest=4, is_done=done.__contains__))
    assert [row.n_input for row in again] == [2, 4]
    (short,) = list(cache_or_not(SMALL, ["baseline"], longest=0))
    record = Record(HERE, (short, *rows))
    assert passes(record) == [(row.n_input, row.time_s) for row in rows]
    from_two = Record(HERE, (short, *rows[1:]))
    assert passes(from_two)[0] == (1, short.time_s)


def test_without_rows_of_passes_the_slopes_of_the_curve_give_them():
    record = recorded_results("cache-*.jsonl")["cache-cpu"]
    lengths, _ = curve(record, "baseline", False)
    found = passes(record)
    assert [n for n, _ in found[:2]] == [8.0, 9.5] and len(found) == len(lengths) - 1
    assert predicted_crossing(record, leaves_launch_floor_at) == 25
    assert predicted_crossing(replace(record, rows=()), leaves_launch_floor_at) is None
    assert rows_of_passes({"empty": replace(record, rows=())})[0][1] == "no pass was measured"
    assert len(rows_of_passes({"cpu": record})) == len(found)


def test_the_right_guess_alone_is_found_and_no_guess_with_salts():
    rows = {row.setting: row for row in leak(SMALL)}
    found = {name: row.counts["saved_tokens"] for name, row in rows.items()}
    assert all(row.is_ok for row in rows.values())
    assert found["Aldo"] > 2 * found["Emma"] == 2 * found["Nils"] == 2 * found["Otto"] > 0
    assert not any(n for name, n in found.items() if name.endswith("salted"))
    assert len(found) == 8


def test_offloading_says_what_it_brings_over():
    rows = list(offload(SMALL, n_steps=2))
    assert [row.setting for row in rows] == ["none", "half", "all"]
    brought = [row.counts["offloaded_bytes"] for row in rows]
    assert brought[0] == 0
    assert brought[1] == brought[2] > 0  # one layer: every other one is all of them
    assert all(row.counts["link_bandwidth"] > 0 for row in rows)


def test_predictions_are_made_from_what_was_measured_beside():
    counts = {"bandwidth": 1e10, "peak": 1e11}
    machine = Row("roofline", "cpu", 1, 0, 0, False, outcome="counted", counts=counts)
    record = Record(HERE, (machine, *cache_or_not(SMALL, ["baseline"])))
    assert roofline_of(record).bandwidth == 1e10
    lengths, predicted = predicted_curve(record, "baseline", True, predicted_time_s)
    assert lengths == [1, 2, 4]
    assert predicted[0] >= launch_s(record, "baseline")
    with pytest.raises(ValueError, match="no rows of the setting"):
        curve(record, "older", True)
    with pytest.raises(ValueError, match="no pass over one token"):
        launch_s(record, "older")
    with pytest.raises(ValueError, match="measure it first"):
        roofline_of(Record(HERE, ()))


def test_a_bench_fills_its_record(tmp_path, capsys):
    recorder = Recorder(tmp_path / "r.jsonl", HERE)
    bench = Bench(SMALL, recorder, point_s=1.0, skip_s=5.0)
    for name in ("cache_or_not", "offload"):
        EXPERIMENTS[name](bench)
    record = recorder.record()
    assert settings_of(record) == list(cache_experiments.SETTINGS)
    assert len(record.of("offload")) == 3
    printed = capsys.readouterr().out
    assert "tiny-draft, older, batch 1, " in printed and " 4 new, without cache: " in printed


@pytest.mark.parametrize("name", sorted(recorded_results("cache-*.jsonl")))
def test_recorded_results_hold_every_experiment_and_setting(name):
    record = recorded_results("cache-*.jsonl")[name]
    assert settings_of(record) == list(cache_experiments.SETTINGS)
    recorded = {*EXPERIMENTS, "one_token_pass", "roofline"} - NOT_RECORDED.get(name, set())
    assert {row.experiment for row in record.rows} >= recorded
    assert refusals(record) == []
    for setting in settings_of(record):
        lengths, _ = curve(record, setting, True)
        assert lengths[-1] >= 256
