"""Lab 7's experiment measures what it says, goes on where it stopped, and survives full memory."""

import pytest
import torch

from labkit import flash_attention as flash
from labkit.labs.flash_attention import decode, experiments
from labkit.labs.flash_attention.experiments import Sizes, plain, sdpa
from labkit.labs.flash_attention.records import Point, by_back_end, computing_s, moving_s, points
from labkit.measuring.profiles import CPU
from labkit.measuring.provenance import Provenance
from labkit.measuring.recorder import Recorder
from labkit.measuring.records import OUT_OF_MEMORY

SMALL = Sizes((48, 64), 2, (16,), 2)


@pytest.fixture(scope="module")
def recorder(tmp_path_factory):
    path = tmp_path_factory.mktemp("flash") / "flash.jsonl"
    recorder = Recorder(path, Provenance.here(CPU, "a test"))
    for row in sdpa(CPU, SMALL):
        recorder.save(row)
    return recorder


def test_every_point_is_there_for_each_back_end(recorder):
    record = recorder.record()
    assert len(record.of("roofline")) == 1
    assert [str(point) for point in points(record)] == [
        "D 16", "D 16, and back", "D 16, causal", "D 16, causal, and back",
    ]  # fmt: skip
    for point in points(record):
        rows = by_back_end(record, point)
        assert list(rows) == ["plain", "math", "flash"]
        assert all(list(each) == [48, 64] for each in rows.values())
        assert all(len(row.samples_s) == 2 for each in rows.values() for row in each.values())


def test_what_is_done_is_not_measured_again(recorder):
    assert list(sdpa(CPU, SMALL, is_done=recorder.is_done)) == []


def test_peak_memory_tells_scores_from_none(recorder):
    record = recorder.record()
    forward = by_back_end(record, Point(2, 16, False, False))
    for n_rows in SMALL.lengths:
        matrix, scores = 4 * 2 * n_rows * 16, 4 * 2 * n_rows**2
        assert forward["plain"][n_rows].peak_bytes >= 3 * matrix + 2 * scores
        tiled = forward["flash"][n_rows].peak_bytes
        assert 4 * matrix <= tiled <= 4 * matrix + 3 * 4 * 2 * n_rows


def test_results_that_are_gone_do_not_count():
    numbers = torch.zeros(1000)

    def run():
        for _ in range(5):
            numbers + 1

    assert experiments._peak_of(run, [numbers]) == 2 * numbers.nbytes


@pytest.mark.parametrize("is_causal", [False, True])
def test_all_ways_give_the_same(is_causal):
    queries, keys, values = torch.randn(3, 1, 2, 40, 16, generator=torch.Generator().manual_seed(0))
    wanted = plain(queries, keys, values, is_causal)
    for name in ("math", "flash"):
        found = experiments._attention(name, queries)(queries, keys, values, is_causal)
        torch.testing.assert_close(found, wanted, atol=1e-5, rtol=1e-5)


def test_a_back_end_that_runs_out_of_memory_is_recorded_and_the_others_go_on(monkeypatch):
    def too_large(queries, *rest):
        if queries.shape[2] == 48:
            raise torch.OutOfMemoryError("no room\nat all")
        return plain(queries, *rest)

    monkeypatch.setattr(experiments, "plain", too_large)
    rows = [row for row in sdpa(CPU, Sizes((48,), 1, (16,), 1)) if row.experiment == "sdpa"]
    outcomes = {(row.model, row.outcome) for row in rows}
    assert outcomes == {("plain", OUT_OF_MEMORY), ("math", "ok"), ("flash", "ok")}


def test_floors_come_from_the_measured_machine(recorder):
    record = recorder.record()
    machine = record.of("roofline")[0].counts
    forward, back = Point(2, 16, False, False), Point(2, 16, True, True)
    assert forward.flops(64) == 2 * 4 * 64**2 * 16
    assert back.flops(64) == 3.5 * forward.flops(64) / 2
    assert computing_s(record, forward, 64) == forward.flops(64) / machine["peak"]
    n_bytes = 4 * 2 * sum(flash.flash_2_traffic(64, 16, 8))
    found = moving_s(record, forward, 64, flash.flash_2_traffic, 8)
    assert found == n_bytes / machine["bandwidth"]


def test_one_query_over_a_cache_is_measured_by_its_length_once():
    sizes = decode.Sizes((32, 64), 4, 2, 16, n_layers=3, n_samples=2)
    rows = [row for row in decode.decode_split(CPU, sizes) if row.experiment == "decode_split"]
    assert [(row.model, row.n_input, row.setting) for row in rows] == [
        ("pytorch", 32, ""), ("pytorch", 64, ""),
    ]  # fmt: skip
    assert [row.counts["cache_bytes"] for row in rows] == [2 * 2 * n * 16 * 4 for n in (32, 64)]
    assert max(row.counts["error"] for row in rows) < 1e-6
    done = {row.key for row in rows}
    assert not [row for row in decode.decode_split(CPU, sizes, is_done=done.__contains__)
                if row.experiment == "decode_split"]  # fmt: skip
    assert [decode.setting(n) for n in (0, *decode.PARTS)] == ["", "1 part", "8 parts", "32 parts"]
