"""The memory that is offered refuses in words, and knows what follows from what it gave."""

import numpy
import pytest
import torch

from labkit import flash_attention as flash
from labkit.checks import flash_kernels
from labkit.checks.core import Wrong, checks_in, play_check
from labkit.checks.flash_expected import expect_loads
from labkit.checks.flash_memory import MOST_MOVES, WatchedMemory
from labkit.checks.flash_runs import ORDERS, AttentionCase, run_of
from labkit.checks.flash_softmax import StepCase, level_after
from labkit.student import local_student
from labkit.tiling.memory import attention_memory

CASE = AttentionCase("moving", 22, 3, 5, 4, seed=1)


def watched(exercise="flash_attention_1"):
    return WatchedMemory(attention_memory(*CASE.matrices()), ORDERS[exercise])


def played(function, case=CASE, exercise="flash_attention_1"):
    return run_of(local_student({exercise: function}), case, exercise)


@pytest.mark.parametrize("exercise", ["flash_attention_1", "flash_attention_2"])
def test_the_output_of_a_memory_that_changes_is_foreseen(exercise):
    run = played(getattr(flash, exercise), exercise=exercise)
    got, unchanged = (
        run.memory.arrays["O"].double(),
        played(
            getattr(flash, exercise), AttentionCase("even", 22, 3, 5, 4, seed=1), exercise
        ).memory.arrays["O"],
    )
    torch.testing.assert_close(got, run.output(), atol=1e-5, rtol=1e-5)
    assert (got - unchanged).abs().max() > 0.1


@pytest.mark.parametrize(
    "arguments, kind",
    [((1.5,), ValueError), ((["Q"],), TypeError), (("Z",), ValueError), (("Q", None), TypeError),
     (("Q", "a"), TypeError), (("Q", 0, 10**30), ValueError), (("Q", torch.zeros(2)), TypeError)],
)  # fmt: skip
def test_what_cannot_be_loaded_is_refused_in_a_way_that_travels(arguments, kind):
    with pytest.raises(kind):
        watched().load(*arguments)


@pytest.mark.parametrize(
    "rows, kind",
    [(None, TypeError), ([[1.0]], TypeError), (torch.zeros(()), TypeError),
     (torch.zeros(2, 3, dtype=torch.complex64), TypeError), (torch.zeros(2, 4), ValueError),
     (torch.zeros(0, 3), ValueError), (numpy.array(["a"]), TypeError)],
)  # fmt: skip
def test_what_cannot_be_stored_is_refused_in_a_way_that_travels(rows, kind):
    with pytest.raises(kind):
        watched().store("O", 0, rows)


def test_arrays_of_numpy_are_stored():
    memory = watched()
    memory.store("O", 2, numpy.ones((3, 3)))
    assert memory.memory.arrays["O"][2:5].sum() == 9


def test_an_endless_loop_is_ended():
    memory = watched()
    with pytest.raises(ValueError, match="without an end"):
        for _ in range(MOST_MOVES + 1):
            memory.load("K", 0, 1)


def test_what_the_memory_does_not_offer_is_said():
    with pytest.raises(Wrong, match="no attribute 'arrays'") as wrong:
        played(lambda memory, *sizes: memory.arrays["Q"])
    assert "n_rows, head_dim, load and store, and nothing else" in wrong.value.why


def test_too_large_a_tile_is_said_with_what_lay_on_the_chip():
    case = AttentionCase("chip", 24, 4, 4, 8)
    with pytest.raises(Wrong, match=r"24 rows of K take 384 B, and the chip has 384 B .Q 384."):
        played(lambda memory, *sizes: (memory.load("Q"), memory.load("K")), case)


def test_the_other_order_is_named():
    case = AttentionCase("even", 24, 4, 4, 8)
    student = local_student({"flash_attention_2": flash.flash_attention_1})
    with pytest.raises(Wrong) as wrong:
        expect_loads(student, case, "flash_attention_2")
    assert "the outer one goes over tiles of Q" in wrong.value.why


def test_reloading_the_tile_of_the_outer_loop_is_no_new_turn():
    memory = watched()
    for name, start in (("K", 0), ("Q", 0), ("K", 0), ("Q", 5), ("K", 4), ("Q", 0)):
        memory.load(name, start, start + (4 if name == "K" else 5))
    assert memory.pairs[0].nonzero().flatten().tolist() == list(range(8))
    assert memory.pairs[5].nonzero().flatten().tolist() == list(range(4))


@pytest.mark.parametrize("name", ["flash_attention_1", "flash_attention_2", "standard_attention"])
def test_a_function_that_only_clears_the_output_passes_no_check(name):
    def cleared(memory, *sizes):
        for row in range(memory.n_rows):
            memory.store("O", row, torch.zeros(1, memory.head_dim))

    checks = checks_in(flash_kernels)[name]
    student = local_student({name: cleared})
    findings = [play_check(check, student, flash_kernels.CASES[name]) for check in checks]
    assert [finding.check.name for finding in findings if finding.passed] == []


@pytest.mark.parametrize("kind", ["first", "later", "large", "unseen"])
def test_the_level_of_all_keys_is_that_of_the_online_softmax(kind):
    scores, values = StepCase(kind, 5, 0 if kind == "first" else 6, 4, seed=3).parts()
    state = torch.full((5,), -torch.inf), torch.zeros(5), torch.zeros(5, 3)
    for key in range(scores.shape[1]):
        state = flash.online_softmax(*state, scores[:, key : key + 1], values[key : key + 1])
    for got, wanted in zip(state, level_after(scores, values), strict=True):
        torch.testing.assert_close(got.double(), wanted, atol=1e-5, rtol=1e-5)
