"""What checks learn from a real kernel: cells that failed, calls without an end, where it broke."""

import pytest
from play import FIRST_CELL, play

from autograder.builder.notebooks import build_notebook, cell_kind, cell_name
from autograder.builder.source import find_lab
from autograder.builder.wheel import write_folder
from autograder.practice import code_cell, solved_notebook

LAB = find_lab("memory")
BROKEN = "def n_params(config)\n    return 1"
ENDLESS = "def kv_cache_bytes(config, *sizes, **width):\n    while True:\n        pass"
RAISING = """\
def helper(x):
    return x / 0


def largest_model(vram_bytes, *sizes):
    return helper(vram_bytes)"""
FULL = "import torch\nraise torch.OutOfMemoryError('CUDA out of memory')"
SHORT_LIMIT = "import labkit.checks.notebook as shown\nshown.LIMIT_S = 1"


@pytest.fixture(scope="module")
def reports(warm_kernels, tmp_path_factory):
    folder = tmp_path_factory.mktemp("kernel")
    write_folder(LAB, folder)
    notebook = build_notebook(LAB, "student")
    answers = {cell_name(cell): cell["source"] for cell in solved_notebook(LAB)["cells"]}
    cells = {cell_name(cell): cell for cell in notebook.cells}
    cells["n_params"].source = answers["n_params"]
    cells["largest_model"].source = RAISING
    cells["kv_cache_bytes"].source = ENDLESS
    place = notebook.cells.index(cells["check_n_params"])
    notebook.cells[place:place] = [code_cell(s) for s in (SHORT_LIMIT, BROKEN, FULL)]
    kept = notebook.cells[: notebook.cells.index(cells["check_largest_on_80_gb"])]
    code = [cell for cell in kept if cell["cell_type"] == "code"]
    notebook.cells = [cell for cell in code if cell_kind(cell) != "experiment"]  # no endless calls
    played = play(notebook, folder, [FIRST_CELL], limit_s=300)
    told = next("".join(cell.texts) for cell in played if cell.error.startswith("OutOfMemory"))
    return {cell.name: cell.report for cell in played} | {"full": told}


def test_a_check_says_that_it_looks_at_the_version_before(reports):
    said = reports["check_n_params"]
    assert "The last run of the cell of n_params ended in SyntaxError in line 1" in said
    assert "2 of 2 points" in said
    assert "2 of 8.5 points of this lab" in said


def test_a_call_without_an_end_is_stopped_with_its_line(reports):
    said = reports["check_kv_cache_bytes"]
    assert said.count("Your code was still running after 1 s and was stopped in line ") == 1
    assert "in kv_cache_bytes: " in said


def test_an_exception_names_the_students_own_line_once(reports):
    said = reports["check_largest_model"]
    assert said.count("ZeroDivisionError") == 1
    assert "line 2, in helper: return x / 0" in said


def test_a_full_gpu_is_explained_beside_its_traceback(reports):
    assert "The GPU has no memory left for this cell." in reports["full"]
