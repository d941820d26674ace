"""Hidden cases of what the model needs: a growing cache, rotary positions, a step, generation."""

import random

import torch

from labkit.labs.kv_cache.checks.generate import GenerateCase
from labkit.labs.kv_cache.checks.growing import GrowingCase
from labkit.labs.kv_cache.checks.rotate import RotateCase
from labkit.labs.kv_cache.checks.step import StepCase


def model_cases(rng: random.Random) -> dict[str, list]:
    """Cases by exercise; the same `rng` state gives the same cases."""
    return {
        "GrowingCache": _growing_cases(rng),
        "rotate": _rotate_cases(rng),
        "forward_cached": _step_cases(rng),
        "generate": _generate_cases(rng),
    }


def _seed(rng: random.Random) -> int:
    return rng.randrange(1, 10**6)


def _growing_cases(rng: random.Random) -> list[GrowingCase]:
    sizes = (rng.randint(2, 5), 1, rng.randint(2, 4), 1)
    return [
        GrowingCase(sizes, n_layers=3, batch=2, n_kv_heads=rng.randint(2, 3), seed=_seed(rng)),
        GrowingCase((1, rng.randint(2, 3)), n_layers=2, head_dim=6, seed=_seed(rng)),
        GrowingCase((rng.randint(17, 30), 1, 3), n_layers=1, n_kv_heads=1, seed=_seed(rng)),
        GrowingCase((1, 1, 1), n_layers=2, n_kv_heads=1, head_dim=1, seed=_seed(rng)),
    ]


def _rotate_cases(rng: random.Random) -> list[RotateCase]:
    start = rng.randint(3, 40)
    apart = tuple(rng.sample(range(1, 60), 4))  # in any order
    far = tuple(rng.randrange(4101, 5000, 2) for _ in range(3))  # float16 has no odd ones there
    return [
        RotateCase((0, 1, 2, 3), head_dim=rng.choice((4, 8, 16)), batch=2, seed=_seed(rng)),
        RotateCase((0, 1), head_dim=2, n_heads=rng.randint(1, 3), seed=_seed(rng)),
        RotateCase((start,), head_dim=rng.choice((6, 10)), seed=_seed(rng)),
        RotateCase((start, start + 1, start + 2), batch=3, seed=_seed(rng)),
        RotateCase(apart, head_dim=4, n_heads=1, seed=_seed(rng)),
        RotateCase((start, 1, 0), base=rng.choice((100.0, 1e6)), seed=_seed(rng)),
        RotateCase(apart, head_dim=4, base=rng.choice((37.0, 5e5)), batch=2, seed=_seed(rng)),
        RotateCase(far, head_dim=16, dtype=torch.bfloat16, batch=2, seed=_seed(rng)),
        RotateCase(far, dtype=torch.float16, batch=2, seed=_seed(rng)),
    ]


def _step_cases(rng: random.Random) -> list[StepCase]:
    chunks = (rng.randint(3, 5), 1, rng.randint(2, 3))  # none is as long as all before it
    sizes = {"n_layers": 3, "n_heads": 4, "n_kv_heads": 2}
    n_before = rng.randint(4, 9)
    return [
        StepCase(chunks, **sizes, batch=2, seed=_seed(rng)),
        StepCase((1, 2), n_layers=1, n_kv_heads=2, seed=_seed(rng)),
        StepCase((2,), n_layers=2, n_heads=1, n_kv_heads=1, seed=_seed(rng)),
        StepCase(chunks, rewinds=(rng.randint(1, 2), 0, 0), seed=_seed(rng)),
        StepCase((3, 2), n_before=n_before, batch=2, seed=_seed(rng)),
        StepCase((4, 3), **sizes, n_before=1, rewinds=(2, 0), is_plain=False, seed=_seed(rng)),
    ]


def _generate_cases(rng: random.Random) -> list[GenerateCase]:
    return [
        GenerateCase(rng.randint(2, 5), rng.randint(3, 5), batch=3, seed=_seed(rng)),
        GenerateCase(1, rng.randint(2, 3), vocab_size=rng.randint(30, 40), seed=_seed(rng)),
        GenerateCase(rng.randint(6, 9), 1, batch=2, seed=_seed(rng)),
        GenerateCase(rng.randint(2, 5), 0, seed=_seed(rng)),
    ]
