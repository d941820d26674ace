"""Hidden cases of lab 1: fresh numbers for the functions, the right functions for the answers."""

import random
from types import SimpleNamespace

from labkit import memory
from labkit.checks.answers import AnswerCase
from labkit.labs.memory.checks.inverse import LargestCase, LongestCase
from labkit.labs.memory.checks.products import (
    CacheCase,
    RecipeCase,
    ShapeCase,
    WeightCase,
)
from labkit.labs.memory.checks.replay import shape_fields

RIGHT = SimpleNamespace(
    ModelShape=memory.ModelShape,
    weight_bytes=memory.weight_bytes,
    kv_bytes_per_token=memory.kv_bytes_per_token,
    kv_cache_bytes=memory.kv_cache_bytes,
    largest_model=memory.largest_model,
    longest_sequence=memory.longest_sequence,
    RECIPE={
        "weights": 2,
        "gradients": 2,
        "master_weights": 4,
        "first_moment": 4,
        "second_moment": 4,
    },
    FACTORS={"k_and_v": (2,), "bytes_per_number": (2,)},
)
ANSWERS = (
    "training_and_generation",
    "largest_on_80_gb",
    "longest_on_l40s",
    "kv_table",
    "one_cell",
    "scaling",
)


def hidden_cases(rng: random.Random) -> dict[str, list]:
    """The cases of one run, by exercise."""
    return {
        "weight_bytes": _weights(rng),
        "training_bytes": _recipes(rng),
        "kv_bytes_per_token": _tokens(rng),
        "kv_cache_bytes": [_cache(rng), _cache(rng)],
        "largest_model": _largest(rng),
        "longest_sequence": _longest(rng),
        **{name: [AnswerCase(name, RIGHT)] for name in ANSWERS},
    }


def _weights(rng: random.Random) -> list[WeightCase]:
    counts = [(rng.randrange(10**8, 10**11), width) for width in (1, 2, 4)]
    counts += [(0, 2), (2**53 + 2 * rng.randrange(1, 10**6) + 1, 2)]
    return [WeightCase(n, width, memory.weight_bytes(n, width)) for n, width in counts]


def _recipes(rng: random.Random) -> list[RecipeCase]:
    adam = dict(RIGHT.RECIPE)
    recipes = [
        adam,
        adam | {"first_moment": 1, "second_moment": 1},
        {"weights": 4, "gradients": 2, "momentum": 1},
        {"adapter": 1, f"state_{rng.randrange(100)}": 2, "base_weights": 8},
    ]
    n_params = rng.randrange(10**6, 10**10)
    return [RecipeCase(n_params, r, memory.training_bytes(n_params, r)) for r in recipes]


def _tokens(rng: random.Random) -> list[ShapeCase]:
    shapes = [
        _shape(rng, group_size=rng.choice([4, 8]), widen=1),
        _shape(rng, group_size=1, widen=2),
        _shape(rng, group_size=rng.choice([3, 5, 7]), widen=1),
    ]
    cases = [ShapeCase(s, _token_bytes(s)) for s in shapes]
    shared = shapes[0]
    return cases + [ShapeCase(shared, _token_bytes(shared, width), width) for width in (1, 4)]


def _cache(rng: random.Random) -> CacheCase:
    shape = _shape(rng, group_size=rng.choice([1, 4]), widen=1)
    return CacheCase(shape, rng.randrange(50, 5000), rng.randrange(3, 40), _token_bytes(shape))


def _shape(rng: random.Random, group_size: int, widen: int) -> dict:
    """A shape whose heads are `widen` times as wide as d_model / n_heads."""
    n_kv_heads, head_dim = rng.choice([3, 5, 6, 9]), rng.choice([64, 96, 160])
    n_heads = n_kv_heads * group_size
    d_model = n_heads * head_dim // widen
    return shape_fields(
        "a made-up shape", rng.randrange(10, 90), n_heads, n_kv_heads, head_dim, d_model
    )


def _token_bytes(fields: dict, width: int = 2) -> int:
    return memory.kv_bytes_per_token(memory.ModelShape(**fields), width)


def _largest(rng: random.Random) -> list[LargestCase]:
    n_params, overhead = rng.randrange(10**9, 10**11), rng.randrange(10**8, 10**10)
    card = rng.randrange(10**10, 10**11)
    return [
        LargestCase(2 * n_params + overhead, overhead, 2, n_params),
        LargestCase(4 * n_params, 0, 4, n_params),
        LargestCase(n_params, 0, 1, n_params),
        LargestCase(2 * n_params + 1, 0, 2, n_params),
        LargestCase(2**61 + 2 * n_params + 1, 0, 2, 2**60 + n_params),
        LargestCase(card, card, 2, 0),
        LargestCase(card, card + rng.randrange(1, 10**10), 2, 0),
        LargestCase(card, 0, 0, None),
        LargestCase(card, 0, -rng.randrange(1, 9), None),
    ]


def _longest(rng: random.Random) -> list[LongestCase]:
    n_tokens, batch_size = rng.randrange(100, 10**5), rng.randrange(3, 30)
    token, model = rng.randrange(10**4, 10**6), rng.randrange(10**9, 10**11)
    overhead = rng.randrange(10**8, 10**10)
    filled = model + n_tokens * token
    return [
        LongestCase(
            model + n_tokens * token * batch_size,
            model,
            token,
            n_tokens,
            {"batch_size": batch_size},
        ),
        LongestCase(filled + overhead, model, token, n_tokens, {"overhead_bytes": overhead}),
        LongestCase(filled + token - 1, model, token, n_tokens),
        LongestCase(2**61 + 2 * n_tokens + 1, 0, 2, 2**60 + n_tokens),
        LongestCase(model, model, token, 0),
        LongestCase(model, model + rng.randrange(1, 10**9), token, 0, {"batch_size": batch_size}),
        LongestCase(filled, model, token, 0, {"overhead_bytes": filled}),
        LongestCase(filled, model, token, None, {"batch_size": 0}),
        LongestCase(filled, model, token, None, {"batch_size": -batch_size}),
        LongestCase(filled, model, 0, None),
        LongestCase(filled, model, -token, None, {"batch_size": -batch_size}),
        LongestCase(filled, model, -token, None),
    ]
