"""Records that others will read: a disturbed machine shows, and so does what is missing."""

import subprocess
from dataclasses import replace

import pytest

from labkit.labs.measure import experiments
from labkit.measuring.audit import disagreements, faults_of
from labkit.measuring.calibration import Calibrator, computation, drifts
from labkit.measuring.machine import here
from labkit.measuring.provenance import Provenance
from labkit.measuring.records import Record, Row, recorded_results

HERE = Provenance(
    "an example", "", "2.0", "5.0", "3.11", "0.1.0", "float32", "cpu", 1, "measure", "today", 0
)
HERE = replace(HERE, commit="0.1.0+lab2.1.0123456789ab")
ROOFLINE = Row(
    "roofline", "cpu", 1, 0, 0, False, outcome="counted",
    counts={"bandwidth": 1e10, "peak": 1e11, "memory_bytes": 8e9, "float32": 1e11},
)  # fmt: skip


def row(n_new, seconds, n_samples=10, calibration_s=(1.0, 1.0)):
    samples = (seconds,) * n_samples
    point = ("output_sweep", "tiny-target", 1, 8, n_new, True, samples)
    return Row(*point, outcome="ok", calibration_s=calibration_s)


def test_the_fixed_computation_takes_some_time():
    assert computation("cpu")() > 0


def test_rows_say_what_the_computation_took_around_them():
    times = iter((1.0, 1.0, 1.0, 1.5, 1.0))
    now = iter(range(0, 1000, 100))
    calibrator = Calibrator(lambda: next(times), clock=lambda: next(now))
    calm, disturbed, after = (calibrator.around(row(n, 1.0, calibration_s=())) for n in (1, 2, 3))
    assert [calm.calibration_s, disturbed.calibration_s, after.calibration_s] == [
        (1.0, 1.0),
        (1.0, 1.0),
        (1.0, 1.5),
    ]
    assert calibrator.drift(after) == pytest.approx(0.5)
    assert [each for each, _ in drifts(Record(HERE, (calm, disturbed, after)))] == [after]


def test_rows_of_one_run_have_the_same_times_around_them():
    calibrator = Calibrator(
        iter((1.0, 2.0, 9.0)).__next__, clock=iter((0, 100, 100, 101, 101)).__next__
    )
    both = [calibrator.around(row(n, 5.0, calibration_s=())) for n in (1, 2)]
    assert [each.calibration_s for each in both] == [(1.0, 2.0)] * 2


@pytest.mark.parametrize(
    ("changed", "rows", "fault"),
    [
        ({}, [row(1, 0.1), row(2, 0.2)], None),
        ({}, [row(8, 6.0, n_samples=5)], None),
        ({"commit": ""}, [row(1, 0.1)], "from which commit"),
        ({"commit": "01+changed"}, [row(1, 0.1)], "from changed files, after commit 01"),
        ({"commit": "0123456"}, [row(1, 0.1)], "no commit '0123456'; 8 to 40 hexadecimal digits"),
        ({"command": "labkit measure roofline"}, [row(1, 0.1)], "does not name output_sweep"),
        ({"command": "labkit measure all --out x"}, [row(1, 0.1)], None),
        ({"command": "lab 2"}, [row(1, 0.1)], None),
        ({"driver": "580"}, [row(1, 0.1)], "the GPU's clock"),
        ({}, [row(1, 0.1, n_samples=9)], "9 of the 10 samples"),
        ({}, [row(8, 6.0, n_samples=4)], "4 of the 5 samples"),
        ({}, [row(1, 0.1, calibration_s=())], "whether the machine was disturbed"),
        ({}, [row(1, 0.1), row(2, 0.2, calibration_s=(1.0, 1.2))], "20% slower than at its best"),
        ({}, [row(1, 0.9), row(2, 0.2)], "cannot take less than 1 in 0.9 s"),
    ],
)
def test_a_record_is_told_what_is_wrong_with_it(changed, rows, fault):
    record = Record(replace(HERE, **changed), (ROOFLINE, *rows))
    faults = faults_of(record, {"roofline", "output_sweep"})
    assert len(faults) == bool(fault)
    assert not fault or fault in faults[0]


def test_a_commit_that_the_checkout_does_not_have_is_seen(tmp_path, monkeypatch):
    monkeypatch.setattr(here, "ROOT", tmp_path)
    assert here.has_commit("0123456789ab")
    made = ("init --quiet", "-c user.name=a -c user.email=a@b commit --quiet --allow-empty -m a")
    for words in made:
        subprocess.run(["git", *words.split()], cwd=tmp_path, check=True)
    said = subprocess.run(
        ["git", "rev-parse", "HEAD"], cwd=tmp_path, capture_output=True, text=True
    )
    commit = said.stdout.strip()
    assert here.has_commit(commit) and here.has_commit(commit[:8])
    assert not here.has_commit(commit[:3] + commit[4:])


def test_records_of_the_kit_have_no_fault():
    known = experiments()
    found = recorded_results("*.jsonl").items()
    assert len(found) >= 12
    assert [(name, fault) for name, record in found for fault in faults_of(record, known)] == []


def test_equal_settings_of_one_record_agree_within_a_tenth():
    other = replace(row(2, 0.2), experiment="three_models")
    for seconds, n_faults in ((0.219, 0), (0.221, 1), (0.181, 1)):
        again = replace(other, samples_s=(seconds,) * 10)
        record = Record(HERE, (ROOFLINE, row(2, 0.2), again))
        assert len(disagreements(record)) == n_faults
    apart = replace(other, samples_s=(0.4,) * 10, setting="round 2")
    elsewhere = replace(other, samples_s=(0.4,) * 10, counts={"n_cached": 9})
    assert disagreements(Record(HERE, (ROOFLINE, row(2, 0.2), apart, elsewhere))) == []


def test_no_row_lies_above_its_measured_roof_and_the_best_roof_counts():
    forward = Row("pass", "tiny-target", 16, 256, 0, True, (1.0,) * 10, calibration_s=(1.0, 1.0))
    record = Record(HERE, (ROOFLINE, forward))
    (fault,) = faults_of(record)
    assert "above the measured roof, which allows" in fault
    best = {"peak": 2e11, "float32": 2e11}
    after = replace(ROOFLINE, setting="after", counts=ROOFLINE.counts | best)
    for rows in ((ROOFLINE, after), (after, replace(ROOFLINE, setting="after"))):
        assert faults_of(Record(HERE, (*rows, forward))) == []
    card = replace(HERE, driver="580", clock="1 MHz", dtype="bfloat16")
    counts = {"bandwidth": 1e12, "peak": 7e14, "memory_bytes": 1e11, "bfloat16": 7e14}
    roof = replace(ROOFLINE, note="H200-SXM", counts=counts)
    step = Row("launches", "Qwen/Qwen3-8B", 1, 1, 0, True, (0.01,) * 10, calibration_s=(1.0, 1.0))
    (fault,) = faults_of(Record(card, (roof, step)))
    assert "above the measured roof" in fault
    assert faults_of(Record(card, (replace(roof, counts=counts | {"bandwidth": 2e12}), step))) == []
