"""The engine on a GPU: whether it is right; a plain script, run by hand.

How fast it is, `labkit measure decode_steps speculation` measures.

python tests/gpu/engine_on_gpu.py OUT.json
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path

import torch

from labkit.engine.decoder import Decoder
from labkit.engine.weights import weights_of
from labkit.zoo.shape import config_of

MODELS = ("Qwen/Qwen3-0.6B", "meta-llama/Llama-3.2-1B")


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


def main(out: str) -> None:
    record = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "errors": {name: errors_against_float32(name) for name in MODELS},
    }
    print(json.dumps(record, indent=1))
    Path(out).write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("out", metavar="OUT.json")
    main(parser.parse_args().out)
