"""Checks of lab 1's answer on what training keeps per parameter, and generation per token."""

import math
from functools import partial

from labkit.bridge.student import Student
from labkit.checks.answers import (
    AnswerCase,
    ask,
    expect_close,
    field_of,
    fields_of,
    finite_number_in,
    shape_of,
)
from labkit.checks.compare import expect_mapping, show
from labkit.checks.core import Wrong, check

BYTE_NAMES = ("weights", "gradients", "master_weights", "first_moment", "second_moment")
TRAINING_SLIPS = {
    (
        "weights",
        4,
    ): "The forward pass uses 16-bit weights. The 32-bit copy is the entry master_weights.",
    ("gradients", 4): "In this recipe the gradients have 16 bits, like the weights.",
    ("gradients", 0): "The backward pass computes one gradient per parameter.",
    (
        "master_weights",
        2,
    ): "The master copy has 32 bits: in 16 bits a small update is rounded away.",
    ("master_weights", 0): "The optimizer updates a 32-bit copy of the weights.",
    ("first_moment", 2): "Adam's moments are kept in 32 bits here.",
    ("second_moment", 2): "Adam's moments are kept in 32 bits here.",
    ("first_moment", 0): "Adam keeps two moments per parameter.",
    ("second_moment", 0): "Adam keeps two moments per parameter.",
}
TOKEN_SLIPS = {
    589_824: "Query heads were counted. Keys and values are stored once per KV head.",
    73_728: "That is half. Count 2 bytes per number, for the key and for the value.",
    294_912: "That is twice too much. Count 2 bytes per number, for the key and for the value.",
    1_179_648: "That is eight times too much: 16 bits are 2 bytes.",
    4_096: "That is one layer: each layer stores its own keys and values.",
}

_answer = partial(check, "training_and_generation")


@_answer(weight=2, hint="Read section 3 again. It gives bits: divide them by 8.")
def training_keeps_five_numbers_per_parameter(student: Student, case: AnswerCase) -> None:
    """Training keeps five numbers per parameter, each with the bytes of the recipe."""
    kept = _bytes_kept(student, case, "training")
    for name, n_bytes in kept.items():
        if n_bytes in (16, 32):
            raise Wrong(f"{show(n_bytes)} bytes for {name}", why="16 bits are 2 bytes, 32 are 4.")
        slip = TRAINING_SLIPS.get((name, n_bytes))
        if slip:
            raise Wrong(f"{n_bytes:g} bytes for {name} do not fit the recipe", why=slip)
        if case.key and n_bytes != case.key[name]:
            misfit = f"bytes for {name} do not fit the recipe"
            raise Wrong(f"{n_bytes:g} {misfit}", cause=f"the {misfit}")


@_answer(hint="Enter 0 for what only a backward pass or an optimizer uses.")
def generation_keeps_the_weights_alone(student: Student, case: AnswerCase) -> None:
    """Of these five numbers, generation keeps only the weights."""
    generation = _bytes_kept(student, case, "generation")
    weights = generation["weights"]
    if weights in (0, 4, 16) or (case.key and weights != case.key["weights"]):
        raise Wrong(
            f"{show(weights)} bytes for weights",
            why="Generation uses 16-bit weights, 2 bytes each.",
        )
    extra = [name for name in BYTE_NAMES[1:] if generation[name]]
    if extra:
        raise Wrong(f"nothing in generation uses {' or '.join(extra)}")


@_answer(hint="Add master copy and both moments. Divide by the 16-bit weights.")
def optimizer_state_is_counted_against_the_weights(student: Student, case: AnswerCase) -> None:
    """`optimizer_over_weights` is the optimizer's state divided by the 16-bit weights."""
    kept = _bytes_kept(student, case, "training")
    got = field_of(student, case, "optimizer_over_weights")
    state = kept["master_weights"] + kept["first_moment"] + kept["second_moment"]
    if not kept["weights"] or not state or not math.isclose(got * kept["weights"], state):
        why = "Here the master copy is a part of the optimizer's state."
        without = kept["first_moment"] + kept["second_moment"]
        is_without = kept["weights"] and math.isclose(got * kept["weights"], without)
        raise Wrong(
            f"{show(got)} times the weights is not the state that your entries give",
            why=why if is_without else "",
        )


@_answer(hint="Call your kv_bytes_per_token with 2 bytes per number.")
def cache_grows_by_the_same_bytes_per_token(student: Student, case: AnswerCase) -> None:
    """`kv_bytes_per_token_of_8b` is what one token of Qwen3-8B adds to the cache."""
    got = field_of(student, case, "kv_bytes_per_token_of_8b")
    functions = case.right or student
    right = ask(functions, "kv_bytes_per_token", shape_of(functions, "Qwen/Qwen3-8B"))
    source = "the layers, KV heads and head_dim of Qwen3-8B"
    what = "the bytes per token"
    expect_close(case, got, right, what, source, relative=1e-6, slips=TOKEN_SLIPS)


def _bytes_kept(student: Student, case: AnswerCase, phase: str) -> dict[str, float]:
    answer = fields_of(student, case, (phase,))
    kept = expect_mapping(answer[phase], BYTE_NAMES, f'the entry "{phase}"')
    numbers = {name: finite_number_in(kept[name], f"{phase}, {name}") for name in BYTE_NAMES}
    for name, number in numbers.items():
        if not 0 <= number <= 64:
            raise Wrong(f"{phase}, {name}", expected="a few bytes", got=show(number))
    return numbers


OPEN_CASES = {
    "training_and_generation": [AnswerCase("training_and_generation")],
}
