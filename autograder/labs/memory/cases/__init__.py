"""Hidden cases of lab 1: fresh numbers for the functions, the right functions for the answers."""

import random

from labkit import memory
from labkit.checks.answers import AnswerCase
from labkit.checks.tables import Call, Made, call
from labkit.labs.memory.checks.products import shape_of

Calls = dict[str, list[Call]]
RECIPE = {
    "weights": 2,
    "gradients": 2,
    "master_weights": 4,
    "first_moment": 4,
    "second_moment": 4,
}
KEYS = {
    "training_and_generation": RECIPE,
    "largest_on_80_gb": None,
    "longest_on_l40s": None,
    "kv_table": None,
    "one_cell": {"k_and_v": 2, "bytes_per_number": 2},
    "scaling": None,
}


def hidden_cases(rng: random.Random) -> dict[str, list]:
    """The answers of one run, by exercise."""
    return {name: [AnswerCase(name, memory, key)] for name, key in KEYS.items()}


def hidden_calls(rng: random.Random) -> dict[str, Calls]:
    """The calls of one run, by function and claim."""
    return {
        "weight_bytes": _weights(rng),
        "training_bytes": _recipes(rng),
        "kv_bytes_per_token": _tokens(rng),
        "kv_cache_bytes": _caches(rng),
        "largest_model": _largest(rng),
        "longest_sequence": _longest(rng),
    }


def _weights(rng: random.Random) -> Calls:
    counts = [call(rng.randrange(10**8, 10**11), width) for width in (1, 2, 4, 8)]
    return {
        "every_parameter_takes_its_bytes": [*counts, call(0, 2), call(rng.randrange(10**6))],
        "large_counts_stay_exact": [
            call(2**53 + 2 * rng.randrange(1, 10**6) + 1, 2),
        ],
    }


def _recipes(rng: random.Random) -> Calls:
    adam = dict(RECIPE)
    others = {"adapter": 1, f"state_{rng.randrange(100)}": 2, "base_weights": 8}
    many = others | {f"part_{i}": i % 3 for i in range(6)}
    n_params = rng.randrange(10**6, 10**10)
    recipes = [adam, adam | {"first_moment": 1, "second_moment": 1}]
    wider = {name: width + 8 for name, width in adam.items()}
    return {
        "adds_up_all_that_adam_keeps": [call(n_params, recipe) for recipe in recipes],
        "reads_any_recipe": [
            call(n_params, {"weights": 4, "gradients": 2, "momentum": 1}),
            *(call(n_params, recipe) for recipe in (others, many, {})),
        ],
        "leaves_the_recipe_as_it_was": [call(n_params, recipe) for recipe in (adam, wider)],
    }


def _tokens(rng: random.Random) -> Calls:
    shared = _shape(rng, group_size=8, widen=1)
    wide, narrow = (_shape(rng, group_size=1, widen=widen) for widen in (2, 0.5))
    odd = _shape(rng, group_size=rng.choice([3, 5, 7]), widen=1)
    one = shape_of("one layer, one KV head", 1, 6, 1, 64, 384)
    return {
        "counts_the_heads_that_are_stored": [call(shared), call(odd), call(one)],
        "takes_the_width_of_a_head_as_given": [call(wide), call(narrow)],
        "cached_numbers_may_be_narrower_or_wider": [call(shared, width) for width in (1, 4, 8)],
    }


def _caches(rng: random.Random) -> Calls:
    calls: Calls = {}
    for _ in range(2):
        shape = _shape(rng, group_size=rng.choice([1, 4]), widen=1)
        n, batch_size = rng.randrange(50, 5000), rng.randrange(3, 40)
        of_shape = {
            "one_token_is_the_unit": [call(shape, 1)],
            "grows_with_every_token": [call(shape, n), call(shape, 0), call(shape, 0, batch_size)],
            "every_sequence_keeps_its_own": [
                call(shape, n, batch_size=batch_size),
                call(shape, n, batch_size=batch_size, bytes_per_number=4),
            ],
            "hands_the_width_on": [
                *(call(shape, n, bytes_per_number=width) for width in (1, 4)),
                call(shape, n, batch_size, bytes_per_number=4),
            ],
        }
        for name, some in of_shape.items():
            calls.setdefault(name, []).extend(some)
    return calls


def _shape(rng: random.Random, group_size: int, widen: float) -> Made:
    """A shape whose heads are `widen` times as wide as d_model / n_heads."""
    n_kv_heads, head_dim = rng.choice([3, 5, 6, 9]), rng.choice([64, 96, 160])
    n_heads = n_kv_heads * group_size
    d_model = int(n_heads * head_dim / widen)
    return shape_of(
        "a made-up shape", rng.randrange(10, 90), n_heads, n_kv_heads, head_dim, d_model
    )


def _largest(rng: random.Random) -> Calls:
    n_params, overhead = rng.randrange(10**9, 10**11), rng.randrange(10**8, 10**10)
    card = rng.randrange(10**10, 10**11)
    return {
        "weights_fill_what_the_overhead_leaves": [
            call(2 * n_params + overhead, overhead, 2),
            call(card, card - 2),
            call(2 * n_params, 2 * n_params - 3),
        ],
        "wider_parameters_leave_room_for_fewer": [
            call(4 * n_params, 0, 4),
            call(n_params, 0, 1),
            call(4 * n_params + overhead, overhead, 4),
        ],
        "a_parameter_fits_whole_or_not_at_all": [
            call(2 * n_params + 1),
            call(2**61 + 2 * (n_params | 1) + 1),
        ],
        "a_full_card_holds_no_parameters": [
            call(card, card, 2),
            call(card, card - 1, 2),
            call(card, card + rng.randrange(1, 10**10), 2),
        ],
        "refuses_parameters_without_width": [
            call(card, 0, 0),
            call(card, 0, -rng.randrange(1, 9)),
            call(card, card, 0),
        ],
    }


def _longest(rng: random.Random) -> Calls:
    n_tokens, batch_size = rng.randrange(100, 10**5), rng.randrange(3, 30)
    token, model = rng.randrange(10**4, 10**6), rng.randrange(10**9, 10**11)
    overhead = rng.randrange(10**8, 10**10)
    filled = model + n_tokens * token
    return {
        "the_batch_shares_what_the_weights_leave": [
            call(model + n_tokens * token * batch_size, model, token, batch_size=batch_size),
            call(model + token * batch_size, model, token, batch_size),
        ],
        "an_overhead_comes_off_first": [
            call(filled + overhead, model, token, overhead_bytes=overhead),
            call(
                model + (n_tokens + 1) * token * batch_size + overhead - 1,
                model,
                token,
                batch_size,
                overhead,
            ),
        ],
        "a_token_fits_whole_or_not_at_all": [
            call(filled + token - 1, model, token),
            call(model + n_tokens, model, 1),
            call(2**61 + 2 * (n_tokens | 1) + 1, 0, 2),
        ],
        "no_room_means_no_tokens": [
            call(model, model, token),
            call(model, model + rng.randrange(1, 10**9), token, batch_size=batch_size),
            call(filled, model, token, overhead_bytes=filled),
        ],
        "refuses_an_empty_batch": [
            call(filled, model, token, batch_size=0),
            call(filled, model, token, batch_size=-batch_size),
            call(model, model, token, batch_size=0),
            call(filled, model, 0),
            call(filled, model, -token, batch_size=-batch_size),
            call(filled, model, -token),
        ],
    }
