"""The likely slips of lab 1's functions, each with the number that it makes.

A slip is reported only if it gives all that the student's function gives on the probes; see
`labkit.checks.slips`. The probes are odd sizes, on which no two slips agree.
"""

from collections.abc import Mapping
from itertools import combinations
from math import ceil, prod
from typing import Any

from labkit.checks.slips import WrongNumbers

Shape = Mapping[str, int]


def shape_fields(
    name: str, n_layers: int, n_heads: int, n_kv_heads: int, head_dim: int, d_model: int
) -> dict[str, Any]:
    """The fields of a ModelShape; size and vocabulary, which no cache depends on, are arbitrary."""
    return {
        "name": name,
        "n_params": 12 * n_layers * d_model**2,
        "n_layers": n_layers,
        "n_heads": n_heads,
        "n_kv_heads": n_kv_heads,
        "head_dim": head_dim,
        "d_model": d_model,
        "vocab_size": 32_000,
    }


TOKEN_PROBES = (
    (shape_fields("a probe", 7, 33, 11, 26, 33 * 34),),
    (shape_fields("a probe", 13, 34, 17, 38, 34 * 46), 2),
    (shape_fields("a probe", 19, 30, 6, 58, 30 * 62), 1),
    (shape_fields("a probe", 19, 30, 6, 58, 30 * 62), 4),
)


def token_slips(n_slips: int) -> WrongNumbers:
    """The bytes of a token after so many slips at once, each in another factor."""

    def slips(shape: Shape, width: int = 2) -> dict[str, float]:
        right = {
            "pair": 2,
            "layers": shape["n_layers"],
            "heads": shape["n_kv_heads"],
            "head": shape["head_dim"],
            "width": width,
        }
        wrong = _wrong_factors(shape, width)
        return {
            " ".join(sentence for _, sentence in some): prod(
                (right | {factor: wrong[factor, sentence] for factor, sentence in some}).values()
            )
            for some in combinations(wrong, n_slips)
            if len({factor for factor, _ in some}) == n_slips
        }

    return slips


def _wrong_factors(shape: Shape, width: int) -> dict[tuple[str, str], float]:
    return {
        ("pair", "Only half is counted: both a key and a value are stored."): 1,
        ("pair", "The factor is 2: a key and a value are stored, but no query."): 3,
        ("pair", "Keys and values are counted twice: the factor is 2."): 4,
        ("layers", "That is one layer: each layer stores its own keys and values."): 1,
        ("heads", "Query heads were counted. Multiply by n_kv_heads, not by n_heads."): (
            shape["n_heads"]
        ),
        ("heads", "That is one KV head: multiply by n_kv_heads."): 1,
        ("head", "d_model was divided by n_heads. The width of a head is `head_dim`."): (
            shape["d_model"] // shape["n_heads"]
        ),
        ("head", "d_model was taken for the width of a head. It is `head_dim`."): shape["d_model"],
        ("head", "The width of a head was left out: multiply by `head_dim`."): 1,
        ("width", "2 bytes per number were taken, but bytes_per_number has another value."): 2,
        ("width", "4 bytes per number were taken, but bytes_per_number has another value."): 4,
        ("width", "Bits were taken for bytes: 16 bits are 2 bytes."): 8 * width,
        ("width", "Numbers were counted: multiply by bytes_per_number."): 1,
        ("width", "It was divided by 8, but bytes_per_number is in bytes already."): width / 8,
    }


def d_model_slip(shape: Shape, width: int = 2) -> dict[str, float]:
    """The bytes of a token if d_model is taken for the width of all KV heads."""
    slip = "d_model was used. Keys and values have n_kv_heads * head_dim numbers."
    return {slip: 2 * shape["n_layers"] * shape["d_model"] * width}


TOKEN_SLIPS = (d_model_slip, token_slips(1), token_slips(2))  # single slips come before pairs

WEIGHT_PROBES = ((1_000_003, 2), (70_000_027, 4), (999_983, 1))


def weight_slips(n: int, width: int) -> dict[str, float]:
    """The bytes of the weights by known mistakes."""
    return {
        "Bits were taken for bytes: 16 bits are 2 bytes.": 8 * n * width,
        "It was divided by 8, but bytes_per_param is in bytes already.": n * width / 8,
        "2 bytes per parameter were taken, but bytes_per_param has another value.": 2 * n,
        "4 bytes per parameter were taken, but bytes_per_param has another value.": 4 * n,
        "That is GB: return bytes.": n * width / 1e9,
        "That is GiB: return bytes.": n * width / 2**30,
        "That is the number of parameters: multiply by bytes_per_param.": n,
        "The parameters were divided by bytes_per_param: multiply.": n / width,
        "That is 16 bytes per parameter, as in training. Count only the weights.": 16 * n,
    }


RECIPE_PROBES = (
    (1_000_000_009, {"weights": 2, "gradients": 2, "momentum": 7}),
    (2_000_000_011, {"weights": 3, "gradients": 5, "first_moment": 5, "second_moment": 1}),
)


def recipe_slips(n: int, recipe: Mapping[str, int]) -> dict[str, float]:
    """The bytes of a training by known mistakes."""
    values, weights = recipe.values(), recipe["weights"]
    return {
        "Equal values of the recipe were counted once. Count each of them.": n * sum(set(values)),
        "16 bytes per parameter were taken. Add up the values of the recipe.": 16 * n,
        "That is for one parameter: multiply by n_params.": sum(values),
        "It was divided by 8, but the recipe is in bytes already.": n * sum(values) / 8,
        "It was multiplied by 8, but the recipe is in bytes.": n * sum(values) * 8,
        "The entries were counted. Add up their values.": n * len(recipe),
        "The values were multiplied. Add them up.": n * prod(values),
        "Only the weights were counted. Add up all values of the recipe.": n * weights,
        "The weights were left out. Add up all values of the recipe.": n * (sum(values) - weights),
        "Only the largest entry was counted.": n * max(values),
    }


LARGEST_PROBES = ((10_007, 1_009, 2), (90_001, 5_003, 4), (70_001, 0, 1), (80_021, 3_001, 3))


def largest_slips(vram: int, overhead: int, width: int) -> dict[str, float]:
    """The parameters that fit by known mistakes."""
    room = vram - overhead
    return {
        "The overhead was not subtracted.": vram // width,
        "The overhead is in bytes: subtract it before you divide.": vram // width - overhead,
        "The overhead was added. Subtract it.": (vram + overhead) // width,
        "2 bytes per parameter were taken: divide by bytes_per_param.": room // 2,
        "That is billions of parameters: return parameters.": room // width / 1e9,
        "Bits were taken for bytes: bytes_per_param is in bytes.": room // (8 * width),
        "It was rounded up, but the last parameter does not fit. Round down.": ceil(room / width),
        "It was not rounded down to a whole number of parameters.": room / width,
        "That is the room in bytes: divide by bytes_per_param.": room,
        "The room was multiplied by bytes_per_param: divide.": room * width,
    }


LONGEST_PROBES = (
    (1_000_003, 90_001, 11, 3, 5_003),
    (1_000_003, 90_001, 17, 1, 20_011),
    (1_000_003, 123_457, 23, 7, 0),
)


def longest_slips(vram: int, model: int, token: int, batch: int, overhead: int) -> dict[str, float]:
    """The tokens that fit by known mistakes."""
    room, step = vram - model - overhead, token * batch
    return {
        "That is for one sequence. Divide by batch_size too: the batch shares the room.": (
            room // token
        ),
        "It was divided by batch_size twice.": room // (token * batch**2),
        "The weights were not subtracted: they are on the card too.": (vram - overhead) // step,
        "The overhead was not subtracted.": (vram - model) // step,
        "The overhead was added. Subtract it.": (vram - model + overhead) // step,
        "The weights were subtracted once for each sequence. Subtract them once.": (
            (vram - model * batch - overhead) // step
        ),
        "It was not rounded down to a whole number of tokens.": room / step,
        "It was rounded up, but the last token does not fit. Round down.": ceil(room / step),
        "That is the room in bytes: divide by batch_size * token_bytes.": room,
    }
