"""The memory that is offered refuses in words, and knows what follows from what it gave."""

import math

import numpy
import pytest
import torch

from autograder.builder.source import find_lab
from labkit import flash_attention as flash
from labkit.bridge.local import local_student
from labkit.bridge.student import StudentError
from labkit.checks.answers import AnswerCase
from labkit.checks.core import Wrong, checks_of, open_cases_of, play_check
from labkit.labs.flash_attention.checks.answers import (
    homework_with_64000_numbers,
    own_tiles_fit_the_chip,
)
from labkit.labs.flash_attention.checks.expected import (
    expect_nothing_kept,
    expect_output,
)
from labkit.labs.flash_attention.checks.memory import MOST_MOVES, SHIFTS, WatchedMemory
from labkit.labs.flash_attention.checks.moves import expect_loads
from labkit.labs.flash_attention.checks.runs import ORDERS, AttentionCase, moved_output, run_of
from labkit.labs.flash_attention.checks.steps import StepCase, level_after
from labkit.labs.flash_attention.moments import moments
from labkit.models.counted_memory import attention_memory, tiles
from tests.known import mutants_of, variants_of
from tests.known.flash_attention.answers import TILE_KV, head, homework

LAB = find_lab("flash_attention")
CASE = AttentionCase("moving", 22, 3, 5, 4, seed=1)
STILL = AttentionCase("even", 22, 3, 5, 4, seed=1)
TILES = {"Q": 5, "K": 4, "V": 4}


def watched(exercise="flash_attention_1"):
    return WatchedMemory(attention_memory(*CASE.matrices()), ORDERS[exercise], TILES)


def played(function, case=CASE, exercise="flash_attention_1"):
    return run_of(local_student({exercise: function}), case, exercise)


def failed(check, function, case, exercise="flash_attention_1"):
    with pytest.raises(Wrong) as wrong:
        check(local_student({exercise: function}), case, exercise)
    return wrong.value


def as_mutated(title):
    """FlashAttention-1 with one of its known mistakes."""
    namespace = dict(vars(flash))
    known = [each for each in mutants_of(LAB) if each.exercise == "flash_attention_1"]
    source = next(each.source for each in known if each.title == title)
    exec(source, namespace)
    return namespace["flash_attention_1"]


@pytest.mark.parametrize("exercise", ["flash_attention_1", "flash_attention_2"])
def test_the_output_of_a_memory_that_changes_is_foreseen(exercise):
    run = played(getattr(flash, exercise), exercise=exercise)
    got, unchanged = (
        run.memory.arrays["O"].double(),
        played(getattr(flash, exercise), STILL, exercise).memory.arrays["O"],
    )
    torch.testing.assert_close(got, moved_output(run, CASE), atol=1e-5, rtol=1e-5)
    assert (got - unchanged).abs().max() > 0.1


@pytest.mark.parametrize("name", SHIFTS)
def test_each_array_of_the_state_changes_the_output_of_a_memory_that_changes(name, monkeypatch):
    run = played(flash.flash_attention_1)
    monkeypatch.setitem(SHIFTS, name, 0.0)
    without = played(flash.flash_attention_1)
    got, other = (each.memory.arrays["O"].double() for each in (run, without))
    torch.testing.assert_close(other, moved_output(without, CASE), atol=1e-5, rtol=1e-5)
    assert (got - other).abs().max() > 0.1


def test_an_output_that_is_not_multiplied_again_is_named():
    forgetful = as_mutated("O is divided, but not multiplied again")
    for case in (STILL, AttentionCase("causal", 23, 3, 4, 6, is_causal=True, seed=2)):
        assert "multiply it by l again" in failed(expect_output, forgetful, case).why
    assert "first pass the check" in failed(expect_nothing_kept, forgetful, CASE).what


def test_an_output_that_is_divided_at_the_end_alone_is_named():
    late = as_mutated("O is divided in the last turn only")
    assert "not in the last turn only" in failed(expect_nothing_kept, late, CASE).why


def test_a_state_kept_in_variables_is_named():
    keeping = as_mutated("O and l are loaded, but not used: kept in variables")
    assert "Others write to O and l between turns" in failed(expect_nothing_kept, keeping, CASE).why


def test_a_tile_that_waits_for_the_next_turn_is_named():
    def to_and_fro(memory, tile_q, tile_kv, is_causal):
        here, way = None, list(tiles(memory.n_rows, tile_q))
        for a, b in tiles(memory.n_rows, tile_kv):
            memory.load("K", a, b), memory.load("V", a, b)
            for start, stop in way:
                if start != here:
                    memory.load("Q", start, stop)
                here = start
            way = way[::-1]

    wrong = failed(expect_nothing_kept, to_and_fro, CASE)
    assert "row 0 of Q is loaded in 6 turns" in str(wrong) and wrong.got == "4 times"


WHOLE_TILES = [
    each
    for each in variants_of(LAB)
    if each.exercise.startswith("flash_attention") and "halves" not in each.title
]


@pytest.mark.parametrize("variant", WHOLE_TILES, ids=lambda variant: variant.title)
@pytest.mark.parametrize("is_causal", [False, True])
def test_the_pictures_of_any_right_answer_show_every_pair_once(variant, is_causal):
    namespace = dict(vars(flash)) | {"math": math, "ceil": math.ceil}
    exec(variant.source, namespace)
    for tile_q, tile_kv in ((5, 4), (4, 6), (22, 22), (3, 22), (22, 3)):
        memory = attention_memory(*CASE.matrices())
        namespace[variant.exercise](memory, tile_q, tile_kv, is_causal)
        told = moments(memory, is_causal)
        pairs = torch.ones(CASE.n_rows, CASE.n_rows).int()
        new = sum(moment.is_new.int() for moment in told)
        assert torch.equal(new, pairs.tril() if is_causal else pairs)
        for moment in told:
            assert moment.is_new.any(1).sum() <= tile_q and moment.is_new.any(0).sum() <= tile_kv


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
    said = "the memory has no attribute 'arrays'; it has n_rows, head_dim, load, store$"
    with pytest.raises(StudentError, match=said):
        played(lambda memory, *sizes: memory.arrays["Q"])


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
    strictly, either = (memory.meetings("Q", "K", coming) for coming in ("Q", "QK"))
    assert strictly[0].nonzero().flatten().tolist() == list(range(8))
    assert strictly[5].nonzero().flatten().tolist() == list(range(4))
    assert either[5].nonzero().flatten().tolist() == list(range(8))


def test_halves_of_a_tile_are_there_together_and_its_successor_is_not():
    memory = watched()
    for name, start, stop in (("K", 0, 2), ("K", 2, 4), ("Q", 0, 5), ("K", 4, 6), ("Q", 5, 10)):
        memory.load(name, start, stop)
    pairs = memory.meetings("Q", "K", "Q")
    assert pairs[0].nonzero().flatten().tolist() == [0, 1, 2, 3]
    assert pairs[5].nonzero().flatten().tolist() == [4, 5]
    assert memory.loads("K")[:7] == [1, 1, 1, 1, 1, 1, 0]


@pytest.mark.parametrize("name", ["flash_attention_1", "flash_attention_2", "standard_attention"])
def test_a_function_that_only_clears_the_output_passes_no_check(name):
    def cleared(memory, *sizes):
        for row in range(memory.n_rows):
            memory.store("O", row, torch.zeros(1, memory.head_dim))

    checks, cases = checks_of("flash_attention")[name], open_cases_of("flash_attention")[name]
    student = local_student({name: cleared})
    findings = [play_check(check, student, cases) for check in checks]
    assert [finding.check.name for finding in findings if finding.passed] == []


@pytest.mark.parametrize("kind", ["first", "later", "large", "unseen"])
def test_the_level_of_all_keys_is_that_of_the_online_softmax(kind):
    scores, values = StepCase(kind, 5, 0 if kind == "first" else 6, 4, seed=3).parts()
    state = torch.full((5,), -torch.inf), torch.zeros(5), torch.zeros(5, 3)
    for key in range(scores.shape[1]):
        state = flash.online_softmax(*state, scores[:, key : key + 1], values[key : key + 1])
    for got, wanted in zip(state, level_after(scores, values), strict=True):
        torch.testing.assert_close(got.double(), wanted, atol=1e-5, rtol=1e-5)


@pytest.mark.parametrize(
    "name, source, check, words",
    [("my_head", head(tile_kv=TILE_KV + 1), own_tiles_fit_the_chip, "here the tiles have to fit"),
     ("homework", homework(first=663_552), homework_with_64000_numbers, "That is numbers_65536")],
)  # fmt: skip
def test_slips_in_the_answers_are_named(name, source, check, words):
    namespace = dict(vars(flash)) | {"student_id": "instructor"}
    exec(source, namespace)
    with pytest.raises(Wrong) as wrong:
        check(local_student(namespace), AnswerCase(name))
    assert words in wrong.value.why
