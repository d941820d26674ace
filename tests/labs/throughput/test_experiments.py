"""Experiments: points of the profile, rows at once, out of memory and interrupts lose nothing."""

import argparse
from dataclasses import replace

import pytest
import torch

from labkit import zoo
from labkit.labs import measure
from labkit.labs.throughput import experiments
from labkit.labs.throughput.experiments import EXPERIMENTS, SWEEPS, Harness
from labkit.labs.throughput.tables import memory_table, table
from labkit.measuring import device, profiles
from labkit.measuring.bench import Bench
from labkit.measuring.bounds import machine_of
from labkit.measuring.calibration import Calibrator
from labkit.measuring.physics import refusals
from labkit.measuring.profiles import CPU, GPU80, PROFILES, short
from labkit.measuring.recorder import Recorder
from labkit.measuring.records import Provenance, read_record, recorded_results

SMALL = replace(
    CPU,
    roles=dict.fromkeys(CPU.roles, "tiny-draft"),
    sweep_batch_size=2,
    input_lengths=(1, 8, 64),
    output_lengths=(1, 2, 4),
    forward_batch_sizes=(1, 2),
    n_repeats=2,
)


@pytest.fixture
def bench(tmp_path):
    recorder = Recorder(tmp_path / "record.jsonl", Provenance.here(SMALL, "test"))
    return Bench(SMALL, recorder, Harness(), point_s=0.5)


def test_every_experiment_fills_the_record_with_the_profiles_points(bench):
    for name in ("roofline", *SWEEPS):
        EXPERIMENTS[name](bench)
    record = bench.recorder.record()
    assert [row.n_input for row in record.of("input_sweep")] == [1, 8, 64]
    assert [row.n_new for row in record.of("output_sweep")] == [1, 2, 4]
    assert [row.batch_size for row in record.of("forward_by_batch")] == [1, 2]
    assert {row.n_new for row in record.of("forward_by_batch")} == {0}
    assert record.of("roofline")[0].counts["bandwidth"] > 0
    sweeps = [row for name in SWEEPS for row in record.of(name)]
    assert all(len(row.samples_s) == 2 for row in sweeps if row.is_ok)
    by_the_clock = ("cannot take less", "are more than", "took")  # another program may disturb it
    assert [each for each in refusals(record) if not any(c in each for c in by_the_clock)] == []


def test_a_second_run_measures_nothing_again(bench):
    EXPERIMENTS["output_sweep"](bench)
    rows = bench.recorder.record().rows

    def refuse(*_):
        raise AssertionError("measured again")

    again = replace(bench, harness=Harness(refuse, refuse, refuse))
    EXPERIMENTS["output_sweep"](again)
    assert bench.recorder.record().rows == rows


def test_an_interrupt_leaves_what_was_measured_and_the_sweep_goes_on_there(bench):
    calls = []

    def interrupted(model, tokens, n_new):
        calls.append(tokens.shape[1])
        if tokens.shape[1] == 8:
            raise KeyboardInterrupt
        return bench.harness.generate_fixed(model, tokens, n_new)

    with pytest.raises(KeyboardInterrupt):
        EXPERIMENTS["input_sweep"](
            replace(bench, harness=replace(bench.harness, generate_fixed=interrupted))
        )
    assert [row.n_input for row in bench.recorder.record().rows] == [1]
    EXPERIMENTS["input_sweep"](bench)
    assert [row.n_input for row in bench.recorder.record().rows] == [1, 8, 64]


@pytest.mark.parametrize("where", [1, 8, 64])
def test_out_of_memory_at_any_point_is_a_row_and_the_others_are_measured(bench, where):
    def too_large(model, tokens, n_new):
        if tokens.shape[1] == where:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
        return bench.harness.generate_fixed(model, tokens, n_new)

    n_before = device.memory_errors_alive()
    EXPERIMENTS["input_sweep"](
        replace(bench, harness=replace(bench.harness, generate_fixed=too_large))
    )
    outcomes = {row.n_input: row.outcome for row in bench.recorder.record().rows}
    assert outcomes == {1: "ok", 8: "ok", 64: "ok"} | {where: "out of memory"}
    assert device.memory_errors_alive() == n_before


@pytest.mark.parametrize(
    "answers",
    [lambda *_: None, lambda *_: 0.5, lambda *_: [], lambda *_: [0.0] * 2, lambda *_: ["a"] * 2],
)
def test_a_timer_that_gives_no_times_is_told_what_was_wanted(bench, answers):
    odd = replace(bench, harness=replace(bench.harness, time_runs=answers))
    with pytest.raises(ValueError, match="time_runs was asked for 1 runs and should give a list"):
        EXPERIMENTS["output_sweep"](odd)


def test_a_generation_of_another_length_is_told_what_was_wanted(bench):
    def half(model, tokens, n_new):
        return bench.harness.generate_fixed(model, tokens, n_new)[:, ::2]

    with pytest.raises(ValueError, match=r"it gave \(2, 8\)\. Do its checks"):
        EXPERIMENTS["input_sweep"](
            replace(bench, harness=replace(bench.harness, generate_fixed=half))
        )


def test_a_model_without_room_is_rows_that_say_so(bench, monkeypatch):
    def full(role, profile):
        raise MemoryError("no room for the weights")

    monkeypatch.setattr(zoo, "load_for_timing", full)
    EXPERIMENTS["input_sweep"](bench)
    rows = bench.recorder.record().rows
    assert {row.outcome for row in rows} == {"out of memory"}
    assert {row.note for row in rows} == {"no room for the weights"}


def test_a_point_that_would_take_too_long_is_recorded_as_skipped(bench):
    EXPERIMENTS["input_sweep"](replace(bench, skip_s=1e-9))
    first, *others = bench.recorder.record().rows
    assert first.is_ok
    assert {row.outcome for row in others} == {"skipped"}
    assert "predicted" in others[0].note


@pytest.mark.parametrize("profile", PROFILES.values(), ids=PROFILES)
def test_the_short_profile_has_the_rows_of_the_tables(profile):
    few = short(profile)
    assert few.output_lengths == (1, 4, 16, 64, 256)
    assert set(few.input_lengths) < set(profile.input_lengths)
    assert few.input_lengths[0] == 1
    assert short(GPU80).input_lengths[-1] == 32_768


def arguments(*words):
    parser = argparse.ArgumentParser()
    measure.add_arguments(parser)
    return parser.parse_args(words)


def test_the_command_line_measures_into_a_file(tmp_path, capsys):
    out = tmp_path / "mine.jsonl"
    assert measure.main(arguments("roofline", "--profile", "cpu", "--out", str(out))) == 0
    command = read_record(out).provenance.command
    assert command.startswith("labkit measure roofline --profile cpu --point-seconds 4 ")
    assert command.endswith(" --out mine.jsonl")
    assert "float32" in capsys.readouterr().out


def test_the_command_line_refuses_what_it_does_not_know(tmp_path, capsys):
    out = tmp_path / "mine.jsonl"
    assert measure.main(arguments("speed", "--profile", "cpu", "--out", str(out))) == 2
    known = capsys.readouterr().err.split("there are ")[1].strip().split(", ")
    assert known[:2] == ["all", "roofline"]
    assert set(EXPERIMENTS) < set(known)
    out.write_text("no record\n")
    assert measure.main(arguments("roofline", "--profile", "cpu", "--out", str(out))) == 2
    assert "line 1: not JSON" in capsys.readouterr().err
    assert out.read_text() == "no record\n"


def test_the_roof_is_measured_after_the_other_rows_too(tmp_path, monkeypatch):
    monkeypatch.setattr(profiles, "profile", lambda name: SMALL)
    out = tmp_path / "mine.jsonl"
    words = ("--profile", "cpu", "--point-seconds", "0.01", "--out", str(out))
    for _ in range(2):
        assert measure.main(arguments("roofline", "forward_by_batch", *words)) == 0
    roofs = read_record(out).of("roofline")
    assert [row.setting for row in roofs] == ["", measure.AFTER]
    peaks = [row.counts["peak"] for row in roofs]
    assert machine_of(read_record(out))[0].peak("float32") == max(peaks)


def test_check_prints_the_faults_of_records_and_fails(tmp_path, capsys):
    out = tmp_path / "fast.jsonl"
    assert measure.main(arguments("roofline", "--profile", "cpu", "--out", str(out))) == 0
    capsys.readouterr()
    assert measure.main(arguments("check", str(tmp_path))) in (0, 1)  # 1 in a changed checkout
    assert capsys.readouterr().out.startswith("fast.jsonl: ")
    (tmp_path / "none.jsonl").write_text("no record\n")
    assert measure.main(arguments("check", str(tmp_path / "none.jsonl"))) == 1
    assert "none.jsonl: 1 fault\n" in capsys.readouterr().out


def test_the_command_line_wants_a_file_and_a_gpu_to_cut_down(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert measure.main(arguments("roofline", "--profile", "cpu")) == 2
    assert "--out is missing" in capsys.readouterr().err
    small = ("--profile", "cpu", "--memory-gb", "24", "--out", str(tmp_path / "x.jsonl"))
    assert measure.main(arguments("roofline", *small)) == 2
    assert "needs a GPU" in capsys.readouterr().err


def test_a_record_for_others_says_of_every_row_what_was_measured_around_it(bench):
    EXPERIMENTS["output_sweep"](replace(bench, calibrator=Calibrator(lambda: 1.0), point_s=1e-9))
    rows = bench.recorder.record().of("output_sweep")
    assert {(len(row.samples_s), row.calibration_s) for row in rows} == {(10, (1.0, 1.0))}


def test_a_students_own_runs_are_ten_and_five_of_long_ones(bench):
    EXPERIMENTS["output_sweep"](replace(bench, is_thorough=True, point_s=1e-9))
    assert {len(row.samples_s) for row in bench.recorder.record().of("output_sweep")} == {10}
    assert (bench.least(1.0), replace(bench, is_thorough=True).least(6.0)) == (2, 5)


def test_a_smaller_card_runs_out_of_memory_in_the_record_and_in_the_tables(tmp_path, monkeypatch):
    whole, cuts = Harness(), []

    def on_small_card(model, tokens, n_new):
        if tokens.shape[1] > 8:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 20.00 GiB")
        return whole.generate_fixed(model, tokens, n_new)

    monkeypatch.setattr(experiments, "Harness", lambda: Harness(generate_fixed=on_small_card))
    monkeypatch.setattr(profiles, "profile", lambda name: SMALL)
    monkeypatch.setattr(device, "cut_memory_to", cuts.append)
    out = tmp_path / "memory.jsonl"
    words = ("--memory-gb", "24", "--point-seconds", "0.01", "--out", str(out))
    assert measure.main(arguments("input_sweep", *words)) == 0
    record = read_record(out)
    assert cuts == [record.provenance.memory_gb] == [24.0]
    outcomes = [row.outcome for row in record.of("input_sweep")]
    assert outcomes == ["ok", "ok", "out of memory"]
    assert "cut down to 24 GB" in str(table(record, "input_sweep"))
    assert "out of memory" in str(table(record, "input_sweep"))
    whole_card = replace(
        record,
        provenance=replace(record.provenance, memory_gb=0.0),
        rows=tuple(
            replace(row, outcome="ok", samples_s=(1.0,), peak_bytes=int(row.n_input * 1e9))
            for row in record.of("input_sweep")
        ),
    )
    rows = memory_table(whole_card, [record], (24, 80)).rows
    assert [list(row[2:]) for row in rows] == [
        ["ok", "ok", "ok"],
        ["ok", "ok", "ok"],
        ["out of memory", "ok", "out of memory"],
    ]


def test_the_first_prompts_without_room_are_those_that_lab_2_names():
    rows = memory_table(recorded_results()["throughput-h200"], [], (24, 80)).rows
    first = [next(row[0] for row in rows if row[2 + i] == "out of memory") for i in (0, 1)]
    assert first == ["4,096", "32,768"]
