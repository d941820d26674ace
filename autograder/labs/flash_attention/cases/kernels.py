"""Hidden cases of the softmax in pieces and of the three attention functions."""

import random
from dataclasses import replace
from math import gcd
from typing import Any

import torch

from labkit.labs.flash_attention.checks.runs import AttentionCase
from labkit.labs.flash_attention.checks.steps import StepCase


def kernel_cases(rng: random.Random) -> dict[str, list]:
    """The cases of one run, by exercise."""
    return {
        "online_softmax": _steps(rng),
        "merge": [each for each in _steps(rng) if each.dtype == torch.float32 and each.n_before],
        "standard_attention": _whole(rng),
        "flash_attention_1": _tiled(rng),
        "flash_attention_2": _tiled(rng),
    }


def _seed(rng: random.Random) -> int:
    return rng.randrange(10**6)


def _steps(rng: random.Random) -> list[StepCase]:
    def case(
        kind: str, n_before: int, n_new: int, seed: int | None = None, **others: Any
    ) -> StepCase:
        sizes = {"n_queries": rng.randint(4, 7), "head_dim": rng.randint(2, 6)}
        seed = _seed(rng) if seed is None else seed
        return StepCase(kind, n_before=n_before, n_new=n_new, seed=seed, **sizes | others)

    return [
        case("first", 0, rng.randint(2, 6)),
        case("later", rng.randint(3, 8), rng.randint(2, 6)),
        case("later", rng.randint(8, 20), 1),
        case("later", 1, rng.randint(4, 9)),
        case("later", rng.randint(3, 8), rng.randint(2, 6), n_queries=1),
        case("later", rng.randint(3, 8), rng.randint(2, 6), head_dim=1),
        *(
            case("later", rng.randint(3, 8), rng.randint(2, 6), dtype=dtype)
            for dtype in (torch.float16, torch.float64)
        ),
        case("large", rng.randint(2, 5), rng.randint(2, 5), 2 * _seed(rng)),
        case("large", rng.randint(2, 5), rng.randint(2, 5), 2 * _seed(rng) + 1),
        case("unseen", rng.randint(2, 5), rng.randint(2, 5)),
        case("unseen", 0, rng.randint(2, 5)),
    ]


def _whole(rng: random.Random) -> list[AttentionCase]:
    def case(kind: str, n_rows: int, is_causal: bool = False) -> AttentionCase:
        head_dim = rng.choice((3, 5, 6, 7)) if n_rows > 1 else 1
        return AttentionCase(kind, n_rows, head_dim, is_causal=is_causal, seed=_seed(rng))

    return [
        case("even", rng.randint(8, 20)),
        case("one", 1),
        case("even", 2 * rng.randint(8, 14) + 1),
        case("causal", rng.randint(9, 21), is_causal=True),
        case("moving", rng.randint(7, 15)),
    ]


def _tiled(rng: random.Random) -> list[AttentionCase]:
    """N in tiles that fill it or not; always another number of tiles of queries than of keys.

    With a mask every edge is met: tiles that end where others begin, and one row later.
    """

    def case(kind: str, n_rows: int, tile_q: int, tile_kv: int) -> AttentionCase:
        width = rng.choice((4, 16) if kind == "large" else (3, 5, 6, 7))
        return AttentionCase(kind, n_rows, width, tile_q, tile_kv, kind == "causal", _seed(rng))

    def even(kind: str) -> AttentionCase:
        n_rows, tiles = rng.choice(((20, (2, 4, 5)), (24, (4, 6, 8)), (30, (5, 6, 10))))
        return case(kind, n_rows, *rng.sample(tiles, 2))

    chip = even("chip")

    def ragged(kind: str, tile_q: int, tile_kv: int) -> AttentionCase:
        lengths = [n for n in range(25, 38, 2) if n % tile_q and n % tile_kv]
        return case(kind, rng.choice(lengths), tile_q, tile_kv)

    small = rng.randint(3, 5)
    large = rng.choice([n for n in range(6, 10) if gcd(n, small) == 1])  # every edge is met
    few, many = rng.choice(((4, 8), (4, 12), (6, 12)))
    less, more = rng.choice(((4, 5), (5, 6), (3, 4), (3, 7)))
    return [
        even("even"),
        even("even"),
        ragged("ragged", small, large),
        ragged("ragged", *rng.sample((5, 6, 7, 8, 9), 2)),
        case("ragged", 1, 1, 1),
        case("ragged", 1, rng.randint(2, 8), rng.randint(2, 8)),
        case("ragged", rng.randint(5, 9), rng.randint(10, 16), rng.randint(10, 16)),
        case("causal", 24, many, few),
        case("causal", 24, few, many),
        case("causal", less * more, less, more),
        case("causal", less * more, more, less),
        replace(ragged("both", small, large), is_causal=True),
        replace(ragged("both", large, small), is_causal=True),
        replace(even("large"), seed=2 * _seed(rng) + 1),
        replace(even("large"), seed=2 * _seed(rng)),
        chip,
        replace(chip, tile_q=chip.tile_kv, tile_kv=chip.tile_q),
        even("moving"),
        even("moving"),
    ]
