"""Records: nothing measured is lost, nothing unlike is mixed, each fault has a line and field."""

import json
from dataclasses import asdict, replace

import pytest

from labkit.measuring.profiles import CPU
from labkit.measuring.recorder import Recorder
from labkit.measuring.records import Provenance, RecordError, Row, read_record, recorded_results

HERE = Provenance(
    device="a processor",
    driver="",
    torch="2.0",
    transformers="5.0",
    python="3.11",
    labkit="0.1.0",
    dtype="float32",
    profile="cpu",
    n_threads=2,
    command="labkit measure input_sweep",
    date="2026-01-01T00:00:00+00:00",
    seed=0,
)
ROW = Row("input_sweep", "tiny-target", 4, 64, 16, True, (0.5, 0.25, 1.0), counts={"tokens": 3})
LARGE = Row("input_sweep", "tiny-target", 4, 4096, 16, True, outcome="out of memory")


@pytest.fixture
def path(tmp_path):
    return tmp_path / "sub" / "record.jsonl"


def lines(path):
    return path.read_text().splitlines()


def test_rows_come_back_as_they_were_saved(path):
    recorder = Recorder(path, HERE)
    recorder.save(ROW)
    recorder.save(LARGE)
    record = read_record(path)
    assert record.provenance == HERE
    assert record.rows == (ROW, LARGE)
    assert recorder.record() == record


def test_each_row_is_on_the_disk_when_save_returns(path):
    recorder = Recorder(path, HERE)
    for i in range(3):
        recorder.save(replace(ROW, n_input=i + 1))
        assert len(read_record(path).rows) == i + 1


def test_a_recorder_knows_what_is_done_and_goes_on_behind_a_torn_line(path):
    Recorder(path, HERE).save(ROW)
    with path.open("a") as file:
        file.write('{"experiment": "input_sweep", "model": "tiny')
    recorder = Recorder(path, HERE)
    assert recorder.is_done(ROW.key)
    assert not recorder.is_done(LARGE.key)
    recorder.save(LARGE)
    assert read_record(path).rows == (ROW, LARGE)


def test_a_last_line_that_only_lacks_its_end_counts(path):
    Recorder(path, HERE).save(ROW)
    path.write_text(path.read_text().rstrip("\n"))
    assert read_record(path).rows == (ROW,)
    Recorder(path, HERE).save(LARGE)
    assert read_record(path).rows == (ROW, LARGE)


def test_of_a_point_measured_twice_the_later_row_counts(path):
    recorder = Recorder(path, HERE)
    later = replace(ROW, samples_s=(2.0,))
    for row in (ROW, LARGE, later):
        recorder.save(row)
    assert read_record(path).rows == (LARGE, later)


@pytest.mark.parametrize(
    ("field", "value"),
    [("device", "another"), ("dtype", "float16"), ("torch", "2.1"), ("labkit", "9"),
     ("profile", "t4"), ("n_threads", 8)],
)  # fmt: skip
def test_numbers_from_elsewhere_do_not_go_into_the_same_file(path, field, value):
    Recorder(path, HERE).save(ROW)
    with pytest.raises(RecordError, match=rf"{field}.*another file"):
        Recorder(path, replace(HERE, **{field: value}))
    assert len(lines(path)) == 2


def test_another_command_or_day_may_go_on(path):
    Recorder(path, HERE).save(ROW)
    assert Recorder(path, replace(HERE, command="again", date="later")).is_done(ROW.key)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"samples_s": ["fast"]}, r"line 2.*'samples_s' should be a number, got 'fast'"),
        ({"batch_size": "4"}, r"line 2.*'batch_size' should be a number, got '4'"),
        ({"batch_size": True}, r"line 2.*'batch_size'"),
        ({"use_cache": 1}, r"line 2.*'use_cache' should be a bool"),
        ({"n_new": -1}, r"line 2.*n_new must be at least 0"),
        ({"samples_s": [0.0]}, r"line 2.*above 0"),
        ({"samples_s": [float("nan")]}, r"line 2.*above 0"),
        ({"samples_s": []}, r"line 2.*exactly when"),
        ({"speed": 3}, r"line 2.*no field is called 'speed'"),
        ({"counts": {"tokens": "3"}}, r"line 2.*'counts'"),
        ({"counts": {"tokens": float("nan")}}, r"line 2.*counts are numbers from 0.*tokens = nan"),
        ({"counts": {"tokens": -3}}, r"line 2.*counts are numbers from 0.*tokens = -3"),
        ({"peak_bytes": -1}, r"line 2.*peak_bytes must be at least 0, got -1"),
        ({"model": None}, r"line 2.*'model'"),
    ],
)
def test_a_faulty_row_is_named_by_line_and_field(path, change, message):
    Recorder(path, HERE).save(ROW)
    head, row = lines(path)
    path.write_text(f"{head}\n{json.dumps(json.loads(row) | change)}\n")
    with pytest.raises(RecordError, match=message):
        read_record(path)


def test_a_missing_field_is_named(path):
    Recorder(path, HERE).save(ROW)
    head, row = lines(path)
    short = {name: value for name, value in json.loads(row).items() if name != "n_input"}
    path.write_text(f"{head}\n{json.dumps(short)}\n")
    with pytest.raises(RecordError, match=r"line 2: the field 'n_input' is missing"):
        read_record(path)


@pytest.mark.parametrize(
    ("first", "message"),
    [
        ("", "is empty"),
        ("not JSON\n", "line 1: not JSON"),
        ('{"format": 1, "proven', "line 1 is torn.*delete it or name another"),
        ("[1]\n", "line 1: wanted an object"),
        ('{"format": 2, "provenance": {}}\n', "format 1, got 2"),
        ('{"rows": 3}\n', "got None"),
        ('{"format": 1, "provenance": {"device": "x"}}\n', "provenance: the field 'driver'"),
    ],
)
def test_a_file_that_is_no_record_says_why(tmp_path, first, message):
    path = tmp_path / "other.jsonl"
    path.write_text(first)
    with pytest.raises(RecordError, match=message):
        read_record(path)
    if first:
        with pytest.raises(RecordError, match=message):
            Recorder(path, HERE)
        assert path.read_text() == first


def test_a_folder_is_no_record(tmp_path):
    for read in (read_record, lambda path: Recorder(path, HERE)):
        with pytest.raises(RecordError, match="is a folder: name a file in it"):
            read(tmp_path)


def test_a_broken_line_in_the_middle_is_no_torn_end(path):
    Recorder(path, HERE).save(ROW)
    with path.open("a") as file:
        file.write('{"exp\n')
    with pytest.raises(RecordError, match="line 3: not JSON"):
        read_record(path)


def test_median_quartiles_and_rate_of_a_row():
    assert ROW.time_s == 0.5
    assert ROW.spread_s == (0.375, 0.75)
    assert ROW.tokens_per_s == 4 * 16 / 0.5
    assert replace(ROW, n_new=0).tokens_per_s is None
    assert (LARGE.time_s, LARGE.spread_s, LARGE.tokens_per_s) == (None, None, None)


def test_provenance_of_this_machine_is_complete():
    here = Provenance.here(CPU, "labkit measure", seed=3)
    empty = {name for name, value in asdict(here).items() if value == ""}
    assert {"driver"} <= empty <= {"driver", "clock", "commit"}
    assert (here.dtype, here.profile, here.seed) == ("float32", "cpu", 3)


def test_the_records_of_the_kit_can_be_read():
    found = recorded_results("throughput-*.jsonl")
    assert {"throughput-cpu", "throughput-h100"} <= found.keys()
    lacking = {"throughput-h100": {"input_sweep"}, "throughput-h200": {"three_models"}}
    wanted = {"input_sweep", "output_sweep", "three_models", "forward_by_batch"}
    for name, record in found.items():
        assert {row.experiment for row in record.rows} >= wanted - lacking.get(name, set())
