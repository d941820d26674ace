"""Records that others will read: a disturbed machine shows, and so does what is missing."""

from dataclasses import replace

import pytest

from labkit.measuring.audit import faults_of
from labkit.measuring.calibration import Calibrator, computation, drifts
from labkit.measuring.provenance import Provenance
from labkit.measuring.records import Record, Row

HERE = Provenance(
    "an example", "", "2.0", "5.0", "3.11", "0.1.0", "float32", "cpu", 1, "measure", "today", 0
)
HERE = replace(HERE, commit="0123456789ab")
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
        ({"driver": "580"}, [row(1, 0.1)], "the GPU's clock"),
        ({}, [row(1, 0.1, n_samples=9)], "9 of the 10 samples"),
        ({}, [row(8, 6.0, n_samples=4)], "4 of the 5 samples"),
        ({}, [row(1, 0.1, calibration_s=())], "whether the machine was disturbed"),
        ({}, [row(1, 0.1), row(2, 0.2, calibration_s=(1.0, 1.2))], "20% slower than at its best"),
        ({}, [row(1, 0.9), row(2, 0.2)], "cannot take less than 1 in 0.9 s"),
    ],
)
def test_a_record_is_told_what_is_wrong_with_it(changed, rows, fault):
    faults = faults_of(Record(replace(HERE, **changed), (ROOFLINE, *rows)))
    assert len(faults) == bool(fault)
    assert not fault or fault in faults[0]
