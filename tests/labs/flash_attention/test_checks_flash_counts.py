"""The open cases of lab 7's counts say what the algorithms move; whose head it is, is seen."""

import pytest
import torch

from labkit import flash_attention as flash
from labkit.bridge.local import local_student
from labkit.checks.core import checks_of, open_cases_of, play_check
from labkit.labs.flash_attention.own_head import own_head
from labkit.models.counted_memory import attention_memory

CHECKS, OPEN_CASES = checks_of("flash_attention"), open_cases_of("flash_attention")
NAMES = ("tile_sizes", "flash_1_traffic", "standard_traffic")


def statuses(exercise, **names):
    student = local_student(names)
    cases = OPEN_CASES[exercise]
    return [play_check(check, student, cases) for check in CHECKS[exercise]]


def functions(**changed):
    return {name: getattr(flash, name) for name in NAMES} | changed


def my_head(student_id):
    head = own_head(student_id)
    tile_q, tile_kv = flash.tile_sizes(1024 * head.sram_kib, head.head_dim, head.bytes_per_number)
    moved = flash.flash_1_traffic(head.n_rows, head.head_dim, tile_kv)
    megabytes = head.bytes_per_number * moved.total / 1e6
    return {"tile_kv": tile_kv, "tile_q": tile_q, **moved._asdict(), "megabytes": megabytes}


@pytest.mark.parametrize(("exercise", "way"), [
    ("flash_1_traffic", lambda memory, tile: flash.flash_attention_1(memory, 7, tile)),
    ("flash_2_traffic", lambda memory, tile: flash.flash_attention_2(memory, tile, 7)),
])  # fmt: skip
def test_open_cases_are_what_the_memory_counts(exercise, way):
    for case in OPEN_CASES[exercise]:
        for tile, _, right in case.even_tiles():
            memory = attention_memory(*torch.zeros(3, case.n_rows, case.head_dim))
            way(memory, tile)
            assert (memory.n_read, memory.n_written) == right


def test_the_head_is_that_of_the_id():
    answers = {"my_head": my_head("R12922001"), **functions()}
    for own in ("R12922001", " r12922001"):
        assert all(found.passed for found in statuses("my_head", student_id=own, **answers))
    others = statuses("my_head", student_id="somebody else", **answers)
    assert not any(found.passed for found in others)
    number = statuses("my_head", student_id=12922001, **answers | {"my_head": my_head("12922001")})
    assert all(found.passed for found in number)


@pytest.mark.parametrize("nobody", ["", " ", None, ..., ["x"], "\ud800"], ids=ascii)
def test_without_an_id_there_is_something_to_do(nobody):
    found = statuses("my_head", student_id=nobody, my_head=my_head("x"), **functions())
    assert {each.status for each in found} == {"todo"}
    if nobody == "":
        assert found[0].message == "write your student id into the cell at the top, and run it."


def test_a_function_that_is_not_written_is_named():
    def tile_sizes(*_):
        raise NotImplementedError

    found = statuses(
        "my_head", student_id="x", my_head=my_head("x"), **functions(tile_sizes=tile_sizes)
    )
    assert {each.message for each in found} == {
        "write tile_sizes first: your answer is compared with it."
    }


@pytest.mark.parametrize("pair", [(0, 0), (1, 1), (10**90, 1e300), (float("inf"),) * 2, ("a", 2)])
def test_constant_pairs_earn_nothing(pair):
    for exercise in ("tile_sizes", "standard_traffic", "flash_1_traffic", "flash_2_traffic",
                     "run_times"):  # fmt: skip
        found = statuses(exercise, **{exercise: lambda *_: pair})
        assert not any(each.passed for each in found), exercise
