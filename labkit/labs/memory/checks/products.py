"""Checks of lab 1's products: bytes of weights, of training state, of one token, of a cache.

`weight_bytes` is about the bytes of each parameter, `training_bytes` about the sum of any recipe,
`kv_bytes_per_token` about the KV heads that are stored, `kv_cache_bytes` about tokens times
sequences.

A function is judged on known values, or on what must hold between two of its calls (twice the
tokens, twice the bytes), so that one wrong function does not drag the next one down.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

from labkit.bridge.requests import place, values_of
from labkit.bridge.student import Proxy, Student
from labkit.checks.compare import expect_equal, expect_number, number_in, show, told_apart
from labkit.checks.core import NotJudged, Wrong, check
from labkit.checks.slips import cause_by_replay
from labkit.labs.memory.checks.replay import (
    RECIPE_PROBES,
    TOKEN_PROBES,
    TOKEN_SLIPS,
    WEIGHT_PROBES,
    recipe_slips,
    shape_fields,
    weight_slips,
)
from labkit.labs.memory.checks.training import BYTE_NAMES

ROUNDING = 1e-6

_weights = partial(check, "weight_bytes")
_training = partial(check, "training_bytes", gate=True)
_token = partial(check, "kv_bytes_per_token", gate=True)
_cache = partial(check, "kv_cache_bytes", parts=("kv_bytes_per_token",), gate=True)


@dataclass(frozen=True)
class WeightCase:
    """Weights of one width."""

    n_params: int
    bytes_per_param: int
    expected: int

    @property
    def is_beyond_floats(self) -> bool:
        return self.n_params > 2**53

    def __str__(self) -> str:
        return f"{self.n_params:,} parameters, {self.bytes_per_param} B each"


@dataclass(frozen=True)
class RecipeCase:
    """Training state kept by some recipe."""

    n_params: int
    recipe: Mapping[str, int]
    expected: int

    @property
    def is_adam(self) -> bool:
        return "second_moment" in self.recipe

    def __str__(self) -> str:
        return f"{self.n_params:,} parameters trained with {dict(self.recipe)}"


@dataclass(frozen=True)
class ShapeCase:
    """One token of one model. `width` None leaves bytes_per_number out of the call."""

    shape: Mapping[str, Any]
    expected: int
    width: int | None = None

    @property
    def shares_heads(self) -> bool:
        return self.shape["n_kv_heads"] < self.shape["n_heads"]

    @property
    def has_own_head_dim(self) -> bool:
        return self.shape["n_heads"] * self.shape["head_dim"] != self.shape["d_model"]

    def __str__(self) -> str:
        width = "" if self.width is None else f", {self.width} B per number"
        return f"{self.shape['name']}{width}"


@dataclass(frozen=True)
class CacheCase:
    """A batch of equally long sequences. one_token: the bytes of one token of one sequence."""

    shape: Mapping[str, Any]
    n_tokens: int
    batch_size: int
    one_token: int

    def __str__(self) -> str:
        return f"{self.shape['name']}, {self.batch_size} x {self.n_tokens:,} tokens"


@_weights(hint="Multiply the number of parameters by the bytes of one parameter.", gate=True)
def every_parameter_takes_its_bytes(student: Student, case: WeightCase) -> None:
    """The result is the bytes of all parameters together."""
    got = student.weight_bytes(case.n_params, case.bytes_per_param)
    with cause_by_replay(student.weight_bytes, WEIGHT_PROBES, weight_slips):
        expect_number(got, case.expected, "the bytes of the weights", relative=ROUNDING)


@_weights(
    hint="Multiply integers only. Do not use float() or `/`.",
    applies_to=lambda case: case.is_beyond_floats,
)
def large_counts_stay_exact(student: Student, case: WeightCase) -> None:
    """The result is exact, also for counts above 2^53."""
    got = student.weight_bytes(case.n_params, case.bytes_per_param)
    with cause_by_replay(student.weight_bytes, WEIGHT_PROBES, weight_slips):
        expect_exactly(got, case.expected, "the bytes of the weights")


@_training(
    hint="Add up all values of the recipe first. Count two equal values twice.",
    applies_to=lambda case: case.is_adam,
)
def adds_up_all_that_adam_keeps(student: Student, case: RecipeCase) -> None:
    """With Adam's recipe, every entry of the recipe is counted."""
    _check_recipe(student, case)


@_training(
    hint="Use the values of the recipe. Its names differ from recipe to recipe.",
    applies_to=lambda case: not case.is_adam,
)
def reads_any_recipe(student: Student, case: RecipeCase) -> None:
    """The function works for any recipe, also with other names than Adam's."""
    _check_recipe(student, case)


@_training(
    hint="Only read the recipe. Do not use pop, del or assignment on it.",
    weight=0.5,
    applies_to=lambda case: case.is_adam,
    gate=False,
)
def leaves_the_recipe_as_it_was(student: Student, case: RecipeCase) -> None:
    """The recipe is the same after the call as before it."""
    recipe = place(student, dict(case.recipe))
    what = "the bytes kept in training"
    got = number_in(student.training_bytes(case.n_params, recipe), what)
    (after,) = values_of(student, [recipe])
    expect_equal(after, dict(case.recipe), "the recipe after the call")
    wider = {name: width + 8 for name, width in case.recipe.items()}
    if not number_in(student.training_bytes(case.n_params, wider), what) > got:
        raise NotJudged("the result is the same with 8 bytes more for each entry")


def _check_recipe(student: Student, case: RecipeCase) -> None:
    got = student.training_bytes(case.n_params, dict(case.recipe))
    with cause_by_replay(student.training_bytes, RECIPE_PROBES, recipe_slips):
        expect_number(got, case.expected, "the bytes kept in training", relative=ROUNDING)


@_token(
    hint="Multiply by the number of KV heads, not of query heads.",
    applies_to=lambda case: case.shares_heads and not case.has_own_head_dim and case.width is None,
)
def counts_the_heads_that_are_stored(student: Student, case: ShapeCase) -> None:
    """Keys and values that several query heads share are counted once."""
    _check_token(student, case)


@_token(
    hint="Take the width of a head from `shape.head_dim`.",
    applies_to=lambda case: case.has_own_head_dim and not case.shares_heads and case.width is None,
)
def takes_the_width_of_a_head_as_given(student: Student, case: ShapeCase) -> None:
    """The width of a head is head_dim, whatever d_model is."""
    _check_token(student, case)


@_token(
    hint="Multiply by bytes_per_number, not by 2 for the width.",
    applies_to=lambda case: case.width is not None,
)
def cached_numbers_may_be_narrower_or_wider(student: Student, case: ShapeCase) -> None:
    """The function uses bytes_per_number, which is not always 2."""
    _check_token(student, case)


def _check_token(student: Student, case: ShapeCase) -> None:
    def ask(shape: Mapping[str, Any], *width: int) -> Any:
        return student.kv_bytes_per_token(_place_shape(student, shape), *width)

    width = () if case.width is None else (case.width,)
    with cause_by_replay(ask, TOKEN_PROBES, *TOKEN_SLIPS):
        got = ask(case.shape, *width)
        expect_number(got, case.expected, "the bytes of one token", relative=ROUNDING)


@_cache(hint="Return what kv_bytes_per_token returns, if there is one token and one sequence.")
def one_token_is_the_unit(student: Student, case: CacheCase) -> None:
    """The cache of one token of one sequence is what kv_bytes_per_token gives."""
    shape = _place_shape(student, case.shape)
    got = _bytes_in(student.kv_cache_bytes(shape, 1), "the cache of one token")
    if got == case.one_token:
        return
    larger = _place_shape(student, {name: 2 * count for name, count in case.shape.items()})
    if _bytes_in(student.kv_cache_bytes(larger, 1), "the cache of a larger model") == got:
        raise Wrong(
            "a model with twice the layers, heads and widths has the same cache",
            expected="more bytes",
            got=show(got),
        )
    own = number_in(student.kv_bytes_per_token(shape), "what kv_bytes_per_token gives")
    twice = {key: 2 * case.shape[key] for key in ("n_layers", "n_heads", "n_kv_heads", "head_dim")}
    larger = student.kv_bytes_per_token(_place_shape(student, {**case.shape, **twice}))
    if number_in(larger, "what kv_bytes_per_token gives for a larger model") == own:
        own = case.one_token  # a constant is nothing to be consistent with
    why = (
        "kv_bytes_per_token already counts keys and values: do not multiply by 2 again."
        if got == 2 * own
        else ""
    )
    expect_number(got, own, "the cache of one token", relative=ROUNDING, why=why)


@_cache(hint="Multiply the bytes of one token by n_tokens.")
def grows_with_every_token(student: Student, case: CacheCase) -> None:
    """Each token adds the same bytes, and 0 tokens take 0 bytes."""
    shape = _place_shape(student, case.shape)
    one = _bytes_in(student.kv_cache_bytes(shape, 1), "the cache of one token")
    many = student.kv_cache_bytes(shape, case.n_tokens)
    slips = {
        one
        * case.n_tokens
        ** 2: "It grows with the square of n_tokens, but each token adds the same bytes.",
        one: "It does not grow with n_tokens.",
    }
    what = f"the bytes of {case.n_tokens:,} tokens, {case.n_tokens:,} times those of one"
    expect_number(many, one * case.n_tokens, what, relative=ROUNDING, slips=slips)
    expect_number(student.kv_cache_bytes(shape, 0), 0, "the bytes of an empty cache")


@_cache(hint="Multiply by batch_size: each sequence has its own keys and values.")
def every_sequence_keeps_its_own(student: Student, case: CacheCase) -> None:
    """Each sequence of the batch has a cache of its own."""
    shape = _place_shape(student, case.shape)
    one = _bytes_in(student.kv_cache_bytes(shape, case.n_tokens), "the cache of one sequence")
    batch = student.kv_cache_bytes(shape, case.n_tokens, batch_size=case.batch_size)
    slips = {
        one: "batch_size was not used: each sequence has a cache.",
        one * case.batch_size**2: "It was multiplied by batch_size twice.",
    }
    what = f"the bytes of a batch of {case.batch_size}"
    expect_number(batch, one * case.batch_size, what, relative=ROUNDING, slips=slips)


@_cache(hint="Pass bytes_per_number to kv_bytes_per_token.")
def hands_the_width_on(student: Student, case: CacheCase) -> None:
    """With 4-byte numbers the cache is twice as large as with 2-byte numbers, with 1-byte half."""
    shape = _place_shape(student, case.shape)
    two = _bytes_in(student.kv_cache_bytes(shape, case.n_tokens), "the cache")
    for width in (1, 4):
        got = student.kv_cache_bytes(shape, case.n_tokens, bytes_per_number=width)
        what = f"the cache at {width} B per number"
        slips = {two: "bytes_per_number was not passed on: this is the cache of 2-byte numbers."}
        expect_number(got, two * width / 2, what, relative=ROUNDING, slips=slips)


def expect_exactly(got: Any, expected: int, what: str) -> None:
    """The answer is this whole number to the last digit."""
    number = number_in(got, what)
    if number == expected:
        return
    why = ""
    if abs(number - expected) <= abs(expected) * 2**-52:
        why = "A float holds 53 bits, so the last digits are lost. Do not use `/` or float()."
    raise Wrong(what, **told_apart(expected, number), why=why)


def _place_shape(student: Student, fields: Mapping[str, Any]) -> Proxy:
    """A ModelShape beside the student's code, as the notebook's own functions get it."""
    return student.ModelShape(**fields)


def _bytes_in(got: Any, what: str) -> float | int:
    """A number of bytes that can be compared with another call's: not negative, not nothing."""
    number = number_in(got, what)
    if not 0 < number < float("inf"):
        raise Wrong(what, expected="some bytes", got=show(number))
    return number


ADAM_8BIT = dict(zip(BYTE_NAMES, (2, 2, 4, 1, 1), strict=True))
MOMENTUM = {"weights": 4, "gradients": 2, "momentum": 1}
LLAMA_3 = shape_fields("a shape like Llama-3.1-8B's", 32, 32, 8, 128, 4096)
T5 = shape_fields("a shape whose head_dim is not d_model / n_heads", 24, 16, 16, 128, 1024)

OPEN_CASES = {
    "weight_bytes": [
        WeightCase(7_000_000_000, 2, 14_000_000_000),
        WeightCase(124_439_808, 4, 497_759_232),
        WeightCase(2**53 + 1, 2, 18_014_398_509_481_986),
    ],
    "training_bytes": [
        RecipeCase(1_000_000, ADAM_8BIT, 10_000_000),
        RecipeCase(1_000_000, MOMENTUM, 7_000_000),
    ],
    "kv_bytes_per_token": [
        ShapeCase(LLAMA_3, 131_072),
        ShapeCase(T5, 196_608),
        ShapeCase(LLAMA_3, 65_536, width=1),
    ],
    "kv_cache_bytes": [CacheCase(LLAMA_3, n_tokens=100, batch_size=3, one_token=131_072)],
}
