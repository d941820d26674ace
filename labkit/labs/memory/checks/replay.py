"""The likely slips of lab 1's functions, each as the wrong function that it makes.

A slip is reported only if it gives all that the student's function gives on the probes; see
`labkit.checks.slips`. The probes are odd sizes, on which no two slips agree.
"""

from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from math import ceil, prod
from typing import Any

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
TOKEN_FACTORS: Mapping[str, Callable[[Shape, int], float]] = {
    "pair": lambda s, width: 2,
    "layers": lambda s, width: s["n_layers"],
    "heads": lambda s, width: s["n_kv_heads"],
    "head": lambda s, width: s["head_dim"],
    "width": lambda s, width: width,
}
TOKEN_SLIPS: Mapping[tuple[str, str], Callable[[Shape, int], float]] = {
    ("pair", "Only half is counted: both a key and a value are stored."): lambda s, width: 1,
    ("pair", "The factor is 2: a key and a value are stored, but no query."): (lambda s, width: 3),
    ("pair", "Keys and values are counted twice: the factor is 2."): lambda s, width: 4,
    ("layers", "That is one layer: each layer stores its own keys and values."): lambda s, width: 1,
    ("heads", "Query heads were counted. Multiply by n_kv_heads, not by n_heads."): (
        lambda s, width: s["n_heads"]
    ),
    ("heads", "That is one KV head: multiply by n_kv_heads."): lambda s, width: 1,
    ("head", "d_model was divided by n_heads. The width of a head is `head_dim`."): (
        lambda s, width: s["d_model"] // s["n_heads"]
    ),
    ("head", "d_model was taken for the width of a head. It is `head_dim`."): (
        lambda s, width: s["d_model"]
    ),
    ("head", "The width of a head was left out: multiply by `head_dim`."): lambda s, width: 1,
    ("width", "2 bytes per number were taken, but bytes_per_number has another value."): (
        lambda s, width: 2
    ),
    ("width", "4 bytes per number were taken, but bytes_per_number has another value."): (
        lambda s, width: 4
    ),
    ("width", "Bits were taken for bytes: 16 bits are 2 bytes."): lambda s, width: 8 * width,
    ("width", "Numbers were counted: multiply by bytes_per_number."): lambda s, width: 1,
    ("width", "It was divided by 8, but bytes_per_number is in bytes already."): (
        lambda s, width: width / 8
    ),
}


D_MODEL_SLIP = {
    "d_model was used. Keys and values have n_kv_heads * head_dim numbers.": (
        lambda shape, width=2: 2 * shape["n_layers"] * shape["d_model"] * width
    )
}


def token_slips() -> Iterator[dict[str, Callable[..., float]]]:
    """The wrong functions by what is said of them: first all single slips, then all pairs."""
    yield D_MODEL_SLIP
    for n_slips in (1, 2):
        yield {
            " ".join(sentence for _, sentence in some): _product_with(some)
            for some in combinations(TOKEN_SLIPS, n_slips)
            if len({factor for factor, _ in some}) == n_slips
        }


def _product_with(slips: tuple[tuple[str, str], ...]) -> Callable[..., float]:
    wrong = {factor: TOKEN_SLIPS[factor, sentence] for factor, sentence in slips}
    factors = {**TOKEN_FACTORS, **wrong}
    return lambda shape, width=2: prod(factor(shape, width) for factor in factors.values())


WEIGHT_PROBES = ((1_000_003, 2), (70_000_027, 4), (999_983, 1))
WEIGHT_SLIPS = {
    "Bits were taken for bytes: 16 bits are 2 bytes.": lambda n, width: 8 * n * width,
    "It was divided by 8, but bytes_per_param is in bytes already.": lambda n, width: n * width / 8,
    "2 bytes per parameter were taken, but bytes_per_param has another value.": lambda n, width: (
        2 * n
    ),
    "4 bytes per parameter were taken, but bytes_per_param has another value.": lambda n, width: (
        4 * n
    ),
    "That is GB: return bytes.": lambda n, width: n * width / 1e9,
    "That is GiB: return bytes.": lambda n, width: n * width / 2**30,
    "That is the number of parameters: multiply by bytes_per_param.": lambda n, width: n,
    "The parameters were divided by bytes_per_param: multiply.": (lambda n, width: n / width),
    "That is 16 bytes per parameter, as in training. Count only the weights.": (
        lambda n, width: 16 * n
    ),
}
RECIPE_PROBES = (
    (1_000_000_009, {"weights": 2, "gradients": 2, "momentum": 7}),
    (2_000_000_011, {"weights": 3, "gradients": 5, "first_moment": 5, "second_moment": 1}),
)
RECIPE_SLIPS = {
    "Equal values of the recipe were counted once. Count each of them.": (
        lambda n, recipe: n * sum(set(recipe.values()))
    ),
    "16 bytes per parameter were taken. Add up the values of the recipe.": (
        lambda n, recipe: 16 * n
    ),
    "That is for one parameter: multiply by n_params.": lambda n, recipe: sum(recipe.values()),
    "It was divided by 8, but the recipe is in bytes already.": (
        lambda n, recipe: n * sum(recipe.values()) / 8
    ),
    "It was multiplied by 8, but the recipe is in bytes.": (
        lambda n, recipe: n * sum(recipe.values()) * 8
    ),
    "The entries were counted. Add up their values.": lambda n, recipe: n * len(recipe),
    "The values were multiplied. Add them up.": lambda n, recipe: n * prod(recipe.values()),
    "Only the weights were counted. Add up all values of the recipe.": (
        lambda n, recipe: n * recipe["weights"]
    ),
    "The weights were left out. Add up all values of the recipe.": (
        lambda n, recipe: n * (sum(recipe.values()) - recipe["weights"])
    ),
    "Only the largest entry was counted.": lambda n, recipe: n * max(recipe.values()),
}
LARGEST_PROBES = ((10_007, 1_009, 2), (90_001, 5_003, 4), (70_001, 0, 1), (80_021, 3_001, 3))
LARGEST_SLIPS = {
    "The overhead was not subtracted.": lambda vram, overhead, width: vram // width,
    "The overhead is in bytes: subtract it before you divide.": (
        lambda vram, overhead, width: vram // width - overhead
    ),
    "The overhead was added. Subtract it.": (
        lambda vram, overhead, width: (vram + overhead) // width
    ),
    "2 bytes per parameter were taken: divide by bytes_per_param.": (
        lambda vram, overhead, width: (vram - overhead) // 2
    ),
    "That is billions of parameters: return parameters.": (
        lambda vram, overhead, width: (vram - overhead) // width / 1e9
    ),
    "Bits were taken for bytes: bytes_per_param is in bytes.": (
        lambda vram, overhead, width: (vram - overhead) // (8 * width)
    ),
    "It was rounded up, but the last parameter does not fit. Round down.": (
        lambda vram, overhead, width: ceil((vram - overhead) / width)
    ),
    "It was not rounded down to a whole number of parameters.": (
        lambda vram, overhead, width: (vram - overhead) / width
    ),
    "That is the room in bytes: divide by bytes_per_param.": (
        lambda vram, overhead, width: vram - overhead
    ),
    "The room was multiplied by bytes_per_param: divide.": (
        lambda vram, overhead, width: (vram - overhead) * width
    ),
}
LONGEST_PROBES = (
    (1_000_003, 90_001, 11, 3, 5_003),
    (1_000_003, 90_001, 17, 1, 20_011),
    (1_000_003, 123_457, 23, 7, 0),
)
LONGEST_SLIPS = {
    "That is for one sequence. Divide by batch_size too: the batch shares the room.": (
        lambda vram, model, token, batch, overhead: (vram - model - overhead) // token
    ),
    "It was divided by batch_size twice.": (
        lambda vram, model, token, batch, overhead: (vram - model - overhead) // (token * batch**2)
    ),
    "The weights were not subtracted: they are on the card too.": (
        lambda vram, model, token, batch, overhead: (vram - overhead) // (token * batch)
    ),
    "The overhead was not subtracted.": (
        lambda vram, model, token, batch, overhead: (vram - model) // (token * batch)
    ),
    "The overhead was added. Subtract it.": (
        lambda vram, model, token, batch, overhead: (vram - model + overhead) // (token * batch)
    ),
    "The weights were subtracted once for each sequence. Subtract them once.": (
        lambda vram, model, token, batch, overhead: (
            (vram - model * batch - overhead) // (token * batch)
        )
    ),
    "It was not rounded down to a whole number of tokens.": (
        lambda vram, model, token, batch, overhead: (vram - model - overhead) / (token * batch)
    ),
    "It was rounded up, but the last token does not fit. Round down.": (
        lambda vram, model, token, batch, overhead: ceil(
            (vram - model - overhead) / (token * batch)
        )
    ),
    "That is the room in bytes: divide by batch_size * token_bytes.": (
        lambda vram, model, token, batch, overhead: vram - model - overhead
    ),
}
