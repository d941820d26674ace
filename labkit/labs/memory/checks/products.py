"""Checks of lab 1's products: bytes of weights, of training state, of one token, of a cache.

A function is judged on known values, or on what must hold between two of its calls (twice the
tokens, twice the bytes), so that one wrong function does not drag the next one down.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from labkit.bridge.student import Proxy, Student
from labkit.checks.compare import BYTE_FACTORS, expect_number, number_in, show
from labkit.checks.core import Wrong, check
from labkit.labs.memory.checks.training import BYTE_NAMES

ROUNDING = 1e-6
DIVIDE_WHOLE = "`/` makes a float, which holds 53 bits; `//` divides whole numbers exactly."


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


@check("weight_bytes", hint="How many bytes do 10 parameters of 4 bytes each take?")
def every_parameter_takes_its_bytes(student: Student, case: WeightCase) -> None:
    """The weights take as many bytes as all parameters together."""
    slips = dict(BYTE_FACTORS)
    if case.bytes_per_param != 2:
        slips[2 / case.bytes_per_param] = "2 bytes were taken; the call says otherwise."
    got = student.weight_bytes(case.n_params, case.bytes_per_param)
    expect_number(got, case.expected, "the bytes of the weights", relative=ROUNDING, factors=slips)


@check(
    "weight_bytes",
    hint="Whole numbers times whole numbers need no float: leave out float() and division.",
    applies_to=lambda case: case.is_beyond_floats,
)
def large_counts_stay_exact(student: Student, case: WeightCase) -> None:
    """Counts beyond 2^53 come out exactly."""
    got = student.weight_bytes(case.n_params, case.bytes_per_param)
    expect_exactly(got, case.expected, "the bytes of the weights", why=DIVIDE_WHOLE)


@check(
    "training_bytes",
    hint="Add up the recipe's bytes first: two entries of equal width are still two.",
    applies_to=lambda case: case.is_adam,
)
def adds_up_all_that_adam_keeps(student: Student, case: RecipeCase) -> None:
    """With Adam, every number kept for a parameter is counted."""
    _check_recipe(student, case)


@check(
    "training_bytes",
    hint="The recipe's names differ from one optimizer to the next; its values are what counts.",
    applies_to=lambda case: not case.is_adam,
)
def reads_any_recipe(student: Student, case: RecipeCase) -> None:
    """A recipe may keep other things than Adam does."""
    _check_recipe(student, case)


def _check_recipe(student: Student, case: RecipeCase) -> None:
    got = student.training_bytes(case.n_params, dict(case.recipe))
    factors = {
        8: "Eight times too large: a recipe counts bytes, not bits.",
        1 / case.n_params: "That is for one parameter: how many are there?",
    }
    expect_number(
        got, case.expected, "the bytes kept in training", relative=ROUNDING, factors=factors
    )


@check(
    "kv_bytes_per_token",
    hint="Which heads are stored: those that ask, or those that are looked up?",
    applies_to=lambda case: case.shares_heads and not case.has_own_head_dim and case.width is None,
)
def counts_the_heads_that_are_stored(student: Student, case: ShapeCase) -> None:
    """Where query heads share keys and values, those are stored once."""
    _check_token(student, case)


@check(
    "kv_bytes_per_token",
    hint="ModelShape has a field for the width of a head.",
    applies_to=lambda case: case.has_own_head_dim and not case.shares_heads and case.width is None,
)
def takes_the_width_of_a_head_as_given(student: Student, case: ShapeCase) -> None:
    """A head is head_dim wide, whatever d_model is."""
    _check_token(student, case)


@check(
    "kv_bytes_per_token",
    hint="The second argument says how wide one cached number is.",
    applies_to=lambda case: case.width is not None,
)
def cached_numbers_may_be_narrower_or_wider(student: Student, case: ShapeCase) -> None:
    """The bytes of one cached number are an argument, not always 2."""
    _check_token(student, case)


def _check_token(student: Student, case: ShapeCase) -> None:
    shape = case.shape
    group_size = shape["n_heads"] // shape["n_kv_heads"]
    slips = {
        0.5: "Half of what is needed: both a key and a value are kept.",
        8: "Eight times too large: were bits taken for bytes?",
        1 / shape["n_layers"]: "That is one layer: every layer keeps its own.",
        1 / shape["n_kv_heads"]: "That is one KV head: all of them are kept.",
    }
    if group_size > 1:
        slips[group_size] = "Query heads were counted; a group of them shares one key and value."
    if case.has_own_head_dim:
        narrow = shape["d_model"] / (shape["n_heads"] * shape["head_dim"])
        slips[narrow] = "d_model was divided among the heads; here a head has another width."
        slips.setdefault(narrow * group_size, "d_model is not what is stored: KV heads are.")
    if case.width is not None:
        slips[2 / case.width] = "The numbers were taken to have 2 bytes; the call says otherwise."
    arguments = () if case.width is None else (case.width,)
    got = student.kv_bytes_per_token(_place_shape(student, shape), *arguments)
    expect_number(got, case.expected, "the bytes of one token", relative=ROUNDING, factors=slips)


@check("kv_cache_bytes", hint="For one token and one sequence, nothing is left to multiply.")
def one_token_is_the_unit(student: Student, case: CacheCase) -> None:
    """One token of one sequence takes what kv_bytes_per_token says."""
    shape = _place_shape(student, case.shape)
    got = _bytes_in(student.kv_cache_bytes(shape, 1), "the cache of one token")
    if got == case.one_token:
        return
    larger = _place_shape(student, {name: 2 * count for name, count in case.shape.items()})
    if _bytes_in(student.kv_cache_bytes(larger, 1), "the cache of a larger model") == got:
        raise Wrong(
            "a model with twice of everything has the same cache",
            expected="more bytes",
            got=show(got),
        )
    own = number_in(student.kv_bytes_per_token(shape), "what kv_bytes_per_token gives")
    twice = {key: 2 * case.shape[key] for key in ("n_layers", "n_heads", "n_kv_heads", "head_dim")}
    larger = student.kv_bytes_per_token(_place_shape(student, {**case.shape, **twice}))
    if number_in(larger, "what kv_bytes_per_token gives for a larger model") == own:
        own = case.one_token  # a constant is nothing to be consistent with
    why = "kv_bytes_per_token counts keys and values already." if got == 2 * own else ""
    expect_number(got, own, "the cache of one token", relative=ROUNDING, why=why)


@check("kv_cache_bytes", hint="Compare the cache of 1 token with that of 10.")
def grows_with_every_token(student: Student, case: CacheCase) -> None:
    """Every token of a sequence takes the same bytes; no token takes none."""
    shape = _place_shape(student, case.shape)
    one = _bytes_in(student.kv_cache_bytes(shape, 1), "the cache of one token")
    many = student.kv_cache_bytes(shape, case.n_tokens)
    expect_number(many, one * case.n_tokens, "the bytes of a longer cache", relative=ROUNDING)
    expect_number(student.kv_cache_bytes(shape, 0), 0, "the bytes of an empty cache")


@check("kv_cache_bytes", hint="Do two sequences of a batch share keys and values?")
def every_sequence_keeps_its_own(student: Student, case: CacheCase) -> None:
    """Every sequence of the batch has its own cache."""
    shape = _place_shape(student, case.shape)
    one = _bytes_in(student.kv_cache_bytes(shape, case.n_tokens), "the cache of one sequence")
    batch = student.kv_cache_bytes(shape, case.n_tokens, batch_size=case.batch_size)
    expect_number(batch, one * case.batch_size, "the bytes of a batch", relative=ROUNDING)


@check("kv_cache_bytes", hint="Hand bytes_per_number on to kv_bytes_per_token.")
def hands_the_width_on(student: Student, case: CacheCase) -> None:
    """A cache of 4-byte numbers is twice one of 2-byte numbers, one of 1-byte numbers half."""
    shape = _place_shape(student, case.shape)
    two = _bytes_in(student.kv_cache_bytes(shape, case.n_tokens), "the cache")
    for width in (1, 4):
        got = student.kv_cache_bytes(shape, case.n_tokens, bytes_per_number=width)
        what = f"the cache at {width} B per number"
        expect_number(got, two * width / 2, what, relative=ROUNDING)


def expect_exactly(got: Any, expected: int, what: str, *, why: str) -> None:
    """The answer is this whole number to the last digit."""
    number = number_in(got, what)
    if number == expected:
        return
    if number == number and abs(number) < 2**53 and number != int(number):
        why = "A whole number is asked for: what does not fit whole does not fit."
    elif number == expected + 1:
        why = "Rounded up: the last one does not fit whole."
    raise Wrong(what, expected=show(expected), got=show(number), why=why)


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
T5 = shape_fields("a shape with heads of their own width", 24, 16, 16, 128, 1024)

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
