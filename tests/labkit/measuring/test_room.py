"""Where memory ends in an experiment: a row says so, all is free again, the rest is measured."""

import gc
from dataclasses import replace
from functools import partial

import pytest
import torch
from instances import some_of
from no_room import SAID, Memory

from labkit.labs.cache_benchmark import experiments as cache
from labkit.labs.flash_attention import decode
from labkit.labs.flash_attention import experiments as flash
from labkit.labs.flash_attention.records import BACK_ENDS, Point
from labkit.labs.speculative import experiments as recorded
from labkit.labs.speculative import runs as speculative
from labkit.labs.speculative import scripted
from labkit.labs.throughput import experiments as throughput
from labkit.measuring.bench import Bench
from labkit.measuring.device import memory_errors_alive, rows_in_room
from labkit.measuring.machine import hardware
from labkit.measuring.profiles import CPU, PAIRS
from labkit.measuring.provenance import Provenance
from labkit.measuring.recorder import Recorder
from labkit.measuring.records import OUT_OF_MEMORY, Row

SMALL = replace(
    CPU,
    roles=dict.fromkeys(CPU.roles, "tiny-draft")
    | {"sweep-small": "tiny-untrained", "sweep-older": "tiny-mha"},
    sweep_batch_size=1,
    input_lengths=(1, 8),
    output_lengths=(1, 2),
    forward_batch_sizes=(1, 2),
    cache_lengths=(1, 2),
    long_prompt_length=16,
    long_uncached_lengths=(1, 2),
    n_repeats=1,
    n_warmup=1,
)
ON_CPU = ["plain", "math", "flash"]
BRIEF = {"n_new": 4, "n_per_source": 1, "n_samples": 1}


def fill(bench, rows, **settings):
    bench.fill(rows, **settings)


def eager_pair(bench):
    """Random weights whose acceptance is scripted, by transformers."""
    own = speculative.Samplers.reference()
    task = scripted.Task(n_new=4, n_samples=1)
    rows = scripted.by_transformers(
        "speculation", bench.profile, "one layer", {2: 0.5}, own, task, bench.recorder.is_done
    )
    for row in rows:
        bench.save(row)


def captured_pair(bench):
    """The same as CUDA graphs, which here are no graphs."""
    for row in scripted.scripted(
        replace(SMALL, device="cuda"),
        "one layer",
        {2: 0.5},
        speculative.Samplers.reference(),
        1,
        bench.recorder.is_done,
    ):
        bench.save(row)


EXPERIMENTS = {
    **{f"2 {name}": measure for name, measure in throughput.EXPERIMENTS.items()},
    "3 cache_or_not": partial(fill, rows=cache.cache_or_not, settings=("baseline", "long prompt")),
    "3 multi_turn": partial(fill, rows=cache.multi_turn, n_characters=200, n_new=2),
    "3 invalidation": partial(fill, rows=cache.invalidation, n_characters=200),
    "3 leak": partial(fill, rows=cache.leak, n_characters=600),
    "3 offload": partial(fill, rows=cache.offload, n_steps=2),
    "6 decode_steps": partial(fill, rows=speculative.decode_steps, n_samples=1),
    "6 speculation": partial(
        fill, rows=speculative.speculation, pairs=("one layer",), gammas=(2,), **BRIEF
    ),
    "6 eager pair": eager_pair,
    "6 captured pair": captured_pair,
    "6 regimes": partial(
        fill,
        rows=recorded.regimes,
        pair="one layer",
        gammas=(2,),
        lengths=(4,),
        n_per_source=1,
        n_samples=1,
    ),
    "6 batch_sweep": partial(
        fill, rows=recorded.batch_sweep, pair="one layer", sizes=(1, 2), **BRIEF
    ),
    "6 batch_groups": partial(fill, rows=recorded.batch_groups, pair="one layer", **BRIEF),
    "7 sdpa": partial(fill, rows=flash.sdpa, sizes=flash.Sizes((16, 32), 1, (16,), 1)),
    "7 decode_split": partial(
        fill, rows=decode.decode_split, sizes=decode.Sizes((16, 32), 2, 1, 16, 1, 1)
    ),
}
TRIED = {("onednn_linear", "why_not")}  # once in a process, on matrices of one number


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Plays an experiment in a memory; returns its rows, by key, and what they were when saved."""
    monkeypatch.setitem(PAIRS, "one layer", ("tiny-draft", "tiny-untrained"))
    small = replace(SMALL, pairs=("one layer",))
    monkeypatch.setattr(hardware, "available_memory_bytes", lambda device: 2**20)
    monkeypatch.setattr(speculative, "available_memory_bytes", lambda device: 2**20)
    monkeypatch.setattr(throughput, "_n_fixed", lambda profile: 2)
    monkeypatch.setattr(throughput, "FORWARD_TOKENS", 8)
    monkeypatch.setattr(flash, "_runs_here", lambda profile, name, point: name in ON_CPU)
    monkeypatch.setattr(scripted, "N_BLOCKS", 2)
    monkeypatch.setattr(scripted, "N_ALONE", 2)
    monkeypatch.setattr(scripted, "N_EAGER", 2)
    monkeypatch.setattr(scripted, "KNOWN", ("qwen3",))
    monkeypatch.setattr("labkit.engine.captured.captured", lambda step: step)
    pair = partial(scripted.ScriptedPair, device="cpu")
    monkeypatch.setattr(scripted, "ScriptedPair", lambda name, dtype, n: pair(name, "float32", n))

    def run(name, memory=None):
        path = tmp_path / "record.jsonl"
        path.unlink(missing_ok=True)
        bench = Bench(small, Recorder(path, Provenance.here(small, "test")), point_s=1e-3)
        with memory or Memory() as used:
            EXPERIMENTS[name](bench)
        return {row.key: row for row in bench.recorder.record().rows}, used, bench

    return run


def points(rows):
    """The points of these rows, whether they were measured or not.

    Rows by_source are made of others. Of steps, only the model is known before it is loaded.
    """
    found = [row for row in rows.values() if row.experiment != "by_source"]
    return {
        (*row.key_before[:6], row.setting * (row.experiment != "decode_steps")) for row in found
    }


@pytest.mark.parametrize("name", some_of(EXPERIMENTS, "2 input_sweep", "3 multi_turn", "7 sdpa"))
def test_memory_that_ends_at_any_allocation_is_rows_and_the_other_points_are_measured(name, run):
    wanted, memory, _ = run(name)
    assert OUT_OF_MEMORY not in {row.outcome for row in wanted.values()}
    assert memory.places
    for place in set(memory.places) - TRIED:
        n_before = memory_errors_alive()
        short = Memory(lambda where, n, place=place: where == place and n == 1)
        rows, used, _ = run(name, short)
        assert used.n_failed == 1, place
        assert points(rows) == points(wanted), place
        lost = [row for row in rows.values() if row.outcome == OUT_OF_MEMORY]
        assert lost, place
        assert {row.note for row in lost} == {"CUDA out of memory. Tried to allocate 2.00 GiB."}
        gc.collect()
        assert (memory_errors_alive(), len(used.alive)) == (n_before, 0), place


@pytest.mark.parametrize("name", some_of(EXPERIMENTS, "2 roofline", "3 offload", "7 sdpa"))
def test_without_any_memory_every_point_is_a_row_and_is_measured_once_there_is_room(name, run):
    wanted, _, _ = run(name)
    rows, used, bench = run(name, Memory(lambda where, n: True))
    assert points(rows) == points(wanted)
    assert {row.outcome for row in rows.values()} == {OUT_OF_MEMORY}
    assert f"{len(rows)} of them have no time" in str(bench.recorder)
    gc.collect()
    assert len(used.alive) == 0
    EXPERIMENTS[name](bench)
    again = bench.recorder.record().rows
    assert {row.key for row in again} == set(wanted)
    assert str(bench.recorder) == f"record.jsonl: {len(wanted)} rows"


def test_what_a_measurement_had_is_free_before_its_first_lost_row_is_given():
    rows = [Row("sweep", "-", 1, n, 0, True, outcome="-") for n in (1, 2, 3)]
    with Memory() as memory:

        def measure():
            weights = torch.ones(1000)
            yield replace(rows[0], samples_s=(1.0,), outcome="ok")
            more = weights + 1
            raise torch.OutOfMemoryError(f"{SAID}\n{len(more)}")

        found = rows_in_room(rows, measure)
        assert next(found).is_ok
        assert len(memory.alive) == 1
        lost = next(found)
        gc.collect()
        assert (lost.n_input, lost.outcome, len(memory.alive)) == (2, OUT_OF_MEMORY, 0)
        assert [row.n_input for row in found] == [3]


def test_without_memory_to_try_a_back_end_those_that_run_everywhere_have_rows():
    point = Point(1, 16, False, False)
    with Memory(lambda where, n: True):
        assert [name for name in BACK_ENDS if flash._runs_here(CPU, name, point)] == ON_CPU[:2]
    assert [name for name in BACK_ENDS if flash._runs_here(CPU, name, point)] == ON_CPU


def test_an_error_of_another_kind_ends_the_experiment():
    def measure():
        raise ValueError("an answer of a wrong shape")
        yield

    with pytest.raises(ValueError, match="wrong shape"):
        list(rows_in_room([], measure))
