"""Checks of lab 1's answer on what training keeps for each parameter, and for a whole model."""

from functools import partial

from labkit.bridge.student import Student
from labkit.checks.answers import AnswerCase, expect_close, field_of, fields_of
from labkit.checks.compare import finite_number_in, show
from labkit.checks.core import Wrong, check
from labkit.models.configs import recent_models

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
MIXTURE = "Qwen/Qwen3-30B-A3B"

_answer = partial(check, "training")


@_answer(weight=2, hint="Read the recipe again. It gives bits: divide them by 8.")
def training_keeps_five_numbers_per_parameter(student: Student, case: AnswerCase) -> None:
    """Training keeps five numbers per parameter, each with the bytes of the recipe."""
    for name, n_bytes in _bytes_kept(student, case).items():
        if n_bytes in (16, 32):
            raise Wrong(f"{show(n_bytes)} bytes for {name}", why="16 bits are 2 bytes, 32 are 4.")
        slip = TRAINING_SLIPS.get((name, n_bytes))
        if slip:
            raise Wrong(f"{n_bytes:g} bytes for {name} do not fit the recipe", why=slip)
        if case.key and n_bytes != case.key[name]:
            misfit = f"bytes for {name} do not fit the recipe"
            raise Wrong(f"{n_bytes:g} {misfit}", cause=f"the {misfit}")


@_answer(hint="Add your five numbers. Multiply by all parameters, and divide by 10^9.")
def every_stored_parameter_is_trained(student: Student, case: AnswerCase) -> None:
    """`gb_of_30b` is your five numbers times the parameters of Qwen3-30B-A3B, in GB."""
    kept = sum(_bytes_kept(student, case).values())
    got = field_of(student, case, "gb_of_30b")
    facts = recent_models()[MIXTURE]
    every, used = (facts[name] / 1e9 for name in ("params_exact", "params_active"))
    slips = {
        kept * used: "Only the experts of one token were counted. All experts are trained.",
        kept * every * 1e9 / 2**30: "That is in GiB: give GB, 10^9 bytes.",
        kept * every * 1e9: "That is in bytes: give GB.",
        2 * every: "Only the 16-bit weights were counted. Add all five numbers.",
        (kept - 2) * every: "Two bytes are missing: add all five numbers.",
    }
    source = "your five numbers and the parameters of the model"
    expect_close(case, got, kept * every, "gb_of_30b", source, relative=0.02, slips=slips)


def _bytes_kept(student: Student, case: AnswerCase) -> dict[str, float]:
    answer = fields_of(student, case, BYTE_NAMES)
    numbers = {name: finite_number_in(answer[name], name) for name in BYTE_NAMES}
    for name, number in numbers.items():
        if not 0 <= number <= 64:
            raise Wrong(name, expected="a few bytes", got=show(number))
    return numbers


OPEN_CASES = {"training": [AnswerCase("training")]}
