"""`labkit measure serving` at its smallest, on a CPU: its rows, and how it goes on."""

import re
from dataclasses import replace

import pytest
import torch

from labkit.engine.weights import DecoderShape, weights_of
from labkit.labs.batching import experiments
from labkit.labs.batching.experiments import serving
from labkit.labs.batching.measured import cache, costs, link, overlap, sizes
from labkit.labs.batching.measured.cache import PACES, SentCache
from labkit.measuring.bench import Bench
from labkit.measuring.physics import refusals
from labkit.measuring.profiles import CPU
from labkit.measuring.provenance import Provenance
from labkit.measuring.recorder import Recorder
from labkit.measuring.records import Record
from labkit.zoo.shape import build

HERE = Provenance.here(CPU, "a test")
SMALL = replace(CPU, roles={**CPU.roles, sizes.ROLE: "tiny-draft"})


def all_rows(models):
    return [
        *costs.cost_rows(models), *link.link_rows(models), *overlap.overlap_rows(models),
        *overlap.second_token_rows(models),
    ]  # fmt: skip


def test_on_one_device_it_measures_what_can_be_and_says_what_is_missing(tmp_path, capsys):
    recorder = Recorder(tmp_path / "serving.jsonl", HERE)
    Bench(SMALL, recorder).fill(serving, n_samples=2)
    said = capsys.readouterr().out
    assert said.startswith("This machine has no GPU: the rows kv_transfer by peer copy and NCCL,")
    rows = [row for row in recorder.record().rows if row.experiment != "served"]
    wanted = [
        row.key
        for row in all_rows(sizes.Models(SMALL))
        if row.setting.startswith("pinned")
        or not re.search("^(peer|NCCL)|by (peer copy|NCCL)$|^sent", row.setting)
    ]
    assert [row.key for row in rows] == wanted
    assert all(row.is_ok and len(row.samples_s) == 2 for row in rows)
    assert refusals(Record(HERE, rows)) == []


def test_it_goes_on_where_it_stopped(tmp_path, monkeypatch):
    path = tmp_path / "serving.jsonl"
    Bench(SMALL, Recorder(path, HERE)).fill(serving, n_samples=2)
    lines = path.read_text("utf-8").splitlines(keepends=True)
    path.write_text("".join(lines[:5]), "utf-8")
    recorder = Recorder(path, HERE)
    assert len(list(serving(SMALL, n_samples=2, is_done=recorder.is_done))) == len(lines) - 5
    path.write_text("".join(lines), "utf-8")
    monkeypatch.setattr(sizes, "build", None)  # nothing is made when all is done
    assert list(serving(SMALL, n_samples=2, is_done=Recorder(path, HERE).is_done)) == []


def test_two_devices_give_every_row():
    every = list(serving(SMALL, n_samples=1, n_devices=2))
    rows = [row for row in every if row.experiment != "served"]
    assert len(rows) < len(every)
    assert {row.key for row in rows} == {row.key for row in all_rows(sizes.Models(SMALL))}
    assert all(row.is_ok for row in rows)


def test_what_has_no_room_says_so(monkeypatch):
    monkeypatch.setattr(sizes, "CPU", replace(sizes.CPU, room=32))
    rows = list(costs.costs(sizes.Models(SMALL), 1, lambda key: False))
    lost = [row for row in rows if not row.is_ok]
    assert {row.outcome for row in lost} == {"no room"}
    assert {row.note for row in lost} == {"the pages have room for 32 tokens"}
    assert 0 < len(lost) < len(rows)


@pytest.mark.parametrize("pace", PACES)
def test_a_cache_arrives_at_its_place(pace):
    shape = DecoderShape.of(build("tiny-draft", "cpu", torch.float32).config)
    source, target = (SentCache.of(shape, 64, torch.float32, "cpu") for _ in range(2))
    expected = [each.clone() for each in source.pieces(pace, 32)]
    if pace == cache.GATHERED:
        expected = source.pool[:, source.rows[:32]].clone()
    untouched = target.pool[:, target.rows[32:]].clone()
    assert link.Copied(source, target, is_pinned=False)(pace, 32) > 0
    if pace == cache.GATHERED:
        assert torch.equal(target.pool[:, target.rows[:32]], expected)
        assert torch.equal(target.pool[:, target.rows[32:]], untouched)
    else:
        for piece, wanted in zip(target.pieces(pace, 32), expected, strict=True):
            assert torch.equal(piece, wanted)
    n_bytes = 32 * costs.token_bytes(shape, 4)
    assert sum(piece.nbytes for piece in target.pieces(pace, 32)) == n_bytes


@pytest.mark.parametrize("setting", [overlap.HERE, overlap.AFTER, overlap.DURING])
def test_a_request_that_changes_its_gpu_writes_the_same_text(setting):
    models = sizes.Models(SMALL)
    tokens = torch.arange(3, 36)
    with models.decoder("cpu", 64) as here, models.decoder("cpu", 64) as far:
        made, seconds = overlap.HandOver(here, far)(tokens, setting)
        here.pages.release(0)
        here.pages.reserve(0, 48)
        (first,) = here.step({}, {0: tokens})
        assert (made, seconds > 0) == ([first, here.step({0: first})[0]], True)


def test_the_work_of_a_pass_is_that_of_its_matrices_and_of_attention():
    weights = weights_of(build("tiny-draft", "cpu", torch.float32), 64)
    shape, layer = weights.shape, weights.layers[0]
    matrices = sum(m.numel() for m in (layer.qkv, layer.output, layer.gate_up, layer.down))
    pairs = 4 * shape.n_heads * shape.head_dim
    assert shape.n_layers == 1
    found = costs.work_of(weights, [9], [3])
    flops = 2 * (4 * matrices + 2 * weights.head.numel()) + pairs * (10 + 6)
    moved = weights.step_bytes + (9 + 4) * costs.token_bytes(shape, 4)
    assert found == {"flops": flops, "moved_bytes": moved}


def test_it_is_found_by_its_name():
    assert list(experiments.EXPERIMENTS) == ["serving"]
