"""Hidden cases of lab 1: fresh numbers for the functions, the right functions for the answers."""

import random
from collections.abc import Sequence
from typing import Any

from labkit import memory
from labkit.checks.answers import AnswerCase
from labkit.checks.tables import Call, Made, call, made
from labkit.models.configs import KINDS, ModelConfig

Calls = dict[str, list[Call]]
RECIPE = {
    "weights": 2,
    "gradients": 2,
    "master_weights": 4,
    "first_moment": 4,
    "second_moment": 4,
}
KEYS = {
    "training": RECIPE,
    "largest_on_80_gb": None,
    "longest_on_l40s": None,
    "kv_table": None,
    "scaling": None,
    "peaks": None,
    "node": None,
}


def hidden_cases(rng: random.Random) -> dict[str, list]:
    """The answers of one run, by exercise."""
    return {name: [AnswerCase(name, memory, key)] for name, key in KEYS.items()}


def hidden_calls(rng: random.Random) -> dict[str, Calls]:
    """The calls of one run, by function and claim."""
    return {
        "n_params": _counts(rng),
        "kv_cache_bytes": _caches(rng),
        "largest_model": _largest(rng),
        "longest_sequence": _longest(rng),
    }


def _counts(rng: random.Random) -> Calls:
    plain, tied, normed = (_config(rng) for _ in range(3))
    experts, first, shared = (_config(rng) | _experts(rng) for _ in range(3))
    one = experts | {"num_experts_per_tok": 1}
    every = _config(rng) | _experts(rng)
    every["num_experts_per_tok"] = every["num_experts"]
    n_dense = rng.randrange(1, first["num_hidden_layers"])
    both = {"n_shared_experts": rng.randrange(2, 5), "first_k_dense_replace": 2}
    odd = plain | {"num_key_value_heads": plain["num_attention_heads"], "num_hidden_layers": 1}
    other = {"layer_types": [*["full_attention"] * (plain["num_hidden_layers"] - 1)]}
    window = {"layer_types": [*other["layer_types"], "sliding_attention"], "sliding_window": 7}
    latent = {"kv_lora_rank": 8, "qk_rope_head_dim": 4}
    groups = {
        "counts_every_matrix_of_a_dense_model": [plain, odd, plain | window],
        "a_tied_head_counts_once": [tied | {"tie_word_embeddings": True}],
        "norms_of_heads_and_biases_count": [
            normed | {"qk_norm": True},
            normed | {"attention_bias": True},
            normed | {"qk_norm": True, "attention_bias": True},
        ],
        "all_experts_are_stored_and_few_are_used": [experts, one, every],
        "first_layers_are_dense_and_some_experts_are_shared": [
            first | {"first_k_dense_replace": n_dense},
            first | {"first_k_dense_replace": first["num_hidden_layers"]},
            shared | {"n_shared_experts": 1},
            shared | both,
        ],
        "refuses_layers_with_other_projections": [
            plain | {"layer_types": [*other["layer_types"], "latent_attention"]} | latent,
            plain | {"layer_types": ["linear_attention", *other["layer_types"]], "state_bytes": 9},
        ],
    }
    return {
        name: [call(made(ModelConfig, **fields)) for fields in some]
        for name, some in groups.items()
    }


def _config(rng: random.Random) -> dict[str, Any]:
    """The fields of a dense model whose heads are not hidden_size / num_attention_heads wide."""
    n_kv_heads = rng.choice([2, 3, 5])
    n_heads = n_kv_heads * rng.choice([2, 3, 4])
    head_dim = rng.choice([6, 10, 14])
    return {
        "num_hidden_layers": rng.randrange(4, 9),
        "hidden_size": n_heads * (head_dim + rng.choice([-1, 2, 5])),
        "intermediate_size": rng.randrange(100, 300),
        "num_attention_heads": n_heads,
        "num_key_value_heads": n_kv_heads,
        "head_dim": head_dim,
        "vocab_size": rng.randrange(301, 999),
    }


def _experts(rng: random.Random) -> dict[str, int]:
    return {
        "num_experts": rng.randrange(6, 20),
        "num_experts_per_tok": rng.randrange(2, 6),
        "moe_intermediate_size": rng.randrange(11, 60),
    }


def _caches(rng: random.Random) -> Calls:
    fields, sizes = _config(rng), _sizes(rng)
    n, batch_size, window = rng.randrange(200, 5000), rng.randrange(3, 40), sizes["sliding_window"]
    few = rng.randrange(2, window - 1)
    full, sliding, latent, linear = (
        _layered(fields, sizes, [kind] * rng.randrange(2, 7)) for kind in KINDS
    )
    mixed = [
        _layered(fields, sizes, rng.sample([*KINDS, *some], 4 + len(some)))
        for some in ((KINDS[0],), (KINDS[1], KINDS[3]))
    ]
    odd = _layered(fields, sizes | {"kv_lora_rank": 57}, [KINDS[2]])
    last = _layered(fields, sizes, [KINDS[0]] * 3 + [KINDS[1]])
    same = _layered(
        fields | {"num_attention_heads": fields["num_key_value_heads"]}, sizes, KINDS[:1]
    )
    return {
        "full_layers_store_a_key_and_a_value_per_kv_head": [
            call(full, n), call(full, 1), call(same, n), call(full, 0),
        ],
        "a_window_keeps_its_last_tokens": [
            call(sliding, each) for each in (few, window - 1, window, window + 1, n)
        ],
        "a_latent_is_one_vector_per_token": [call(latent, n), call(latent, 1)],
        "a_linear_layer_keeps_one_state": [
            call(linear, n),
            call(linear, 1),
            call(linear, 0),
            call(linear, n, bytes_per_number=0.5),
        ],
        "each_layer_counts_by_its_own_kind": [
            *(call(each, n) for each in (*mixed, last)),
            call(mixed[0], few),
        ],
        "every_sequence_has_its_own": [
            call(full, n, batch_size=batch_size),
            call(linear, n, batch_size=batch_size),
            call(sliding, n, batch_size=batch_size),
            call(latent, n, batch_size=batch_size, bytes_per_number=1),
        ],
        "numbers_may_be_wider_or_narrower": [
            *(call(full, n, bytes_per_number=width) for width in (4, 1, 0.5)),
            call(latent, n, batch_size, bytes_per_number=0.5),
            call(odd, 2 * few, bytes_per_number=0.5),
        ],
    }  # fmt: skip


def _sizes(rng: random.Random) -> dict[str, int]:
    """Sizes of layers. A latent is never as wide as keys and values of heads, a multiple of 4."""
    return {
        "sliding_window": rng.randrange(20, 90),
        "kv_lora_rank": 4 * rng.randrange(10, 30),
        "qk_rope_head_dim": 4 * rng.randrange(2, 8) + 2,
        "state_bytes": rng.randrange(10_000, 99_999),
    }


def _layered(fields: dict[str, Any], sizes: dict[str, int], kinds: Sequence[str]) -> Made:
    layers = {"num_hidden_layers": len(kinds), "layer_types": list(kinds)}
    return made(ModelConfig, **(fields | sizes | layers))


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
