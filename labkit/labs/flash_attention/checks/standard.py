"""Checks of `standard_attention`.

It is about attention's output with S and P written to memory and read from there; without that it
earns at most half.
"""

from functools import partial

import torch

from labkit.bridge.student import Student
from labkit.checks.core import Wrong, check
from labkit.checks.tensors import expect_tensor
from labkit.labs.flash_attention.checks.expected import expect_output, expect_output_as_well
from labkit.labs.flash_attention.checks.moves import expect_loads, expect_stores
from labkit.labs.flash_attention.checks.runs import AttentionCase, is_near, right_weights, run_of
from labkit.labs.flash_attention.checks.steps import TOLERANCE

_standard = partial(check, "standard_attention", gate=True)


@_standard("even", "one", hint="Check the axis of the softmax: each row of P sums to 1.")
def standard_output_is_attention(student: Student, case: AttentionCase) -> None:
    """O is softmax(Q Kᵀ / √D) V."""
    expect_output(student, case, "standard_attention")


@_standard("causal", weight=2, hint="Pass is_causal to `tile_scores`.")
def standard_hides_later_keys(student: Student, case: AttentionCase) -> None:
    """If is_causal, no query sees a key that comes after it."""
    expect_output_as_well(student, case, "standard_attention")


@_standard("even", hint="Store the result of the softmax in P.")
def standard_weights_are_written(student: Student, case: AttentionCase) -> None:
    """P holds the weights of O: each row sums to 1."""
    arrays = run_of(student, case, "standard_attention").memory.arrays
    weights, ones = arrays["P"].double(), torch.ones(case.n_rows)
    right, why = right_weights(case), ""
    if is_near(weights.sum(0), ones.double()):
        why = "The columns of P sum to 1, because the softmax goes over the queries."
    elif is_near(weights / weights.sum(-1, keepdim=True), right):
        why = "The rows of P are not divided by their sums."
    expect_tensor(weights.sum(-1), ones, "the sums of the rows of P", why=why, tolerance=TOLERANCE)
    made = weights @ case.matrices()[2].double()
    expect_tensor(arrays["O"], made, "O, compared with P V", tolerance=TOLERANCE)


@_standard(
    "even", hint="Write three steps. Load what each needs, and store what it makes.", gate=False
)
def standard_loads_what_each_step_needs(student: Student, case: AttentionCase) -> None:
    """Q, K, S, P and V are loaded once each."""
    expect_loads(student, case, "standard_attention")


@_standard(
    "even", hint="Write three steps. Load what each needs, and store what it makes.", gate=False
)
def standard_stores_what_each_step_makes(student: Student, case: AttentionCase) -> None:
    """S, P and O are stored once each."""
    expect_stores(student, case, "standard_attention")


@_standard("moving", hint="Compute with the numbers that `load` returned.")
def standard_steps_use_what_they_load(student: Student, case: AttentionCase) -> None:
    """P is made from the loaded S, and O from the loaded P."""
    plain = AttentionCase("even", case.n_rows, case.head_dim, seed=case.seed)
    weights = run_of(student, plain, "standard_attention").memory.arrays["P"].double()
    turned = run_of(student, case, "standard_attention").memory.arrays
    once, twice = weights.roll(1, dims=1), weights.roll(2, dims=1)
    if torch.allclose(once, weights):
        raise Wrong("the columns of P", expected="different ones", got="all the same")
    made = twice @ case.matrices()[2].double() / twice.sum(-1, keepdim=True)
    for name, source, expected, kept in (
        ("P", "S", once, weights),
        ("O", "P", made, once @ case.matrices()[2].double()),
    ):
        why = f"This memory returns {source} with its columns exchanged. Use what it returns."
        why = why if is_near(turned[name].double(), kept) else ""
        expect_tensor(turned[name], expected, f"what {name} holds", why=why, tolerance=TOLERANCE)


OPEN_CASES = {
    "standard_attention": [
        AttentionCase("even", 12, 5, seed=1),
        AttentionCase("one", 1, 3, seed=2),
        AttentionCase("even", 17, 3, seed=3),
        AttentionCase("causal", 13, 4, is_causal=True, seed=4),
        AttentionCase("moving", 11, 3, seed=5),
    ],
}
