"""The serving decoder on a GPU: whether its passes are right; a plain script, run by hand.

How fast it is, `labkit measure serving` measures.

python tests/gpu/serving_on_gpu.py OUT.json
"""

from __future__ import annotations

import torch
from shallow import shallow_model, write_errors

from labkit.engine.serving.decoder import PagedDecoder
from labkit.engine.weights import weights_of

MODELS = ("meta-llama/Llama-3.1-8B", "Qwen/Qwen3-0.6B")
LENGTHS = (1, 700, 16, 1290, 129, 33, 128, 64)


def errors_against_float32(name: str) -> dict[str, dict[str, float]]:
    """Relative errors of bfloat16 logits, by backend and kind of pass, of two layers."""
    model = shallow_model(name, 2, 0.05)
    weights = weights_of(model, 2048)
    exact = passes(PagedDecoder(weights_of(model.float(), 2048), 600, 16, 2048))
    return {
        backend: {
            kind: float((logits.float() - exact[kind]).norm() / exact[kind].norm())
            for kind, logits in passes(PagedDecoder(weights, 600, 16, 2048, without)).items()
        }
        for backend, without in (("torch", ("triton",)), ("triton", ()))
    }


def passes(decoder: PagedDecoder) -> dict[str, torch.Tensor]:
    """The logits of each kind of pass, one after the other, over slots whose pages lie mixed up."""
    generator = torch.Generator().manual_seed(1)
    texts = [torch.randint(0, 1000, (n + 40,), generator=generator) for n in LENGTHS]
    for n in range(16, 1344, 16):
        for slot, length in enumerate(LENGTHS):
            decoder.pages.reserve(slot, min(n, length + 40))
    late = {6, 7}  # come in chunks, beside the others
    found = {}
    prompts = {i: text[:-40] for i, text in enumerate(texts) if i not in late}
    found["packed"] = decoder.forward({}, prompts)
    steps = []
    for i in range(8):
        running = {slot: int(texts[slot][LENGTHS[slot] + i]) for slot in prompts}
        steps.append(decoder.forward(running).clone())
    found["decode"] = torch.cat(steps)
    mixed = []
    for i, part in enumerate((slice(0, 50), slice(50, 64))):
        running = {slot: int(texts[slot][LENGTHS[slot] + 8 + i]) for slot in prompts}
        mixed.append(decoder.forward(running, {slot: texts[slot][:-40][part] for slot in late}))
    found["mixed"] = torch.cat(mixed)
    running = {slot: int(texts[slot][LENGTHS[slot] + 10]) for slot in prompts} | dict.fromkeys(
        late, 3
    )
    found["decode after it"] = decoder.forward(running).clone()
    drafts = {slot: texts[slot][-5:].tolist() for slot in prompts}
    found["verify"] = decoder.forward(drafts).clone()
    return found


if __name__ == "__main__":
    write_errors(errors_against_float32, MODELS, __doc__)
