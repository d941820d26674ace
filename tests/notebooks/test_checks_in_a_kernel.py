"""What checks learn from a real kernel: cells that failed, calls without an end, where it broke."""

import pytest
from play import FIRST_CELL, play

from autograder.builder.notebooks import build_notebook, cell_name
from autograder.builder.source import find_lab
from autograder.builder.wheel import write_folder
from autograder.practice import code_cell, solved_notebook

LAB = find_lab("memory")
BROKEN = "def weight_bytes(n_params, bytes_per_param=2)\n    return 1"
ENDLESS = "def kv_bytes_per_token(shape, bytes_per_number=2):\n    while True:\n        pass"
RAISING = """\
def helper(x):
    return x / 0


def training_bytes(n_params, recipe):
    return helper(n_params)"""
FULL = "import torch\nraise torch.OutOfMemoryError('CUDA out of memory')"
SHORT_LIMIT = "import labkit.checks.notebook as shown\nshown.LIMIT_S = 1"


@pytest.fixture(scope="module")
def reports(warm_kernels, tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernel")
    write_folder(LAB, folder)
    notebook = build_notebook(LAB, "student")
    answers = {cell_name(cell): cell["source"] for cell in solved_notebook(LAB)["cells"]}
    cells = {cell_name(cell): cell for cell in notebook.cells}
    cells["weight_bytes"].source = answers["weight_bytes"]
    cells["training_bytes"].source = RAISING
    cells["kv_bytes_per_token"].source = ENDLESS
    place = notebook.cells.index(cells["check_weight_bytes"])
    notebook.cells[place:place] = [code_cell(s) for s in (SHORT_LIMIT, BROKEN, FULL)]
    kept = notebook.cells[: notebook.cells.index(cells["check_kv_cache_bytes"])]
    notebook.cells = [cell for cell in kept if cell["cell_type"] == "code"]
    played = play(notebook, folder, [FIRST_CELL])
    told = next("".join(cell.texts) for cell in played if cell.error.startswith("OutOfMemory"))
    return {cell.name: cell.report for cell in played} | {"full": told}


def test_a_check_says_that_it_looks_at_the_version_before(reports):
    said = reports["check_weight_bytes"]
    assert "The last run of the cell of weight_bytes ended in SyntaxError in line 1" in said
    assert "0.5 of 0.5 points" in said
    assert "0.5 of 10 points of this lab" in said


def test_a_call_without_an_end_is_stopped_with_its_line(reports):
    said = reports["check_kv_bytes_per_token"]
    assert said.count("Your code was still running after 1 s and was stopped in line ") == 1
    assert "in kv_bytes_per_token: " in said


def test_an_exception_names_the_students_own_line_once(reports):
    said = reports["check_training_bytes"]
    assert said.count("ZeroDivisionError") == 1
    assert "line 2, in helper: return x / 0" in said


def test_a_full_gpu_is_explained_beside_its_traceback(reports):
    assert "The GPU has no memory left for this cell." in reports["full"]
