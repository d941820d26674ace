"""The exercise in Triton: what its checks know, and what they say where Triton is missing."""

import inspect
import random
from pathlib import Path

import pytest
import torch

from autograder.builder.source import find_lab
from autograder.labs.flash_attention.cases.triton_kernel import hidden_cases
from autograder.proof.matrix import findings_for
from labkit import flash_attention as flash
from labkit.bridge import in_triton
from labkit.labs.flash_attention.checks.triton_kernel import (
    ABSOLUTE,
    OPEN_CASES,
    RELATIVE,
    SLIPS,
    emulated,
    right_output,
)
from labkit.labs.flash_attention.kernel import STAGES, stages_table, times_table

LAB = find_lab("flash_attention")
CASES = [
    *OPEN_CASES["flash_kernel"],
    *(case for seed in range(5) for case in hidden_cases(random.Random(seed))["flash_kernel"]),
]


@pytest.fixture
def without_triton(monkeypatch):
    monkeypatch.setattr(in_triton, "why_not", lambda: "Triton is not installed here")
    in_triton.load.cache_clear()
    yield
    in_triton.load.cache_clear()


@pytest.fixture
def broken_triton(monkeypatch):
    def load():
        raise in_triton.NoTriton("Triton does not work here (ImportError())")

    monkeypatch.setattr(in_triton, "load", load)


def test_the_loops_that_name_mistakes_are_right_without_one():
    for case in CASES:
        assert torch.allclose(emulated(case), right_output(case), atol=1e-6), case


def test_each_known_mistake_shows_in_some_open_case():
    near = {"rtol": RELATIVE, "atol": ABSOLUTE}
    for slip in SLIPS.values():
        outputs = [(emulated(case, slip), right_output(case)) for case in CASES[:7]]
        assert not all(torch.allclose(*pair, **near) for pair in outputs), slip


def test_the_table_of_stages_shows_small_errors():
    rows = stages_table(flash.flash_kernel).lines
    assert [row[0] for row in rows] == [stage[0] for stage in STAGES]
    assert all(float(row[-1]) < 2e-3 for row in rows)


def test_the_table_of_times_says_that_it_is_the_interpreter(monkeypatch):
    monkeypatch.setattr("labkit.labs.flash_attention.kernel.SIZES", {"cpu": (64,)})
    table = times_table(flash.flash_kernel)
    assert "Triton's interpreter" in str(table) and float(table.lines[0][1]) > 0


@pytest.mark.parametrize("missing", ["without_triton", "broken_triton"])
def test_without_triton_a_sentence_says_so_and_nothing_is_wrong(missing, request):
    request.getfixturevalue(missing)
    for table in (stages_table, times_table):
        shown = str(table(flash.flash_kernel))
        assert "Triton" in shown and "All other cells of the lab work." in shown
    found = findings_for(LAB, "flash_kernel")
    assert {each.status for each in found} == {"read"}
    assert all("The kernel runs when you hand it in." in each.message for each in found)


def test_code_that_says_there_is_no_triton_is_wrong():
    source = "from labkit.bridge.in_triton import NoTriton\ndef flash_kernel(*a, **k):\n"
    source += "    raise NoTriton('x')"
    found = findings_for(LAB, "flash_kernel", {"flash_kernel": source})
    assert {each.status for each in found} <= {"failed", "unjudged"}


def test_a_kernel_that_computes_in_numpy_is_told_so():
    source = "import numpy as np\n" + inspect.getsource(flash.flash_kernel)
    source = source.replace("weights = tl.exp(", "weights = np.exp(")
    found = findings_for(LAB, "flash_kernel", {"flash_kernel": source})
    assert not any(each.passed for each in found)
    assert "no GPU can run in a kernel" in found[0].message and "`tl.exp`" in found[0].message


def test_the_lab_needs_triton_for_this_exercise_alone():
    """Only the module that runs kernels may import it, and then in a function."""
    folder = Path(in_triton.__file__).parents[1]
    for path in (*folder.glob("labs/flash_attention/**/*.py"), folder / "flash_attention.py"):
        assert "import triton" not in path.read_text(encoding="utf-8"), path


@pytest.mark.parametrize("odd", [torch.zeros(3), torch.tensor(1.0), torch.zeros(2, 2, 2), None])
def test_no_odd_output_breaks_a_check(odd, monkeypatch):
    monkeypatch.setattr(in_triton, "run_kernel", lambda kernel, n, arrays, *_: [*arrays[:3], odd])
    found = findings_for(LAB, "flash_kernel")
    assert not any(each.passed for each in found) and "O; expected" in found[0].message
