"""Checks of lab 1's answer on what training keeps per parameter, and generation per token."""

import math

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
    ("weights", 4): "The forward pass uses 16-bit weights; the 32-bit copy has its own entry.",
    ("gradients", 4): "In this recipe the gradients have the width of the weights.",
    ("gradients", 0): "The backward pass leaves one gradient per parameter.",
    ("master_weights", 2): "The master copy exists because 16 bits lose small updates.",
    ("master_weights", 0): "The update is made on a 32-bit copy of the weights.",
    ("first_moment", 2): "Adam's moments are kept in 32 bits here.",
    ("second_moment", 2): "Adam's moments are kept in 32 bits here.",
    ("first_moment", 0): "Adam keeps two moments per parameter.",
    ("second_moment", 0): "Adam keeps two moments per parameter.",
}
TOKEN_SLIPS = {
    589_824: "Query heads were counted; a group of them shares one key and value.",
    73_728: "Half of what is needed: both a key and a value are kept.",
    294_912: "Twice too large: the cache is 16-bit.",
    1_179_648: "Eight times too large: were bits taken for bytes?",
    4_096: "That is one layer: every layer keeps its own.",
}


@check(
    "training_and_generation",
    weight=2,
    hint="The recipe above gives bits; a byte has eight. Nothing is kept at half its width.",
)
def training_keeps_five_numbers_per_parameter(student: Student, case: AnswerCase) -> None:
    """Mixed-precision training keeps five numbers per parameter, each at its own width."""
    kept = _bytes_kept(student, case, "training")
    for name, n_bytes in kept.items():
        if n_bytes in (16, 32):
            raise Wrong(f"{show(n_bytes)} bytes for {name}", why="16 bits are 2 bytes, 32 are 4.")
        slip = TRAINING_SLIPS.get((name, n_bytes))
        if slip:
            raise Wrong(f"{n_bytes:g} bytes for {name} do not fit the recipe", why=slip)
        if case.right and n_bytes != case.right.RECIPE[name]:
            misfit = f"bytes for {name} do not fit the recipe"
            raise Wrong(f"{n_bytes:g} {misfit}", cause=f"the {misfit}")


@check(
    "training_and_generation",
    hint="Is there a backward pass when a model generates? An optimizer?",
)
def generation_keeps_the_weights_alone(student: Student, case: AnswerCase) -> None:
    """Of these five, generation needs the weights alone."""
    generation = _bytes_kept(student, case, "generation")
    weights = generation["weights"]
    if weights in (0, 4, 16) or (case.right and weights != case.right.RECIPE["weights"]):
        raise Wrong(f"{show(weights)} bytes for weights", why="Generation reads 16-bit weights.")
    extra = [name for name in BYTE_NAMES[1:] if generation[name]]
    if extra:
        raise Wrong(f"nothing in generation uses {' or '.join(extra)}")


@check("training_and_generation", hint="Master copy and both moments, over the 16-bit weights.")
def optimizer_state_is_counted_against_the_weights(student: Student, case: AnswerCase) -> None:
    """The optimizer's state is compared with the 16-bit weights."""
    kept = _bytes_kept(student, case, "training")
    got = field_of(student, case, "optimizer_over_weights")
    state = kept["master_weights"] + kept["first_moment"] + kept["second_moment"]
    if not kept["weights"] or not state or not math.isclose(got * kept["weights"], state):
        why = "The master copy belongs to the optimizer's state here."
        without = kept["first_moment"] + kept["second_moment"]
        is_without = kept["weights"] and math.isclose(got * kept["weights"], without)
        raise Wrong(
            f"{show(got)} times the weights is not the state that you list above",
            why=why if is_without else "",
        )


@check("training_and_generation", hint="Your kv_bytes_per_token knows, at 2 bytes per number.")
def cache_grows_by_the_same_bytes_per_token(student: Student, case: AnswerCase) -> None:
    """Each generated token of Qwen3-8B adds the same number of bytes."""
    got = field_of(student, case, "kv_bytes_per_token_of_8b")
    slip = TOKEN_SLIPS.get(got)
    if slip:
        raise Wrong(f"{show(got)} bytes per token", why=slip)
    functions = case.right or student
    right = ask(functions, "kv_bytes_per_token", shape_of(functions, "Qwen/Qwen3-8B"))
    expect_close(case, got, right, "the bytes per token", relative=1e-6)


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
