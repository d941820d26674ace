"""Hidden cases of lab 04: fresh sizes and seeds, with the edges always among them."""

import random

import torch

from autograder.labs.kv_cache.cases.model import model_cases
from labkit.kv_cache import tokens_processed
from labkit.labs.kv_cache.checks.arena import ArenaCase
from labkit.labs.kv_cache.checks.counts import CountCase
from labkit.labs.kv_cache.checks.paged import PagedCase
from labkit.labs.kv_cache.checks.ring import RingCase

HALF = (torch.float16, torch.bfloat16)


def hidden_cases(rng: random.Random) -> dict[str, list]:
    """Cases by exercise; the same `rng` state gives the same cases."""
    return {
        **model_cases(rng),
        "tokens_processed": _count_cases(rng),
        "ArenaCache": _arena_cases(rng),
        "RingCache": _ring_cases(rng),
        "PagedCache": _paged_cases(rng),
    }


def _seed(rng: random.Random) -> int:
    return rng.randrange(1, 10**6)


def _count_cases(rng: random.Random) -> list[CountCase]:
    sizes = [
        (1, 1),
        (rng.randint(2, 9), 1),
        (1, rng.randint(2, 9)),
        (rng.randint(10, 500), rng.randint(10, 500)),
        (rng.randint(10_000, 30_000), rng.randint(1_000, 4_000)),
    ]
    return [
        CountCase(*size, tokens_processed(*size, True), tokens_processed(*size, False))
        for size in sizes
    ]


def _arena_cases(rng: random.Random) -> list[ArenaCase]:
    life = _arena_life(rng, capacity=12, n_steps=7)
    return [
        ArenaCase(life, 12, n_layers=2, n_kv_heads=rng.randint(2, 3), seed=_seed(rng)),
        ArenaCase(
            (rng.randint(3, 4), 2, 1),
            rng.randint(7, 9),
            n_layers=3,
            batch=2,
            dtype=rng.choice(HALF),
            seed=_seed(rng),
        ),
        ArenaCase((2, -1, 1, -2, 1), 3, n_layers=1, n_kv_heads=1, head_dim=1, seed=_seed(rng)),
    ]


def _arena_life(rng: random.Random, capacity: int, n_steps: int) -> tuple[int, ...]:
    """Appends and rewinds that stay between 0 and `capacity`, with a rewind to empty and a short
    append after a long rewind among them."""
    life = [rng.randint(3, 5), 2, -4, 1, 0]
    length = sum(life)
    while len(life) < n_steps:
        n_tokens = rng.randint(-length, capacity - length)
        life.append(n_tokens)
        length += n_tokens
    return (*life, -length, capacity, -1, 1)


def _ring_cases(rng: random.Random) -> list[RingCase]:
    window, small = rng.randint(5, 6), 4
    return [
        RingCase(
            window,
            n_tokens=2 * window + rng.randint(1, 2),
            chunks=(window + rng.randint(1, window - 2), 2),
            n_kv_heads=rng.randint(1, 3),
            seed=_seed(rng),
        ),
        RingCase(
            small,
            n_tokens=small + 1,
            n_layers=3,
            head_dim=rng.choice((1, 2, 4)),
            chunks=(3 * small + rng.randint(1, 2), 2),
            batch=2,
            dtype=rng.choice(HALF),
            seed=_seed(rng),
        ),
        RingCase(window=1, n_tokens=3, chunks=(3, 2), n_layers=1, seed=_seed(rng)),
    ]


def _paged_cases(rng: random.Random) -> list[PagedCase]:
    block_size = rng.randint(3, 5)
    return [
        PagedCase(
            n_blocks=rng.randint(9, 11),
            block_size=block_size,
            appends=(block_size - 1, 1, 1, 2 * block_size),
            n_kv_heads=3,
            head_dim=2,
            n_operations=24,
            seed=_seed(rng),
        ),
        PagedCase(
            n_blocks=rng.randint(8, 9),
            block_size=2,
            appends=(2, 1, rng.randint(2, 5)),
            dtype=rng.choice(HALF),
            seed=_seed(rng),
        ),
        PagedCase(9, 1, (1, 2, 1), 1, 1, dtype=rng.choice(HALF), seed=_seed(rng)),
    ]
