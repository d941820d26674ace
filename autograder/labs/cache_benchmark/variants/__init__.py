"""Right answers to lab 3, written differently; its prefix caching is in a module of its own."""

from autograder.labs.cache_benchmark.mutants.answers import (
    PLAN,
    four_settings,
    speed_up,
    tokens_found,
)
from autograder.labs.cache_benchmark.variants.prefix import PREFIX_VARIANTS
from autograder.labs.variants import Variant

VARIANTS = [
    Variant(
        "generation_passes",
        "in one expression",
        """def generation_passes(n_prompt, n_new, use_cache):
    if not use_cache:
        return [(n_prompt + i, 0) for i in range(n_new)]
    return ([(n_prompt, 0)] + [(1, n_prompt + i) for i in range(n_new - 1)])[:n_new]""",
    ),
    Variant(
        "generation_passes",
        "an array",
        """import numpy as np

def generation_passes(n_prompt, n_new, use_cache):
    lengths = n_prompt + np.arange(n_new)
    cached = np.where(np.arange(n_new) > 0, lengths - 1, 0) if use_cache else 0 * lengths
    return np.stack([lengths - cached, cached], axis=1)""",
    ),
    Variant(
        "generation_passes",
        "played through, lists of two",
        """def generation_passes(n_prompt, n_new, use_cache):
    passes, in_cache, waiting = [], 0, n_prompt
    while len(passes) < n_new:
        passes.append([waiting, in_cache])
        if use_cache:
            in_cache, waiting = in_cache + waiting, 1
        else:
            waiting += 1
    return passes""",
    ),
    Variant(
        "generation_passes",
        "tensors",
        """import torch

def generation_passes(n_prompt, n_new, use_cache):
    pairs = []
    for i in range(n_new):
        cached = n_prompt + i - 1 if use_cache and i > 0 else 0
        pairs.append(torch.tensor([n_prompt + i - cached, cached]))
    return pairs""",
    ),
    Variant(
        "generation_cost",
        "without the list of passes",
        """def generation_cost(work, n_prompt, n_new, use_cache, width=2):
    flops = moved = 0
    for length in range(n_prompt, n_prompt + n_new):
        seen = length - 1 if use_cache and length > n_prompt else 0
        flops = flops + work.flops(length - seen, seen, 1)
        moved = moved + work.moved_bytes(length, 1, width)
    return [flops, moved]""",
    ),
    Variant(
        "generation_cost",
        "an array of floats",
        """import numpy as np

def generation_cost(work, n_prompt, n_new, use_cache, width=2):
    costs = [
        (work.flops(new, old, n_logits=1), work.moved_bytes(new + old, batch_size=1, width=width))
        for new, old in generation_passes(n_prompt, n_new, use_cache)
    ]
    return np.asarray(costs, dtype=float).sum(axis=0)""",
    ),
    Variant(
        "generation_cost",
        "tensors in single precision",
        """import torch

def generation_cost(work, n_prompt, n_new, use_cache, width=2):
    costs = torch.zeros(2)
    for new, old in generation_passes(n_prompt, n_new, use_cache):
        costs[0] += work.flops(new, old, n_logits=1)
        costs[1] += work.moved_bytes(new + old, batch_size=1, width=width)
    return costs""",
    ),
    Variant(
        "generation_cost",
        "prefill and steps apart, as one prefill of all",
        """def generation_cost(work, n_prompt, n_new, use_cache, width=2):
    lengths = [n_prompt + i for i in range(n_new)]
    moved = sum(work.moved_bytes(n, 1, width) for n in lengths)
    if not use_cache:
        return sum(work.flops(n, 0, 1) for n in lengths), moved
    # feeding tokens one by one is feeding them at once, but for the logits of each
    return work.flops(lengths[-1], 0, n_new), moved""",
    ),
    Variant(
        "predicted_time_s",
        "a sum",
        """def predicted_time_s(
    machine, work, n_prompt, n_new, use_cache, launch_s=0.0, dtype="float16"
):
    return sum(
        max(launch_s, pass_floor(machine, work, new, old, dtype=dtype).seconds)
        for new, old in generation_passes(n_prompt, n_new, use_cache)
    )""",
    ),
    Variant(
        "predicted_time_s",
        "without pass_floor",
        """def predicted_time_s(
    machine, work, n_prompt, n_new, use_cache, launch_s=0.0, dtype="float16"
):
    width = {"float32": 4, "float16": 2, "bfloat16": 2}[dtype]
    times = []
    for i in range(n_new):
        length = n_prompt + i
        cached = length - 1 if use_cache and i else 0
        moving = work.moved_bytes(length, 1, width) / machine.bandwidth
        computing = work.flops(length - cached, cached, 1) / machine.peak(dtype)
        times.append(max(launch_s, moving, computing))
    return sum(times)""",
    ),
    Variant(
        "predicted_time_s",
        "an array",
        """import numpy as np

def predicted_time_s(
    machine, work, n_prompt, n_new, use_cache, launch_s=0.0, dtype="float16"
):
    passes = generation_passes(n_prompt, n_new, use_cache)
    floors = [pass_floor(machine, work, *each, dtype=dtype).seconds for each in passes]
    return np.maximum(floors, launch_s).sum()""",
    ),
    Variant(
        "predicted_time_s",
        "tensors in single precision",
        """import torch

def predicted_time_s(
    machine, work, n_prompt, n_new, use_cache, launch_s=0.0, dtype="float16"
):
    passes = generation_passes(n_prompt, n_new, use_cache)
    floors = [pass_floor(machine, work, *each, dtype=dtype).seconds for each in passes]
    return torch.tensor(floors).clamp(min=launch_s).sum().item()""",
    ),
    Variant(
        "leaves_launch_floor_at",
        "one length after the other",
        """def leaves_launch_floor_at(machine, work, launch_s, n_context, dtype="float16"):
    for length in range(1, n_context + 1):
        if pass_floor(machine, work, length, dtype=dtype).seconds > launch_s:
            return length
    return None""",
    ),
    Variant(
        "leaves_launch_floor_at",
        "halving by hand",
        """def leaves_launch_floor_at(machine, work, launch_s, n_context, dtype="float16"):
    def is_over(length):
        return pass_floor(machine, work, length, 0, 1, dtype).seconds > launch_s

    if not is_over(n_context):
        return None
    low, high = 0, n_context
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if is_over(middle) else (middle, high)
    return float(high)""",
    ),
    Variant(
        "leaves_launch_floor_at",
        "arrays, without pass_floor",
        """import numpy as np

def leaves_launch_floor_at(machine, work, launch_s, n_context, dtype="float16"):
    width = 4 if dtype == "float32" else 2
    lengths = np.arange(1, n_context + 1)
    moving = np.array([work.moved_bytes(int(n), 1, width) for n in lengths]) / machine.bandwidth
    computing = np.array([work.flops(int(n), 0, 1) for n in lengths]) / machine.peak(dtype)
    over = np.maximum(moving, computing) > launch_s
    return int(lengths[over.argmax()]) if over.any() else None""",
    ),
    Variant(
        "slopes",
        "NumPy",
        """import numpy as np

def slopes(n_new, times_s):
    lengths, times = np.asarray(n_new), np.asarray(times_s)
    if lengths.shape != times.shape or len(lengths) < 2 or len(np.unique(lengths)) < len(lengths):
        raise ValueError("no slopes")
    order = lengths.argsort()
    return np.diff(times[order]) / np.diff(lengths[order])""",
    ),
    Variant(
        "slopes",
        "tensors in single precision",
        """import torch

def slopes(n_new, times_s):
    if len(n_new) != len(times_s) or len(set(n_new)) != len(n_new) or len(n_new) < 2:
        raise ValueError
    lengths, order = torch.tensor(n_new).sort()
    return torch.tensor(times_s)[order].diff() / lengths.diff()""",
    ),
    Variant(
        "slopes",
        "a dict in between, its own exception",
        """class NoSlope(ValueError):
    pass

def slopes(n_new, times_s):
    times = dict(zip(n_new, times_s))
    if not len(times) == len(n_new) == len(times_s) or len(times) == 1:
        raise NoSlope("lengths and times do not fit")
    lengths = sorted(times)
    found = []
    for i in range(1, len(lengths)):
        short, long = lengths[i - 1 : i + 1]
        found.append((times[long] - times[short]) / (long - short))
    return tuple(found)""",
    ),
    Variant("four_settings", "as in the key", four_settings()),
    Variant(
        "four_settings",
        "rounded, in capitals",
        four_settings(
            baseline={"leaves_launch_floor_at": 1640, "cached_step": "Launch"},
            smaller={"leaves_launch_floor_at": 5200.0},
            long_prompt={"uncached_pass": "COMPUTE"},
        ),
    ),
    Variant(
        "four_settings",
        "computed",
        four_settings().replace(
            "524288", 'kv_bytes_per_token(ModelShape.of("meta-llama/Llama-2-7b-hf"))'
        ),
    ),
    Variant("speed_up", "as in the key", speed_up()),
    Variant(
        "speed_up",
        "the file's whole name",
        speed_up().replace('"record": "cache-cpu"', '"record": "cache-cpu.jsonl"'),
    ),
    Variant(
        "speed_up",
        "by hand",
        speed_up(
            "(with_cache[-1] - with_cache[-2]) / (lengths[-1] - lengths[-2])",
            "(without[-1] - without[-2]) / (lengths[-1] - lengths[-2])",
            "(without[-1] - without[-2]) / (with_cache[-1] - with_cache[-2])",
        ),
    ),
    Variant(
        "speed_up",
        "rounded",
        speed_up(
            'round(slopes(*curve(RECORDS["cache-cpu"], "baseline", True))[-1], 5)',
            'round(slopes(*curve(RECORDS["cache-cpu"], "baseline", False))[-1], 4)',
        ),
    ),
    Variant("tokens_found", "as in the key", tokens_found(368, 0, 368, 96)),
    Variant("tokens_found", "floats", tokens_found(368.0, 0.0, 368.0, 96.0)),
    Variant(
        "tokens_found",
        "computed from the tokens",
        """from labkit.zoo.choose import kit_tokenizer
from labkit.labs.cache_benchmark.prompts import edited_prompts

_cut = kit_tokenizer("tiny-target")
_ids = {name: _cut(text)["input_ids"] for name, text in edited_prompts().items()}
tokens_found = {}
for _name, _each in _ids.items():
    _same = [a == b for a, b in zip(_each, _ids["same"])]
    _n = _same.index(False) if False in _same else len(_same)
    tokens_found[_name] = min(_n, len(_each) - 1) // 16 * 16""",
    ),
    Variant("offload_plan", "as in the key", f"offload_plan = {PLAN!r}"),
    Variant(
        "offload_plan",
        "rounded to three digits",
        """offload_plan = {
    "nothing": dict(step_ms=33.2, kv_tokens=115_000),
    "4 GB": dict(step_ms=188, kv_tokens=139_000),
    "8 GB": dict(step_ms=344, kv_tokens=163_000),
}""",
    ),
    Variant(
        "offload_plan",
        "computed",
        """from labkit.models.facts import vram_readings

_shape = ModelShape.of("Qwen/Qwen3-14B")
_moved = ModelWork.of("Qwen/Qwen3-14B").moved_bytes(4096, 1, 2)
offload_plan = {
    name: {
        "step_ms": 1e3 * offload_step_s(_moved, n, Roofline.of("L40S").bandwidth, 25e9),
        "kv_tokens": (vram_readings("L40S")["driver"][0] - 2 * _shape.n_params + n) // 163_840,
    }
    for name, n in (("nothing", 0), ("4 GB", 4 * 10**9), ("8 GB", 8 * 10**9))
}""",
    ),
    *PREFIX_VARIANTS,
]
