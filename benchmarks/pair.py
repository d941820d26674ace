"""What the pair costs and how well it agrees, on this machine: `build/bench/pair.json`.

Step times by the number of tokens a step takes, tokens per second of `transformers.generate`, and
acceptance by source on the twenty prompts. Target and draft take turns, so that a machine whose
speed changes does not favour one of them. Steps are timed on torch's default number of threads and
on one; the rest runs on one.
"""

from collections.abc import Callable
from functools import partial
from pathlib import Path

import torch

from benchmarks.report import report
from labkit import zoo
from labkit.measuring.machine import use_one_thread
from labkit.measuring.timing import machine, time_in_turns
from labkit.models.cached import cut, forward, new_cache
from labkit.models.prompts import prompts
from training.corpus import SOURCES
from training.measure import GAMMA, N_NEW, acceptance

OUT = Path("build/bench/pair.json")
WIDTHS = (1, 2, 4, 8)
N_CACHED = 256
N_GENERATED = 64


def main(*, quick: bool = False) -> None:
    """Measure, write the record, print it."""
    pair = zoo.load_pair("tiny")
    models = {"tiny-target": pair.target.model, "tiny-draft": pair.draft.model}
    n_repeats, n_prompts = (1, 1) if quick else (30, 5)
    steps = {"default": step_times(models, n_repeats)}
    n_default = torch.get_num_threads()
    use_one_thread()
    steps["one"] = step_times(models, n_repeats)
    sources = [*SOURCES][: 1 if quick else None]
    texts = {source: [prompt.text for prompt in prompts(source)][:n_prompts] for source in sources}
    record = {
        "machine": machine("cpu"),
        "n_threads": {"default": n_default, "one": 1},
        "n_cached": N_CACHED,
        "step_ms": steps,
        "draft_steps_per_target_step": {name: ratio(table) for name, table in steps.items()},
        "generate_tokens_per_s": generate_rates(models, 1 if quick else 5),
        "acceptance": acceptance(*models.values(), pair.target.tokenizer, texts),
        "acceptance_settings": {
            "gamma": GAMMA,
            "n_new": N_NEW,
            "n_prompts_per_source": n_prompts,
        },
    }
    report(OUT, record, quick=quick)


def step_times(models: dict, n_repeats: int) -> dict[str, dict[str, dict]]:
    """Milliseconds of one forward pass over 1, 2, 4 and 8 new tokens after `N_CACHED` others."""
    steps = {(name, n): cached_step(model, n) for name, model in models.items() for n in WIDTHS}
    table: dict[str, dict[str, dict]] = {name: {} for name in models}
    for (name, n), timing in time_in_turns(steps, n_repeats=n_repeats, n_warmup=5).items():
        quartiles = [round(1e3 * seconds, 3) for seconds in timing.spread_s]
        table[name][str(n)] = {"median": round(1e3 * timing.median_s, 3), "quartiles": quartiles}
    return table


def ratio(table: dict[str, dict[str, dict]]) -> float:
    """How many draft steps one step of the target costs."""
    target, draft = (table[name]["1"]["median"] for name in ("tiny-target", "tiny-draft"))
    return round(target / draft, 2)


def cached_step(model, n_tokens: int) -> Callable[[], None]:
    """A step over `n_tokens` new tokens that leaves the cache as it found it."""
    tokens = torch.randint(0, model.config.vocab_size, (1, N_CACHED + n_tokens))
    past = new_cache(config=model.config)
    with torch.inference_mode():
        forward(model, tokens[:, :N_CACHED], past)

    def step() -> None:
        with torch.inference_mode():
            forward(model, tokens[:, N_CACHED:], past)
        cut(past, slice(-n_tokens))  # cheap: it makes views

    return step


def generate_rates(models: dict, n_repeats: int) -> dict[str, float]:
    """New tokens per second of greedy `generate`, one sequence."""
    tokens = torch.arange(100, 164)[None]
    runs = {
        name: partial(
            model.generate, tokens, attention_mask=torch.ones_like(tokens), do_sample=False,
            min_new_tokens=N_GENERATED, max_new_tokens=N_GENERATED,
        )
        for name, model in models.items()
    }  # fmt: skip
    timings = time_in_turns(runs, n_repeats=n_repeats)
    return {name: round(N_GENERATED / timing.median_s, 1) for name, timing in timings.items()}
