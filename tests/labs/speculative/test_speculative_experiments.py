"""Lab 6's experiments: what rows they give, how they resume, what they refuse."""

import importlib.util
import inspect
import itertools
from dataclasses import replace

import pytest
import torch
from rows_model import RowsModel

from labkit import speculative, zoo
from labkit.engine import profiler
from labkit.engine.cached import EngineBatch, EngineModel
from labkit.engine.decoder import Decoder
from labkit.engine.weights import weights_of
from labkit.labs.speculative import experiments
from labkit.labs.speculative import sampled as speculative_sampled
from labkit.labs.speculative import scripted as speculative_scripted
from labkit.labs.speculative.experiments import (
    EXPERIMENTS,
    batch_groups,
    batch_sweep,
    block_parts,
    regimes,
)
from labkit.labs.speculative.models import TransformersModel
from labkit.labs.speculative.records import OWN, gains, ratios_of
from labkit.labs.speculative.runs import FED, decode_steps, speculation
from labkit.labs.speculative.sampled import Samplers
from labkit.labs.speculative.scripted import PUBLISHED, kept_in_blocks, scripted
from labkit.measuring.bench import Bench
from labkit.measuring.physics import refusals
from labkit.measuring.profiles import CPU, GPU80, PAIRS, T4
from labkit.measuring.provenance import Provenance
from labkit.measuring.recorder import Recorder
from labkit.measuring.records import Record, Row, recorded_results
from labkit.models.tiny import KIT_MODELS

HERE = Provenance.here(CPU, "a test")
MACHINE = Row(
    "roofline", "cpu", 1, 0, 0, False, outcome="counted", counts={"bandwidth": 1e10, "peak": 1e11}
)
CLOSE = {"rtol": 1e-4, "atol": 1e-4}
BRIEF = {"n_new": 5, "n_per_source": 1, "n_samples": 2}


@pytest.fixture(autouse=True)
def small(monkeypatch):
    """A profile whose pair has one layer each, so that nothing takes long."""
    monkeypatch.setitem(PAIRS, "small", ("tiny-draft", "tiny-untrained"))
    return replace(CPU, pairs=("small",))


def test_each_model_has_steps_of_both_kinds(small):
    rows = list(decode_steps(small, n_samples=1))
    assert (rows[0].experiment, rows[0].counts["moved_bytes"]) == ("copy_bandwidth", 2**29)
    found = [(row.model, row.setting, row.n_input) for row in rows[1:]]
    names = ("tiny-draft", "tiny-untrained")
    assert found == [(name, way, n) for name in names for way in ("lean", "eager") for n in FED]
    matrices = [p for p in zoo.load("tiny-draft").model.parameters() if p.dim() == 2]
    assert rows[1].counts["step_bytes"] == sum(matrix.nbytes for matrix in matrices)
    assert refusals(Record(HERE, (MACHINE, *rows))) == []


def test_texts_are_written_alone_and_at_each_gamma_and_told_apart_by_source(small):
    rows = list(speculation(small, gammas=(1, 3), **BRIEF))
    settings = [row.setting for row in rows if row.experiment == "speculation"]
    assert settings == ["alone", "gamma 1", "gamma 3"]
    sources = ["graph", "instruction", "choice", "pattern"]
    by_source = [row for row in rows if row.experiment == "by_source"]
    assert [row.setting for row in by_source[:4]] == [f"alone, {source}" for source in sources]
    for row in rows:
        assert len(row.samples_s) == 2
        assert row.n_new == 5 * (4 if row.experiment == "speculation" else 1)
        if "alone" not in row.setting:
            n_tokens = row.counts["blocks"] + row.counts["accepted"]
            assert n_tokens == row.n_new * row.counts["runs"]
            assert 0 < row.counts["draft_step_s"] < row.counts["steps_s"] < max(row.samples_s)
    assert refusals(Record(HERE, (MACHINE, *rows))) == []


def test_the_same_seed_writes_the_same(small):
    def counted(seed):
        rows = speculation(small, gammas=(2,), seed=seed, **BRIEF)
        return [row.counts.get("accepted") for row in rows]

    assert counted(0) == counted(0)


def test_the_functions_that_are_given_are_used_and_checked(small):
    reference = Samplers.reference()
    short = replace(reference, autoregressive=lambda *args, **settings: [1, 2])
    with pytest.raises(ValueError, match=r"asked for 5 tokens; it gave 2.* Do its checks pass"):
        list(speculation(small, short, **BRIEF))
    silent = replace(
        reference,
        speculative=lambda *args, blocks, **settings: reference.speculative(*args, **settings),
    )
    with pytest.raises(ValueError, match="in blocks of 0 tokens together"):
        list(speculation(small, silent, **BRIEF))


def test_without_the_kits_answers_a_students_functions_are_enough(monkeypatch, small):
    spec = importlib.util.find_spec("labkit.speculative")
    own = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(own)
    samplers = Samplers(own.autoregressive, own.speculative, own.ngram_draft)

    def blank(*args, **settings):
        raise NotImplementedError

    for name, function in inspect.getmembers(speculative, inspect.isfunction):
        if function.__module__ == speculative.__name__:
            monkeypatch.setattr(speculative, name, blank)
    brief = {"n_per_source": 1, "n_samples": 1}
    rows = [*speculation(small, samplers, gammas=(2,), n_new=4, **brief)]
    rows += regimes(small, samplers, "small", gammas=(2,), lengths=(4,), **brief)
    record = Record(HERE, tuple(rows))
    assert all(gain.predicted[OWN] == 1 for gain in gains(record, lambda *times: 1))
    assert kept_in_blocks(3, 0.6, 4)


def test_regimes_have_two_kinds_of_prompts_lengths_and_drafts(small):
    brief = {"n_per_source": 1, "n_samples": 1}
    rows = list(regimes(small, pair="small", gammas=(2,), lengths=(3, 6), **brief))
    assert [row.setting for row in rows[:4]] == [
        "alone, simple, 3 new",
        "gamma 2, simple, 3 new, model",
        "gamma 2, simple, 3 new, n-gram",
        "alone, simple, 6 new",
    ]
    assert len(rows) == 12
    assert [row.n_new for row in rows] == [3, 3, 3, 6, 6, 6] * 2
    assert "draft_step_s" not in rows[2].counts
    assert len(gains(Record(HERE, tuple(rows)), experiment="regimes")) == 8


def test_batches_write_as_many_tokens_whatever_their_size(small):
    rows = list(batch_sweep(small, "small", sizes=(1, 2, 4), **BRIEF))
    sizes = [(row.batch_size, row.setting) for row in rows]
    assert sizes == [(n, setting) for n in (1, 2, 4) for setting in ("alone", "gamma 3")]
    assert {row.batch_size * row.n_new for row in rows} == {20}
    for row in rows:
        if row.setting != "alone":
            n_tokens = row.counts["blocks"] + row.counts["accepted"]
            assert n_tokens == row.batch_size * row.n_new * row.counts["runs"]


def test_rows_of_one_source_and_mixed_rows_are_the_same_texts_in_batches_of_one_size(small):
    rows = list(batch_groups(small, "small", **BRIEF | {"n_per_source": 2}))
    assert [row.setting for row in rows] == ["gamma 3, one source", "gamma 3, mixed"]
    for row in rows:
        counts = row.counts
        assert (row.batch_size, row.n_new, counts["runs"]) == (2, 20, 2)
        assert counts["blocks"] + counts["accepted"] == 2 * row.batch_size * row.n_new
        n_blocks = counts["blocks"] / counts["runs"]
        assert n_blocks / row.batch_size <= counts["target_calls"] <= n_blocks


def test_a_batch_on_the_engine_gives_each_row_its_own_logits():
    model = zoo.load("tiny-draft").model
    batch = EngineBatch(Decoder(weights_of(model, 32), 32, 3))
    plain = RowsModel([TransformersModel(model) for _ in range(3)])
    steps = ([[1, 2, 3], [4], [5, 6]], [[7], [], [8, 9]], [[1, 2], [3], [4]])
    for rows in steps:
        found, wanted = batch.feed(rows), plain.feed(rows)
        for i, row in enumerate(rows):
            torch.testing.assert_close(found[i, : len(row)], wanted[i, : len(row)], **CLOSE)
        kept = [max(0, n - 1) for n in plain.n_cached()]
        for each in (batch, plain):
            each.rewind(kept)
        assert batch.n_cached() == kept


def test_a_decoder_of_the_engine_is_a_cached_model():
    model = zoo.load("tiny-draft").model
    fast, plain = EngineModel(Decoder(weights_of(model, 32), 32)), TransformersModel(model)
    for tokens, kept in (([1, 2, 3], 2), ([4], 3), ([5, 6], 5)):
        torch.testing.assert_close(fast.feed(tokens), plain.feed(tokens), **CLOSE)
        fast.rewind(kept)
        plain.rewind(kept)
        assert fast.n_cached() == kept
    with pytest.raises(ValueError, match="cannot rewind to 6"):
        fast.rewind(6)
    with pytest.raises(ValueError, match="at least one token"):
        fast.feed([])


@pytest.mark.parametrize("pair", sorted(PUBLISHED))
def test_the_script_keeps_the_published_part(pair):
    for gamma, ratio in PUBLISHED[pair].items():
        kept = kept_in_blocks(gamma, ratio, 80)
        assert len(kept) == 80
        assert 0 <= min(kept) <= max(kept) <= gamma
        assert sum(kept) / (80 * gamma) == pytest.approx(ratio, abs=0.01)


def test_scripted_blocks_keep_what_the_script_says(monkeypatch):
    monkeypatch.setitem(PUBLISHED, "small", {2: 0.6})
    monkeypatch.setattr(speculative_scripted, "N_BLOCKS", 6)
    monkeypatch.setattr(speculative_scripted, "N_ALONE", 4)
    made, real = [], speculative_scripted.ScriptedPair

    def on_cpu(pair, dtype, n_cached):
        made.append(real(pair, "float32", n_cached, "cpu"))
        return made[-1]

    monkeypatch.setattr(speculative_scripted, "ScriptedPair", on_cpu)
    monkeypatch.setattr(speculative_scripted, "KNOWN", ("qwen3",))
    alone, drafted = scripted(GPU80, "small", {}, Samplers.reference(), 1, lambda key: False)
    assert (alone.setting, alone.n_new, drafted.setting) == ("alone", 4, "gamma 2")
    assert drafted.n_new == 6 + drafted.counts["accepted"]
    assert int(made[0].target.arena.lengths) == 300 + drafted.n_new
    assert "scripted" in drafted.note


def test_a_row_has_the_average_seconds_of_each_part_of_a_block(small, monkeypatch):
    looks = itertools.count()
    monkeypatch.setattr(profiler, "perf_counter", lambda: float(next(looks)))
    (row,) = block_parts(small, 3, n_samples=2)
    assert (row.model, row.setting, len(row.samples_s)) == ("small", "gamma 3", 2)
    parts = {"draft_s": 1.0, "verify_s": 1.0, "accept_s": 1.0, "cache_s": 1.0}
    assert row.counts == {**parts, "total_s": 6.0}  # two more looks: the beginning and the end
    assert next(looks) == 7 * 3 * experiments.N_PROFILED  # one run of three warms up
    assert list(block_parts(small, 3, is_done=lambda key: key == row.key)) == []


@pytest.mark.parametrize("gamma", [1, 3])
def test_transformers_models_keep_what_the_script_says_whoever_samples(gamma, small, monkeypatch):
    monkeypatch.setattr(speculative_scripted, "N_EAGER", 4)
    rows = list(scripted(small, "small", {gamma: 0.5}, Samplers.reference(), 2, lambda key: False))
    alone, drafted = rows
    kept = kept_in_blocks(gamma, 0.5, 4)
    n_tokens, n_blocks = 0, 0
    while n_tokens < 8:
        n_tokens += kept[n_blocks % 4] + 1
        n_blocks += 1
    assert alone.n_new == drafted.n_new == 8
    assert drafted.counts["blocks"] == 2 * n_blocks
    assert drafted.counts["accepted"] == 2 * (8 - n_blocks)
    assert drafted.note == "random weights, another pair's acceptance scripted, eager"
    assert 0 < drafted.counts["draft_step_s"] < drafted.counts["steps_s"]


def test_a_pair_that_does_not_fit_is_rows_that_say_so(monkeypatch, small):
    def full(*_):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 3 GiB.\nmore")

    monkeypatch.setattr(speculative_scripted, "EagerPair", full)
    rows = list(speculation(small, pairs=("gpt2",), ratios={2: 0.5}))
    assert [row.setting for row in rows] == ["alone", "gamma 2"]
    assert {(row.model, row.outcome) for row in rows} == {("gpt2", "out of memory")}
    assert {row.note for row in rows} == {"CUDA out of memory. Tried to allocate 3 GiB."}


def test_every_pair_of_every_profile_has_rates():
    for profile in (CPU, T4, GPU80):
        for pair in profile.pairs:
            own = KIT_MODELS.keys() >= set(PAIRS[pair])
            assert own or PUBLISHED.get(pair) or ratios_of(recorded_results()["speculative-cpu"])


def test_an_interrupted_record_goes_on_where_it_stopped(tmp_path, monkeypatch, small):
    recorder = Recorder(tmp_path / "r.jsonl", HERE)
    for row in speculation(small, gammas=(2,), is_done=recorder.is_done, **BRIEF):
        recorder.save(row)
    for row in batch_sweep(small, "small", sizes=(1,), is_done=recorder.is_done, **BRIEF):
        recorder.save(row)
    n_rows = len(recorder.record().rows)

    def refuse(*_):
        raise AssertionError("written again")

    monkeypatch.setattr(speculative_sampled.SampledPair, "play", refuse)
    assert list(speculation(small, gammas=(2,), is_done=recorder.is_done, **BRIEF)) == []
    for row in batch_sweep(small, "small", sizes=(1, 2), is_done=recorder.is_done, **BRIEF):
        assert row.batch_size == 2
        recorder.save(row)
    assert len(recorder.record().rows) == n_rows + 2


def test_a_bench_fills_its_record(tmp_path, capsys, small):
    recorder = Recorder(tmp_path / "r.jsonl", HERE)
    EXPERIMENTS["decode_steps"](Bench(small, recorder))
    assert len(recorder.record().rows) == 1 + 2 * 2 * len(FED)
    assert "decode_steps, tiny-draft, lean, batch 1, 1 in, 0 new: " in capsys.readouterr().out


@pytest.mark.parametrize("name", sorted(recorded_results("speculative-*.jsonl")))
def test_recorded_results_hold_every_pair_and_gamma(name):
    record = recorded_results("speculative-*.jsonl")[name]
    pairs = (GPU80 if record.provenance.driver else CPU).pairs
    found = [(gain.row.model, gain.gamma) for gain in gains(record)]
    assert sorted(found) == sorted(itertools.product(pairs, (2, 3, 5, 7)))
    assert refusals(record) == []
