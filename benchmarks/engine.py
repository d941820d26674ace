"""The engine beside transformers, in one run, to `build/bench/engine.json`.

On one thread of a CPU the tiny pair writes after the twenty prompts at temperature 1, in four ways:
by the engine with its draft and without, by transformers' `generate` and with its assisted
generation. Ways take turns, text by text; a ratio is the median over rounds. Seconds are those of
the processor: on one thread they are the clock's, but for what else the machine does. Times on a
GPU are measured by `labkit measure decode_steps speculation`.
"""

import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import torch

from benchmarks.report import report
from labkit import zoo
from labkit.engine.cached import EngineModel
from labkit.engine.decoder import Decoder
from labkit.engine.weights import weights_of
from labkit.measuring.machine import use_one_thread
from labkit.measuring.timing import machine
from labkit.models.prompts import prompts
from labkit.speculative import autoregressive, speculative

OUT = Path("build/bench/engine.json")
N_NEW, N_ROUNDS, GAMMA = 64, 3, 5
RATIOS = {  # numerator, denominator: seconds of the one over those of the other
    "speculative_over_autoregressive": ("autoregressive", "speculative"),
    "autoregressive_over_transformers": ("transformers", "autoregressive"),
    "speculative_over_assisted": ("assisted", "speculative"),
}
Way = Callable[[list[int]], Sequence[int]]


def main(*, quick: bool = False) -> None:
    """Measure, write the record, print it."""
    use_one_thread()
    found = on_cpu(n_rounds=1, n_prompts=1) if quick else on_cpu()
    report(OUT, {"machine": machine("cpu"), "cpu": found}, quick=quick)


def on_cpu(n_rounds: int = N_ROUNDS, n_new: int = N_NEW, n_prompts: int | None = None) -> dict:
    """Tokens per second of the four ways, their ratios, and where the speculative one spends it."""
    pair = zoo.load_pair("tiny", device="cpu")
    decoders = [Decoder(weights_of(each.model, 1024), 1024) for each in (pair.target, pair.draft)]
    texts = [pair.target.tokenizer(each.text)["input_ids"] for each in prompts()[:n_prompts]]

    parts_s = {"draft": 0.0, "target": 0.0, "neither": 0.0}

    def alone(text: list[int], temperature: float = 1.0) -> list[int]:
        return autoregressive(EngineModel(decoders[0]), text, n_new, temperature=temperature)

    def speculate(text: list[int], temperature: float = 1.0) -> list[int]:
        target, draft = map(EngineModel, decoders)
        start_s = time.perf_counter()
        new = speculative(target, draft, text, n_new, GAMMA, temperature=temperature)
        times_s = [sum(draft.feeds_s), sum(target.feeds_s)]
        times_s.append(time.perf_counter() - start_s - sum(times_s))
        for part, seconds in zip(parts_s, times_s, strict=True):
            parts_s[part] += seconds
        return new

    ways = {
        "speculative": speculate,
        "autoregressive": alone,
        "transformers": lambda text: _generated(pair, text, n_new),
        "assisted": lambda text: _generated(pair, text, n_new, assistant_model=pair.draft.model),
    }
    _round(ways, texts[:1], n_new)  # to warm up
    rounds = [_round(ways, texts, n_new) for _ in range(n_rounds)]
    ratios = {
        name: statistics.median(each[above] / each[below] for each in rounds)
        for name, (above, below) in RATIOS.items()
    }
    n_tokens = n_new * len(texts)
    return {
        "n_prompts": len(texts),
        "n_new": n_new,
        "gamma": GAMMA,
        "tokens_per_s": {
            way: round(n_tokens / statistics.median(each[way] for each in rounds), 1)
            for way in ways
        },
        "ratios": {name: round(ratio, 2) for name, ratio in ratios.items()},
        "speculative_parts": {
            part: round(seconds / sum(parts_s.values()), 3) for part, seconds in parts_s.items()
        },
        "greedy_is_equal": all(alone(text, 0.0) == speculate(text, 0.0) for text in texts),
    }


def _round(ways: dict[str, Way], texts: Sequence[list[int]], n_new: int) -> dict[str, float]:
    """The processor's seconds of each way over all texts.

    Raises: RuntimeError if a way wrote another length.
    """
    seconds = dict.fromkeys(ways, 0.0)
    for text in texts:
        for name, write in ways.items():
            start_s = time.process_time()
            new = write(text)
            seconds[name] += time.process_time() - start_s
            if len(new) != n_new:
                raise RuntimeError(f"{name} wrote {len(new)} tokens, {n_new} were wanted")
    return seconds


def _generated(pair: zoo.Pair, text: list[int], n_new: int, **settings: Any) -> list[int]:
    """What transformers writes, without an end of the text, so that all lengths are the same."""
    from transformers import GenerationConfig

    config = GenerationConfig(
        do_sample=True, top_k=0, max_new_tokens=n_new, eos_token_id=None, pad_token_id=0
    )
    tokens = torch.tensor([text])
    for each in (pair.target.model, pair.draft.model):
        each.generation_config = GenerationConfig(eos_token_id=None, pad_token_id=0)
    mask = torch.ones_like(tokens)
    words = {"attention_mask": mask, "generation_config": config} | settings
    return pair.target.model.generate(tokens, **words)[0, len(text) :].tolist()
