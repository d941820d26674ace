"""What a student's code may call in the judge refuses arguments that would eat its memory."""

import pytest

from autograder.labs.parts import bounded
from labkit import cache_benchmark, flash_attention, memory, speculative
from labkit.bridge.helped import Helped
from labkit.bridge.local import local_student


@pytest.mark.parametrize(
    ("part", "call"),
    [
        (cache_benchmark.generation_passes, "part(3, 10**9, True)"),
        (cache_benchmark.generation_passes, "part(3, use_cache=True, n_new=torch.tensor(10**9))"),
        (speculative.speedup, "part(0.5, 10**9, [0], 1.0, 1.0)"),
        (speculative.residual, "part(torch.zeros(10**5, 1), torch.zeros(1, 10**5))"),
        (flash_attention.standard_traffic, "part([0], 10**10)"),
        (memory.largest_model, "part('0' * 9, 0, 10**10)"),
        (memory.largest_model, "part([0] * 1000, 0, 2)"),
    ],
)
def test_a_part_refuses_what_would_eat_the_memory_of_the_judge(part, call):
    code = f"""
import torch
def asks():
    try:
        return {call}
    except (ValueError, TypeError) as error:
        return str(error)
"""
    names = {"Traffic": flash_attention.Traffic}
    exec(code, names)
    assert "should" in Helped(local_student(names), {"part": bounded(part)}).asks()
