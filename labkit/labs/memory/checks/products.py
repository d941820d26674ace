"""Checks of lab 1's products: bytes of weights, of training state, of one token, of a cache.

`weight_bytes` is about the bytes of each parameter, `training_bytes` about the sum of any recipe,
`kv_bytes_per_token` about the KV heads that are stored, `kv_cache_bytes` about tokens times
sequences: its claims compare two of its calls, so that a wrong `kv_bytes_per_token` fails none.
"""

from collections.abc import Mapping
from itertools import combinations
from math import prod

from labkit.checks.tables import CallTable, Claim, Made, Slips, call, made
from labkit.labs.memory.checks.training import BYTE_NAMES
from labkit.models.shapes import ModelShape


def shape_of(
    name: str, n_layers: int, n_heads: int, n_kv_heads: int, head_dim: int, d_model: int
) -> Made:
    """A ModelShape; size and vocabulary, which no cache depends on, are arbitrary."""
    return made(
        ModelShape,
        name,
        12 * n_layers * d_model**2,
        n_layers=n_layers,
        n_heads=n_heads,
        n_kv_heads=n_kv_heads,
        head_dim=head_dim,
        d_model=d_model,
        vocab_size=32_000,
    )


def weight_slips(n: int, width: int = 2) -> dict[str, float]:
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


weight_bytes = CallTable(
    "weight_bytes",
    "the bytes of the weights",
    [
        Claim(
            "every_parameter_takes_its_bytes",
            "The result is the bytes of all parameters together.",
            hint="Multiply the number of parameters by the bytes of one parameter.",
            rows=[
                call(7_000_000_000, 2).gives(14_000_000_000),
                call(124_439_808, 4).gives(497_759_232),
            ],
        ),
        Claim(
            "large_counts_stay_exact",
            "The result is exact, also for counts above 2^53.",
            hint="Multiply integers only. Do not use float() or `/`.",
            rows=[call(2**53 + 1, 2).gives(18_014_398_509_481_986)],
            relative=0,
            gate=False,
        ),
    ],
    slips=weight_slips,
    probes=[call(1_000_003, 2), call(70_000_027, 4), call(999_983, 1)],
)


def recipe_slips(n: int, recipe: Mapping[str, int]) -> dict[str, float]:
    """The bytes of a training by known mistakes."""
    values, weights = recipe.values(), recipe.get("weights", 0)
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
        "Only the largest entry was counted.": n * max(values, default=0),
    }


ADAM_8BIT = dict(zip(BYTE_NAMES, (2, 2, 4, 1, 1), strict=True))
WIDER = {name: width + 8 for name, width in ADAM_8BIT.items()}
training_bytes = CallTable(
    "training_bytes",
    "the bytes kept in training",
    [
        Claim(
            "adds_up_all_that_adam_keeps",
            "With Adam's recipe, every entry of the recipe is counted.",
            hint="Add up all values of the recipe first. Count two equal values twice.",
            rows=[call(1_000_000, ADAM_8BIT).gives(10_000_000)],
        ),
        Claim(
            "reads_any_recipe",
            "The function works for any recipe, also with other names than Adam's.",
            hint="Use the values of the recipe. Its names differ from recipe to recipe.",
            rows=[call(1_000_000, {"weights": 4, "gradients": 2, "momentum": 1}).gives(7_000_000)],
        ),
        Claim(
            "leaves_the_recipe_as_it_was",
            "The recipe is the same after the call as before it.",
            hint="Only read the recipe. Do not use pop, del or assignment on it.",
            weight=0.5,
            keeps=1,
            what="the recipe after the call",
            rows=[
                call(1_000_000, ADAM_8BIT).gives(10_000_000),
                call(1_000_000, WIDER).gives(50_000_000),
            ],
        ),
    ],
    slips=recipe_slips,
    probes=[
        call(1_000_000_009, {"weights": 2, "gradients": 2, "momentum": 7}),
        call(2_000_000_011, {"weights": 3, "gradients": 5, "first_moment": 5, "second_moment": 1}),
    ],
)


def token_slips(n_slips: int) -> Slips:
    """The bytes of a token after this many slips at once, each in another factor."""

    def slips(shape: ModelShape, width: int = 2) -> dict[str, float]:
        right = {
            "pair": 2,
            "layers": shape.n_layers,
            "heads": shape.n_kv_heads,
            "head": shape.head_dim,
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


def _wrong_factors(shape: ModelShape, width: int) -> dict[tuple[str, str], float]:
    return {
        ("pair", "Only half is counted: both a key and a value are stored."): 1,
        ("pair", "The factor is 2: a key and a value are stored, but no query."): 3,
        ("pair", "Keys and values are counted twice: the factor is 2."): 4,
        ("layers", "That is one layer: each layer stores its own keys and values."): 1,
        ("heads", "Query heads were counted. Multiply by n_kv_heads, not by n_heads."): (
            shape.n_heads
        ),
        ("heads", "That is one KV head: multiply by n_kv_heads."): 1,
        ("head", "d_model was divided by n_heads. The width of a head is `head_dim`."): (
            shape.d_model // shape.n_heads
        ),
        ("head", "d_model was taken for the width of a head. It is `head_dim`."): shape.d_model,
        ("head", "The width of a head was left out: multiply by `head_dim`."): 1,
        ("width", "2 bytes per number were taken, but bytes_per_number has another value."): 2,
        ("width", "4 bytes per number were taken, but bytes_per_number has another value."): 4,
        ("width", "8 bytes per number were taken, but bytes_per_number has another value."): 8,
        ("width", "Bits were taken for bytes: 16 bits are 2 bytes."): 8 * width,
        ("width", "Numbers were counted: multiply by bytes_per_number."): 1,
        ("width", "It was divided by 8, but bytes_per_number is in bytes already."): width / 8,
    }


def d_model_slip(shape: ModelShape, width: int = 2) -> dict[str, float]:
    """The bytes of a token if d_model is taken for the width of all KV heads."""
    slip = "d_model was used. Keys and values have n_kv_heads * head_dim numbers."
    return {slip: 2 * shape.n_layers * shape.d_model * width}


LLAMA_3 = shape_of("a shape like Llama-3.1-8B's", 32, 32, 8, 128, 4096)
T5 = shape_of("a shape whose head_dim is not d_model / n_heads", 24, 16, 16, 128, 1024)
kv_bytes_per_token = CallTable(
    "kv_bytes_per_token",
    "the bytes of one token",
    [
        Claim(
            "counts_the_heads_that_are_stored",
            "Keys and values that several query heads share are counted once.",
            hint="Multiply by the number of KV heads, not of query heads.",
            rows=[call(LLAMA_3).gives(131_072)],
        ),
        Claim(
            "takes_the_width_of_a_head_as_given",
            "The width of a head is head_dim, whatever d_model is.",
            hint="Take the width of a head from `shape.head_dim`.",
            rows=[call(T5).gives(196_608)],
        ),
        Claim(
            "cached_numbers_may_be_narrower_or_wider",
            "The function uses bytes_per_number, which is not always 2.",
            hint="Multiply by bytes_per_number, not by 2 for the width.",
            rows=[call(LLAMA_3, 1).gives(65_536)],
        ),
    ],
    slips=[d_model_slip, token_slips(1), token_slips(2)],  # single slips come before pairs
    probes=[
        call(shape_of("a probe", 7, 33, 11, 26, 33 * 34)),
        call(shape_of("a probe", 13, 34, 17, 38, 34 * 46), 2),
        call(shape_of("a probe", 19, 30, 6, 58, 30 * 62), 1),
        call(shape_of("a probe", 19, 30, 6, 58, 30 * 62), 4),
    ],
)

kv_cache_bytes = CallTable(
    "kv_cache_bytes",
    "the bytes of the cache",
    [
        Claim(
            "one_token_is_the_unit",
            "The cache of one token of one sequence is what kv_bytes_per_token gives.",
            hint="Return what kv_bytes_per_token returns, if there is one token and one sequence.",
            what="the cache of one token",
            rows=[call(LLAMA_3, 1).gives(131_072), call(LLAMA_3, 1, 1, 2).gives(131_072)],
            slips=lambda shape, n, *given: {
                "kv_bytes_per_token already counts keys and values: do not multiply by 2 again.": (
                    4 * shape.n_layers * shape.n_kv_heads * shape.head_dim * 2
                )
            },
        ),
        Claim(
            "grows_with_every_token",
            "Each token adds the same bytes, and 0 tokens take 0 bytes.",
            hint="Multiply the bytes of one token by n_tokens.",
            of=lambda f, shape, n, *batch: f(shape, n, *batch) / f(shape, 1, *batch),
            what="the bytes of many tokens, divided by those of one",
            rows=[call(LLAMA_3, 100).gives(100), call(LLAMA_3, 0).gives(0)],
            slips=lambda shape, n, *batch: {
                "It grows with the square of n_tokens, but each token adds the same bytes.": n * n,
                "It does not grow with n_tokens.": 1,
            },
        ),
        Claim(
            "every_sequence_keeps_its_own",
            "Each sequence of the batch has a cache of its own.",
            hint="Multiply by batch_size: each sequence has its own keys and values.",
            of=lambda f, shape, n, batch_size, **width: (
                f(shape, n, batch_size=batch_size, **width) / f(shape, n, **width)
            ),
            what="the bytes of a batch, divided by those of one sequence",
            rows=[call(LLAMA_3, 100, batch_size=3).gives(3)],
            slips=lambda shape, n, batch_size, **width: {
                "batch_size was not used: each sequence has a cache.": 1,
                "It was multiplied by batch_size twice.": batch_size**2,
            },
        ),
        Claim(
            "hands_the_width_on",
            "With 4-byte numbers the cache is twice as large as with 2-byte numbers, with 1-byte "
            "half.",
            hint="Pass bytes_per_number to kv_bytes_per_token.",
            of=lambda f, *sizes, bytes_per_number: (
                f(*sizes, bytes_per_number=bytes_per_number) / f(*sizes)
            ),
            what="the bytes at this width, divided by those at 2 bytes per number",
            rows=[
                call(LLAMA_3, 100, bytes_per_number=1).gives(0.5),
                call(LLAMA_3, 100, bytes_per_number=4).gives(2),
            ],
            slips=lambda *sizes, bytes_per_number: {
                "bytes_per_number was not passed on: this is the cache of 2-byte numbers.": 1
            },
        ),
    ],
    parts=("kv_bytes_per_token",),
)
