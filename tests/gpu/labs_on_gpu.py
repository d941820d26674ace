"""Labs 2 and 3 where only a GPU can try them; not collected by pytest, for CI has none.

    python tests/gpu/labs_on_gpu.py > labs_on_gpu.json

Asserts as it goes and prints one JSON summary: offloaded layers with and without overlap, running
out of memory in a sweep and in a curve, CUDA events beside the wall clock, and what a clock reads
that does not wait. Under a minute on an 80 GB card.
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch

from labkit import zoo
from labkit.labs.cache_benchmark import experiments as cache_experiments
from labkit.labs.cache_benchmark.offload import copy_bandwidth, offloaded
from labkit.labs.throughput import experiments
from labkit.measuring.bench import Bench
from labkit.measuring.device import free_device_memory, synchronize
from labkit.measuring.profiles import MachineProfile, detect
from labkit.measuring.provenance import Provenance
from labkit.measuring.recorder import Recorder
from labkit.measuring.records import OUT_OF_MEMORY
from labkit.throughput import time_runs

SMALL = "meta-llama/Llama-3.2-1B"


def main() -> None:
    profile = detect()
    assert profile.device == "cuda", "this script needs a GPU"
    roles = dict.fromkeys(profile.roles, SMALL)
    profile = replace(profile, roles=roles, n_repeats=3, n_warmup=1)
    parts = (offloading, sweep_out_of_memory, curve_out_of_memory, clock_that_does_not_wait)
    print(json.dumps({part.__name__: part(profile) for part in parts}, indent=1))


def offloading(profile: MachineProfile) -> dict:
    """The same logits whatever is offloaded, the memory given up, and what a step then takes."""
    loaded = zoo.load_for_timing("instruct", profile)
    model, layers = loaded.model, range(len(loaded.model.model.layers))
    tokens = torch.arange(1, 10, device="cuda")[None]
    resident, resident_bytes = _logits(model, tokens), torch.cuda.memory_allocated()
    found = {"link_bandwidth": copy_bandwidth(2**27, "cuda"), "none": _step_s(model, tokens)}
    plans = {"half": list(layers)[::2], "neighbours": [3, 4, 5], "all": list(layers)}
    for name, picked in plans.items():
        for overlap in (False, True):
            with offloaded(model, picked, overlap) as n_bytes:
                for _ in range(3):
                    assert torch.equal(_logits(model, tokens), resident), (name, overlap)
                saved = resident_bytes - torch.cuda.memory_allocated()
                one_layer = n_bytes / len(picked)
                assert saved > n_bytes - 2.1 * one_layer, (name, overlap, saved, n_bytes)
                found[f"{name}, {overlap=}"] = _step_s(model, tokens)
            assert torch.equal(_logits(model, tokens), resident), name
    del model, loaded
    return found


def sweep_out_of_memory(profile: MachineProfile) -> dict:
    """A point that is too large becomes a row, its memory comes back, and the sweep goes on."""
    profile = replace(profile, sweep_batch_size=64, input_lengths=(64, 2**20))
    with tempfile.TemporaryDirectory() as folder:
        bench = _bench(profile, Path(folder) / "record.jsonl")
        for name in ("input_sweep", "forward_by_batch"):
            experiments.EXPERIMENTS[name](bench)
        free_device_memory()
        assert torch.cuda.memory_allocated() < 2**26, torch.cuda.memory_allocated()
        record = bench.recorder.record()
    first, large = record.of("input_sweep")
    assert first.is_ok and large.outcome == OUT_OF_MEMORY, (first, large)
    forward = record.of("forward_by_batch")
    assert all(row.is_ok for row in forward)
    for row in (first, *forward):
        assert len(row.events_s) == len(row.samples_s) and row.peak_bytes > 2e9
        for event_s, sample_s in zip(row.events_s, row.samples_s, strict=True):
            assert event_s <= 1.02 * sample_s + 1e-4, row
    shown = forward[-1]
    return {"wall_s": shown.samples_s, "events_s": shown.events_s, "peak_bytes": shown.peak_bytes}


def curve_out_of_memory(profile: MachineProfile) -> dict:
    """Lab 3's curves: what does not fit is said in its rows, and the next curve is measured."""
    profile = replace(profile, cache_lengths=(1, 4), long_uncached_lengths=(1, 2))
    total = torch.cuda.get_device_properties(0).total_memory
    free_device_memory()
    torch.cuda.set_per_process_memory_fraction(3.2e9 / total)  # the weights are 2.5 GB
    try:
        rows = list(cache_experiments.cache_or_not(profile, ("long prompt", "smaller")))
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    outcomes = {(row.setting, row.use_cache, row.outcome) for row in rows}
    assert ("long prompt", True, OUT_OF_MEMORY) in outcomes, outcomes
    assert {row.outcome for row in rows if row.setting == "smaller"} == {"ok"}, outcomes
    return {"outcomes": sorted(map(str, outcomes))}


def clock_that_does_not_wait(profile: MachineProfile) -> dict:
    """A large product: what it takes to queue, and to compute."""
    left = torch.randn(8192, 8192, device="cuda", dtype=getattr(torch, profile.dtype))
    found = {}
    for name, wait in {"queued": lambda: None, "computed": synchronize}.items():
        synchronize()
        found[name] = min(time_runs(lambda: left @ left, time.perf_counter, wait, 3, 5))
    assert found["computed"] > 5 * found["queued"], found
    return found


def _bench(profile: MachineProfile, path: Path) -> Bench:
    recorder = Recorder(path, Provenance.here(profile, "labs_on_gpu"))
    return Bench(profile, recorder, point_s=0.5, skip_s=float("inf"))


@torch.inference_mode()
def _logits(model: Any, tokens: torch.Tensor) -> torch.Tensor:
    return model(tokens).logits


def _step_s(model: Any, tokens: torch.Tensor) -> float:
    def step() -> torch.Tensor:
        return _logits(model, tokens[:, :1])

    return min(time_runs(step, time.perf_counter, synchronize, 2, 5))


if __name__ == "__main__":
    argparse.ArgumentParser(description=__doc__).parse_args()
    main()
