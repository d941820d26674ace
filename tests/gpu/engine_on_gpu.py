"""The engine on a GPU: right, and how fast; a plain script, run by hand.

python tests/gpu/engine_on_gpu.py OUT.json
"""

from __future__ import annotations

import json
import random
import sys
from pathlib import Path

import torch

from labkit.engine.captured import Autoregression, Speculation, captured
from labkit.engine.decoder import Decoder
from labkit.engine.sampling import Warp
from labkit.engine.weights import Weights, random_weights, weights_of
from labkit.zoo.shape import config_of

N_PAST = 300
PAIRS = {  # published: accepted / drafted at each gamma
    ("Qwen/Qwen3-8B", "Qwen/Qwen3-0.6B"): {2: 0.685, 3: 0.62, 5: 0.525, 7: 0.467},
    ("Qwen/Qwen3-8B", "Qwen/Qwen3-1.7B"): {2: 0.752, 3: 0.709, 5: 0.591, 7: 0.536},
    ("meta-llama/Llama-3.1-8B", "meta-llama/Llama-3.2-1B"): {2: 0.7, 3: 0.68, 5: 0.581, 7: 0.531},
}


def median_ms(run, n: int = 30, n_warmup: int = 3) -> float:
    for _ in range(n_warmup):
        run()
    times = []
    for _ in range(n):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        start.record()
        run()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end))
    return sorted(times)[n // 2]


def copy_bandwidth() -> float:
    """Bytes per second, read and written, of a copy of 2 GB."""
    source = torch.empty(2**31, dtype=torch.uint8, device="cuda")
    target = torch.empty_like(source)
    return 2 * source.nbytes / median_ms(lambda: target.copy_(source)) * 1e3


def errors_against_float32(name: str) -> dict[str, float]:
    """Relative errors of bfloat16 logits, by backend, of three layers with uneven norms."""
    from transformers import AutoModelForCausalLM

    config = config_of(name)
    config.num_hidden_layers, config.vocab_size = 3, 1000
    if getattr(config, "layer_types", None):
        config.layer_types = config.layer_types[:3]
    torch.manual_seed(0)
    model = AutoModelForCausalLM.from_config(config, dtype=torch.bfloat16).cuda().eval()
    for parameter_name, parameter in model.named_parameters():
        if "norm" in parameter_name:
            parameter.data.uniform_(0.5, 1.5)
        else:
            parameter.data.normal_(0, 0.08)
    weights = weights_of(model, 512)
    tokens = torch.randint(0, 1000, (1, 300), device="cuda")
    with torch.inference_mode():
        own = model(tokens).logits[0].float()
        exact = model.float()(tokens).logits[0]
    found = {"transformers": float((own - exact).norm() / exact.norm())}
    for backend, without in (("torch", ("triton",)), ("triton", ())):
        decoder, made = Decoder(weights, 512, without=without), []
        for part in tokens.split([8] * 30 + [1, 2, 3, 16, 7] + [1] * 31, dim=1):
            made.append(decoder.feed(part)[0])
        found[backend] = float((torch.cat(made) - exact).norm() / exact.norm())
    return found


def step_times(weights: Weights, bandwidth: float) -> dict:
    """Milliseconds of a captured step over 1 to 11 tokens, and the floor of one."""
    decoder, times = Decoder(weights, 1024), {}
    for n_tokens in (1, 2, 3, 4, 6, 8, 11):
        decoder.arena.rewind(N_PAST)
        tokens = torch.randint(0, 1000, (1, n_tokens), device="cuda")
        times[n_tokens] = median_ms(captured(lambda tokens=tokens: decoder.forward(tokens)))
    return {"floor_ms": weights.step_bytes / bandwidth * 1e3, "forward_ms": times}


def autoregressive_ms(weights: Weights, n_new: int = 200) -> float:
    """Milliseconds per token, sampling included."""
    decoder = Decoder(weights, 1024)
    sampler = Autoregression(decoder, Warp(1.0), 2 * n_new)
    decoder.arena.rewind(N_PAST)

    def run() -> None:
        decoder.arena.rewind(N_PAST)
        sampler.run(1, n_new)

    return median_ms(run, n=5, n_warmup=1) / n_new


def speculative(target: Decoder, draft: Decoder, gamma: int, rate: float) -> dict:
    """Milliseconds per token where this part of the drafted tokens is kept, block by block."""
    n_blocks = 80
    script = torch.tensor(kept_in_blocks(gamma, rate, n_blocks), device="cuda")
    sampler = Speculation(target, draft, gamma, Warp(1.0), script)
    n_made = 0

    def run() -> None:
        nonlocal n_made
        for decoder in (target, draft):
            decoder.arena.rewind(N_PAST)
        sampler.begin(1)
        n_made = sum(len(sampler.block()) for _ in range(n_blocks))

    total_ms = median_ms(run, n=5, n_warmup=1)
    kept = (n_made - n_blocks) / (gamma * n_blocks)
    return {"token_ms": total_ms / n_made, "block_ms": total_ms / n_blocks, "kept": kept}


def kept_in_blocks(gamma: int, rate: float, n_blocks: int) -> list[int]:
    """How many tokens each block keeps: truncated geometric, with this mean part of the drafted."""
    low, high = 0.0, 1.0
    while high - low > 1e-9:
        acceptance = (low + high) / 2
        mean = sum(acceptance**i for i in range(1, gamma + 1)) / gamma
        low, high = (acceptance, high) if mean < rate else (low, acceptance)
    tails = [low**i for i in range(1, gamma + 1)]
    even = [(i + 0.5) / n_blocks for i in range(n_blocks)]  # quantiles, so that the mean is exact
    kept = [sum(share < tail for tail in tails) for share in even]
    random.Random(0).shuffle(kept)
    return kept


def main(out: str) -> None:
    bandwidth = copy_bandwidth()
    record: dict = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "copy_bandwidth": bandwidth,
        "errors": {
            name: errors_against_float32(name)
            for name in ("Qwen/Qwen3-0.6B", "meta-llama/Llama-3.2-1B")
        },
    }
    print(json.dumps(record, indent=1), flush=True)
    record["models"], record["pairs"] = {}, {}
    weights: dict[str, Weights] = {}

    def load(name: str) -> Weights:
        if name not in weights:
            weights[name] = random_weights(config_of(name), 1024, "cuda", torch.bfloat16)
            found = step_times(weights[name], bandwidth)
            found["autoregressive_ms"] = autoregressive_ms(weights[name])
            found["share_of_floor"] = found["floor_ms"] / found["autoregressive_ms"]
            record["models"][name] = found
            print(name, found, flush=True)
        return weights[name]

    for (target_name, draft_name), rates in PAIRS.items():
        target, draft = (Decoder(load(name), 1024) for name in (target_name, draft_name))
        alone_ms = record["models"][target_name]["autoregressive_ms"]
        rows = {}
        for gamma, rate in rates.items():
            rows[gamma] = speculative(target, draft, gamma, rate)
            rows[gamma]["speedup"] = alone_ms / rows[gamma]["token_ms"]
            print(target_name, draft_name, gamma, rows[gamma], flush=True)
        record["pairs"][f"{target_name} + {draft_name}"] = rows
    Path(out).write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main(sys.argv[1])
