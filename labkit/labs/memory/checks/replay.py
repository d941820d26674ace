"""The likely slips of lab 1's functions, each as the wrong function that it makes.

A slip is told only if it gives all that the student's function gives on the probes; see
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
    ("pair", "Only half is counted: both a key and a value are kept."): lambda s, width: 1,
    ("pair", "The factor is 2: a key and a value are kept, the query is not."): (
        lambda s, width: 3
    ),
    ("pair", "Keys and values are counted twice: the factor is 2."): lambda s, width: 4,
    ("layers", "That is one layer: every layer keeps its own."): lambda s, width: 1,
    ("heads", "Query heads were counted; a group of them shares one key and value."): (
        lambda s, width: s["n_heads"]
    ),
    ("heads", "That is one KV head: all of them are kept."): lambda s, width: 1,
    ("head", "d_model was divided among the heads; `head_dim` is the width of a head."): (
        lambda s, width: s["d_model"] // s["n_heads"]
    ),
    ("head", "d_model is the width of all heads together; `head_dim` is that of one."): (
        lambda s, width: s["d_model"]
    ),
    ("head", "The width of a head is left out."): lambda s, width: 1,
    ("width", "The numbers were taken to have 2 bytes; the call says otherwise."): (
        lambda s, width: 2
    ),
    ("width", "The numbers were taken to have 4 bytes; the call says otherwise."): (
        lambda s, width: 4
    ),
    ("width", "Bits were taken for bytes: 16 bits are 2 bytes."): lambda s, width: 8 * width,
    ("width", "Numbers were counted, not their bytes."): lambda s, width: 1,
    ("width", "Numbers of `bytes_per_number` bytes were divided by 8: they are bytes already."): (
        lambda s, width: width / 8
    ),
}


D_MODEL_SLIP = {
    "d_model is not what is stored: count KV heads, each of them `head_dim` wide.": (
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
    "The argument is in bytes already: it was divided by 8.": lambda n, width: n * width / 8,
    "2 bytes were taken for each parameter; the call says otherwise.": lambda n, width: 2 * n,
    "4 bytes were taken for each parameter; the call says otherwise.": lambda n, width: 4 * n,
    "That is GB: return bytes.": lambda n, width: n * width / 1e9,
    "That is GiB: return bytes.": lambda n, width: n * width / 2**30,
    "That is the number of parameters: each has several bytes.": lambda n, width: n,
    "Parameters were divided by their bytes; each of them takes that many.": (
        lambda n, width: n / width
    ),
    "That is what training keeps, 16 bytes per parameter; these are the weights alone.": (
        lambda n, width: 16 * n
    ),
}
RECIPE_PROBES = (
    (1_000_000_009, {"weights": 2, "gradients": 2, "momentum": 7}),
    (2_000_000_011, {"weights": 3, "gradients": 5, "first_moment": 5, "second_moment": 1}),
)
RECIPE_SLIPS = {
    "Entries of equal width were counted once; each of them is kept.": (
        lambda n, recipe: n * sum(set(recipe.values()))
    ),
    "16 bytes are the sum of one recipe; add up the values of the recipe that is given.": (
        lambda n, recipe: 16 * n
    ),
    "That is for one parameter; there are n_params.": lambda n, recipe: sum(recipe.values()),
    "The recipe is in bytes already: it was divided by 8.": (
        lambda n, recipe: n * sum(recipe.values()) / 8
    ),
    "The recipe is in bytes: it was multiplied by 8.": (
        lambda n, recipe: n * sum(recipe.values()) * 8
    ),
    "The entries were counted, not their bytes.": lambda n, recipe: n * len(recipe),
    "The entries are added up, not multiplied.": lambda n, recipe: n * prod(recipe.values()),
    "Only the weights were counted; the recipe keeps more.": (
        lambda n, recipe: n * recipe["weights"]
    ),
    "The weights were left out; they are kept as well.": (
        lambda n, recipe: n * (sum(recipe.values()) - recipe["weights"])
    ),
    "Only the largest entry was counted.": lambda n, recipe: n * max(recipe.values()),
}
LARGEST_PROBES = ((10_007, 1_009, 2), (90_001, 5_003, 4), (70_001, 0, 1), (80_021, 3_001, 3))
LARGEST_SLIPS = {
    "The overhead was not taken off.": lambda vram, overhead, width: vram // width,
    "The overhead is in bytes: take it off before you divide.": (
        lambda vram, overhead, width: vram // width - overhead
    ),
    "The overhead was added; it leaves less room.": (
        lambda vram, overhead, width: (vram + overhead) // width
    ),
    "2 bytes per parameter were taken; the call says otherwise.": (
        lambda vram, overhead, width: (vram - overhead) // 2
    ),
    "That is billions of parameters: return parameters.": (
        lambda vram, overhead, width: (vram - overhead) // width / 1e9
    ),
    "Bits were taken for bytes: the argument is in bytes.": (
        lambda vram, overhead, width: (vram - overhead) // (8 * width)
    ),
    "Rounded up: the last parameter does not fit whole.": (
        lambda vram, overhead, width: ceil((vram - overhead) / width)
    ),
    "It was not rounded down: a parameter fits whole or not at all.": (
        lambda vram, overhead, width: (vram - overhead) / width
    ),
    "That is the room in bytes: divide it by the bytes of a parameter.": (
        lambda vram, overhead, width: vram - overhead
    ),
    "The room was multiplied by the bytes of a parameter: divide.": (
        lambda vram, overhead, width: (vram - overhead) * width
    ),
}
LONGEST_PROBES = (
    (1_000_003, 90_001, 11, 3, 5_003),
    (1_000_003, 90_001, 17, 1, 20_011),
    (1_000_003, 123_457, 23, 7, 0),
)
LONGEST_SLIPS = {
    "That is for one sequence alone: the whole batch shares the room.": (
        lambda vram, model, token, batch, overhead: (vram - model - overhead) // token
    ),
    "The batch was divided out twice.": (
        lambda vram, model, token, batch, overhead: (vram - model - overhead) // (token * batch**2)
    ),
    "The weights are on the card too: they were not taken off.": (
        lambda vram, model, token, batch, overhead: (vram - overhead) // (token * batch)
    ),
    "The overhead was not taken off.": (
        lambda vram, model, token, batch, overhead: (vram - model) // (token * batch)
    ),
    "The overhead was added; it leaves less room.": (
        lambda vram, model, token, batch, overhead: (vram - model + overhead) // (token * batch)
    ),
    "Each sequence was charged for the weights; the batch shares them.": (
        lambda vram, model, token, batch, overhead: (
            (vram - model * batch - overhead) // (token * batch)
        )
    ),
    "It was not rounded down: a token fits whole or not at all.": (
        lambda vram, model, token, batch, overhead: (vram - model - overhead) / (token * batch)
    ),
    "Rounded up: the last token does not fit whole.": (
        lambda vram, model, token, batch, overhead: ceil(
            (vram - model - overhead) / (token * batch)
        )
    ),
    "That is the room in bytes: divide it by the bytes of a token.": (
        lambda vram, model, token, batch, overhead: vram - model - overhead
    ),
}
