"""The engine on a GPU: whether it is right; a plain script, run by hand.

How fast it is, `labkit measure decode_steps speculation` measures.

python tests/gpu/engine_on_gpu.py OUT.json
"""

from __future__ import annotations

from itertools import product

import torch
from shallow import shallow_model, write_errors

from labkit.engine.decoder import Decoder
from labkit.engine.weights import weights_of

BACKENDS = {"torch": ("triton",), "triton": ()}
MODELS = ("Qwen/Qwen3-0.6B", "meta-llama/Llama-3.2-1B")


def errors_against_float32(name: str) -> dict[str, float]:
    """Relative errors of bfloat16 logits, by backend, of three layers with uneven norms."""
    model = shallow_model(name, 3, 0.08)
    weights = weights_of(model, 512)
    tokens = torch.randint(0, 1000, (4, 300), device="cuda")
    with torch.inference_mode():
        own = model(tokens).logits.float()
        exact = model.float()(tokens).logits
    found = {"transformers": float((own - exact).norm() / exact.norm())}
    for (backend, without), n_texts in product(BACKENDS.items(), (1, 4)):
        decoder, made = Decoder(weights, 512, n_texts, without=without), []
        for part in tokens[:n_texts].split([8] * 30 + [1, 2, 3, 16, 7] + [1] * 31, dim=1):
            made.append(decoder.feed(part))
        error = torch.cat(made, dim=1) - exact[:n_texts]
        found[f"{backend}, {n_texts} texts"] = float(error.norm() / exact[:n_texts].norm())
    return found


if __name__ == "__main__":
    write_errors(errors_against_float32, MODELS, __doc__)
