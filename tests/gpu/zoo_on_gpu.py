"""The zoo and the hardware facts on a real GPU; not collected by pytest, for CI has none.

    python tests/gpu/zoo_on_gpu.py > zoo_on_gpu.json

Asserts as it goes and prints one JSON summary: what the card says of itself against the table,
seconds and peak memory of building each shape, a decode step beside its floor, and the tiny pair
on the GPU against the CPU in both 16-bit dtypes. About a minute on an 80 GB card. With --device cpu
and a small model it runs anywhere, as a check of the script itself.
"""

from __future__ import annotations

import argparse
import copy
import json
import platform
import sys
import time

import torch
import transformers

from labkit import zoo
from labkit.measuring.machine import detected, device_memory, hardware
from labkit.measuring.profiles import sixteen_bit_dtype
from labkit.measuring.roofline import BYTES, pass_floor
from labkit.models.facts import models
from labkit.models.tiny import facts_of
from labkit.zoo import shape

SLACK_BYTES = 2**28  # workspaces, and an untied output head that lives until it is tied


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--models", nargs="*", help="shapes to build; by default all that fit")
    args = parser.parse_args()
    dtype = _dtype(args.device)
    names = args.models or _fitting(args.device, dtype)
    summary = {
        "command": " ".join(sys.argv),
        "versions": {
            "python": platform.python_version(),
            "torch": torch.__version__,
            "transformers": transformers.__version__,
            "cuda": torch.version.cuda,
        },
        "profile": zoo.profile().name,
        "dtype": dtype,
        "machine": str(detected.detect()),
        "facts": check_facts(),
        "roofline": roofline(args.device),
        "seed": check_seed(args.device),
        "shapes": {name: build_and_step(name, args.device, dtype) for name in names},
        "pair": {name: compare_pair(args.device, name) for name in ("float32", "float16", dtype)},
    }
    print(json.dumps(summary, indent=1))


def check_facts() -> dict:
    """The card against its row of the table; every fact has to agree."""
    check = hardware.check_facts()
    print(check, file=sys.stderr)
    assert check.agrees, check
    rows = {row.fact: {"table": row.table, "here": row.here} for row in check.rows}
    return {"card": check.card, "row": check.fact_name, "facts": rows}


def roofline(device: str) -> dict:
    measured = hardware.measure_roofline(device)
    print(measured, file=sys.stderr)
    return {"bandwidth": measured.bandwidth, "peaks": dict(measured.peaks)}


def check_seed(device: str) -> bool:
    """One seed gives one model, and no random state changes."""
    place = torch.device(device)
    state = torch.cuda.get_rng_state if place.type == "cuda" else torch.get_rng_state
    before, on_host = state(), torch.get_rng_state()
    first, again = (shape.build("tiny-draft", device, torch.float32, seed=5) for _ in range(2))
    assert torch.equal(before, state())
    assert torch.equal(on_host, torch.get_rng_state())
    for one, other in zip(first.parameters(), again.parameters(), strict=True):
        assert one.device.type == place.type
        assert torch.equal(one, other)
    return True


def build_and_step(name: str, device: str, dtype: str) -> dict:
    """Build a shape with random weights where it will run, and time a decode step of it."""
    facts = facts_of(name)
    weights_bytes = facts["params_exact"] * BYTES[dtype]
    on_gpu = device.startswith("cuda")
    if on_gpu:
        torch.cuda.empty_cache()
        torch.cuda.reset_peak_memory_stats()
    start = time.perf_counter()
    loaded = zoo.load(name, weights="random", device=device, dtype=dtype)
    _wait(device)
    build_s = time.perf_counter() - start
    peak_bytes = torch.cuda.max_memory_allocated() if on_gpu else None
    head_bytes = facts["vocab_size"] * facts["hidden_size"] * BYTES[dtype]
    assert peak_bytes is None or peak_bytes <= weights_bytes + head_bytes + SLACK_BYTES, peak_bytes
    assert loaded.n_params == facts["params_exact"]
    check_buffers(loaded.model)
    step_s = time_step(loaded.model, device)
    floor_s = None
    card = detected.detect().cards[0].fact_name if on_gpu else None
    if card is not None:
        floor_s = pass_floor(card, name, 1, 64, dtype=dtype).seconds
        assert facts["params_exact"] < 1e9 or step_s >= floor_s, (step_s, floor_s)
    row = {"build_s": build_s, "peak_bytes": peak_bytes, "weights_bytes": weights_bytes}
    row |= {"step_ms": step_s * 1e3, "floor_ms": floor_s and floor_s * 1e3}
    print(name, row, file=sys.stderr)
    return row


@torch.no_grad()
def check_buffers(model: torch.nn.Module) -> None:
    """Rotary frequencies and the like are not in any file: compare with a layer made on the CPU."""
    for name, module in model.named_modules():
        if "RotaryEmbedding" in type(module).__name__:
            expected = dict(type(module)(model.config).named_buffers())
            for key, buffer in module.named_buffers():
                torch.testing.assert_close(buffer.cpu(), expected[key], msg=f"{name}.{key}")


@torch.no_grad()
def time_step(model: torch.nn.Module, device: str, n_steps: int = 8) -> float:
    """Seconds of the fastest of a few decode steps after a prompt of 56; logits are finite."""
    tokens = torch.zeros(1, 56, dtype=torch.long, device=device)
    cache = model(tokens, use_cache=True).past_key_values
    samples = []
    for _ in range(n_steps):
        _wait(device)
        start = time.perf_counter()
        logits = model(tokens[:, :1], past_key_values=cache, use_cache=True).logits
        _wait(device)
        samples.append(time.perf_counter() - start)
    assert torch.isfinite(logits).all()
    return min(samples)


@torch.no_grad()
def compare_pair(device: str, dtype: str) -> dict:
    """The tiny target and draft on the device against float32 on the CPU: largest difference."""
    found = {}
    for name in ("tiny-target", "tiny-draft"):
        exact, here, weights = _on_both(name, device, dtype)
        tokens = torch.randint(4096, (2, 64), generator=torch.Generator().manual_seed(0))
        expected = exact.model(tokens).logits
        logits = here.model(tokens.to(device)).logits.float().cpu()
        error = (logits - expected).abs().max().item()
        scale = expected.abs().max().item()
        tolerance = {"float32": 1e-3, "float16": 2e-2, "bfloat16": 1e-1}[dtype]
        assert error <= tolerance * scale, (name, dtype, error, scale)
        same = (logits.argmax(-1) == expected.argmax(-1)).float().mean().item()
        found[name] = {"weights": weights, "max_error": error, "max_logit": scale, "same_top": same}
    return found


def _on_both(name: str, device: str, dtype: str) -> tuple[zoo.LoadedModel, zoo.LoadedModel, str]:
    """A model on the CPU and on the device; the same random one while none is shipped."""
    try:
        exact = zoo.load(name, device="cpu", dtype="float32")
        return exact, zoo.load(name, device=device, dtype=dtype), exact.weights
    except zoo.DamagedModel:
        exact = zoo.load(name, "random", device="cpu", dtype="float32")
        model = copy.deepcopy(exact.model).to(device, getattr(torch, dtype))
        here = zoo.LoadedModel(name, model, exact.tokenizer, "random", device, dtype)
        return exact, here, "random"


def _fitting(device: str, dtype: str) -> list[str]:
    free_bytes = device_memory.available_memory_bytes(device)
    return [
        name
        for name, facts in models().items()
        if facts["params_exact"] * BYTES[dtype] < 0.9 * free_bytes
    ]


def _dtype(device: str) -> str:
    if not device.startswith("cuda"):
        return "bfloat16"
    return sixteen_bit_dtype(torch.cuda.get_device_capability(device))


def _wait(device: str) -> None:
    if device.startswith("cuda"):
        torch.cuda.synchronize()


if __name__ == "__main__":
    main()
