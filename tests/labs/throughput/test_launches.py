"""What a step launches: counts, thin copies, shares, energy; on small models and on the record."""

from dataclasses import replace

import pytest
import torch

from labkit import zoo
from labkit.labs.throughput import launches, served, tables
from labkit.labs.throughput.energy import joules_of, joules_so_far
from labkit.labs.throughput.experiments import EXPERIMENTS, Harness
from labkit.labs.throughput.shares import LIMITS, Shares, shares_of, shares_table
from labkit.labs.throughput.steps import launched, pass_of, thin_model
from labkit.measuring.bench import Bench
from labkit.measuring.profiles import CPU, GPU80, PROFILES
from labkit.measuring.recorder import Recorder
from labkit.measuring.records import Provenance, Row, recorded_results
from labkit.throughput import count_operations

SMALL = replace(CPU, roles=dict.fromkeys(CPU.roles, "tiny-draft"), sweep_batch_size=2)


@pytest.fixture
def bench(tmp_path):
    recorder = Recorder(tmp_path / "record.jsonl", Provenance.here(SMALL, "test"))
    return Bench(SMALL, recorder, Harness())


@pytest.fixture
def record():
    return recorded_results("steps-cpu.jsonl")["steps-cpu"]


def test_a_pass_after_cached_tokens_is_always_the_same_and_that_of_the_whole_text():
    model = zoo.load("tiny-draft", profile="cpu").model
    step, whole = pass_of(model, 2, 3, 5), pass_of(model, 2, 8, 0)
    first, again = step(), step()
    assert torch.equal(first, again)
    assert torch.allclose(first, whole(), atol=1e-4)


@pytest.mark.parametrize("name", ["Qwen/Qwen3-8B", "meta-llama/Llama-3.1-8B", "gpt2-xl"])
def test_a_thin_model_dispatches_what_one_of_another_width_does(name):
    three, four = (count_operations(pass_of(thin_model(name, n))) for n in (3, 4))
    wide = zoo.shape.build(
        name, "cpu", torch.float32, num_hidden_layers=3, hidden_size=64, intermediate_size=32,
        num_attention_heads=4, num_key_value_heads=4 if name == "gpt2-xl" else 2, head_dim=16,
        vocab_size=96,
    )  # fmt: skip
    assert count_operations(pass_of(wide)) == three
    assert min((four - three).values()) > 0 and not three - four


def test_views_are_told_from_operations_that_compute():
    x = torch.ones(4, 4)
    assert launched(count_operations(lambda: (x @ x).t().reshape(2, 8)[0].unsqueeze(0))) == (2, 4)


def test_sixteen_bits_convert_in_each_norm():
    counts = [
        launches.counts_of("Qwen/Qwen3-8B", dtype, count_operations)
        for dtype in ("float32", "bfloat16")
    ]
    assert counts[1]["operations"] == counts[0]["operations"] + 8  # two for each of four norms
    assert {each["layers"] for each in counts} == {36}


def test_the_counts_of_this_version_are_near_those_of_the_record():
    for model in served.EAGER_MODELS:
        here = served.launched_by_step(launches.counts_of(model, "bfloat16", count_operations))
        there = served.launched_by_step(served.counts_of_step(model))
        assert here == pytest.approx(there, rel=0.15)


def test_passes_and_thin_ones_are_rows_with_the_same_operations(bench):
    EXPERIMENTS["launches"](bench)
    rows = bench.recorder.record().of("launches")
    thin = [row for row in rows if row.model.endswith(launches.THIN)]
    assert {(row.batch_size, row.n_input) for row in thin} == {(1, 1)}
    by_cache = {
        use: {row.counts["operations"] for row in rows if row.use_cache is use}
        for use in (True, False)
    }
    assert [len(each) for each in by_cache.values()] == [1, 1]
    assert all(len(row.samples_s) == 10 for row in rows)
    EXPERIMENTS["launches"](replace(bench, harness=Harness(count_operations=None)))
    assert len(bench.recorder.record().of("launches")) == len(rows)


def test_a_decode_step_is_measured_by_batch_and_once(bench):
    bench.fill(launches.decode_by_batch, sizes=(1, 4), n_samples=2)
    rows = bench.recorder.record().of("decode_by_batch")
    assert [(row.batch_size, row.counts["n_cached"]) for row in rows] == [(1, 64), (4, 64)]
    assert served.steps_by_batch(bench.recorder.record(), 64).keys() == {1, 4}
    bench.fill(launches.decode_by_batch, sizes=(1, 4), n_samples=2)
    assert len(bench.recorder.record().of("decode_by_batch")) == 2


def test_the_shares_of_the_record_are_those_of_its_rows(record):
    shares = shares_of(record, "decode_medium_model")
    (whole,) = (
        row for row in record.of("launches", "tiny-target")
        if (row.batch_size, row.n_input, row.use_cache) == (4, 1, True)
    )  # fmt: skip
    (thin,) = (row for row in record.of("launches", f"tiny-target{launches.THIN}") if row.use_cache)
    assert shares.launch == thin.time_s / whole.time_s
    assert sum((shares.launch, max(shares.memory, shares.compute), shares.rest)) == pytest.approx(1)
    assert [line[0] for line in shares_table(record).lines] == [*launches.cases_of(CPU)]


def test_every_share_that_is_close_is_accepted():
    assert Shares(1.0, launch=0.45, memory=0.1, compute=0.0).accepted() == {"launch"}
    assert Shares(1.0, launch=0.9, memory=0.11, compute=0.01).accepted() == {"launch"}
    assert Shares(1.0, launch=0.31, memory=0.2, compute=0.45).accepted() == {"launch", "compute"}
    assert Shares(1.0, launch=0.0, memory=0.0, compute=0.0).accepted() == set(LIMITS)
    hidden = Shares(1.0, launch=0.5, memory=0.2, compute=0.45, overlap=True)
    assert hidden.accepted() == {"compute"}
    most = Shares(1.0, launch=0.7, memory=0.5, compute=0.1, overlap=True)
    assert most.accepted() == {"launch", "memory"}
    gpu = recorded_results("steps-h100.jsonl")["steps-h100"]
    assert shares_of(gpu, "decode_one").accepted() == {"launch"}
    assert shares_of(gpu, "forward_sixteen").accepted() == {"compute"}
    assert set(LIMITS) == {"launch", "memory", "compute"}


def test_launching_explains_most_of_the_smallest_models_step_and_nothing_of_a_long_pass(record):
    assert shares_of(record, "decode_small_model").launch > 0.5
    assert shares_of(record, "forward_sixteen").launch < 0.05
    assert shares_of(record, "forward_sixteen").accepted() >= {"compute"}


def test_a_step_of_the_same_operations_takes_as_long_whatever_the_model():
    for name in ("speculative-h100", "speculative-h200"):
        record = recorded_results(f"{name}.jsonl")[name]
        us = [
            1e6 * served.step_s(record, model, served.EAGER)
            / served.launched_by_step(served.counts_of_step(model))
            for model in (*served.EAGER_MODELS, "Qwen/Qwen3-0.6B", "meta-llama/Llama-3.2-1B")
        ]  # fmt: skip
        assert max(us) < 1.2 * min(us)


def test_every_profile_has_a_case_of_each_kind():
    assert {tuple(launches.cases_of(profile)) for profile in PROFILES.values()} == {
        tuple(launches.cases_of(GPU80))
    }


def test_the_energy_of_a_run_is_its_part_of_what_the_counter_says():
    used = iter([100.0, 106.0])
    runs = []
    assert joules_of(lambda: runs.append(1), lambda: next(used), least_s=0.0) == 6.0
    assert runs == [1]
    assert joules_of(lambda: runs.append(1), lambda: None) is None
    assert torch.cuda.is_available() or joules_so_far() is None


def test_the_table_of_decode_batches_names_ttft_tpot_and_the_price():
    record = recorded_results("serving-2gpu.jsonl")["serving-2gpu"]
    table = tables.serving_table(record, 2.40)
    lines = {(line[0], line[1]): line for line in table.lines}
    line = lines["512", "64"]
    step_s = served.steps_by_batch(record, 512)[64]
    assert line[2:6] == [
        f"{1e3 * step_s:.2f}", f"{1 / step_s:.0f}", f"{64 / step_s:,.0f}",
        f"{2.40 / 3600 * step_s / 64 * 1e6:.3f}",
    ]  # fmt: skip
    assert line[-1] == f"{1e3 * served.prompt_s(record, 512):.0f}"
    assert lines["8,192", "128"][2] == "no room"
    with_joules = replace(record, rows=(*record.rows, Row(
        "decode_by_batch", "tiny-target", 2, 1, 0, True, (0.5,), counts={"n_cached": 7, "joules": 3}
    )))  # fmt: skip
    rows = tables.serving_table(replace(with_joules, rows=with_joules.rows[-1:]), 2.40).lines
    assert rows[0][-2:] == ["1.500", "-"]
