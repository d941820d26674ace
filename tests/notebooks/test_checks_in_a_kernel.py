"""What checks learn from a real kernel: cells that failed, calls without an end, where it broke."""

import json

import pytest
from play import FIRST_CELL, play

from autograder.builder.notebooks import build_notebook, cell_kind, cell_name
from autograder.builder.source import find_lab
from autograder.builder.wheel import write_folder
from autograder.practice import cell_called, code_cell, solved_notebook
from labkit.checks.hints.tries import MIME, version_of

LAB = find_lab("memory")
EMPTY = {"nbformat": 4, "nbformat_minor": 5, "metadata": {}}
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


def test_hints_follow_the_tries_and_the_saved_file_keeps_their_count(warm_kernels, tmp_path):
    write_folder(LAB, tmp_path)
    answers = {cell_name(cell): cell["source"] for cell in solved_notebook(LAB)["cells"]}
    built = {cell_name(cell): cell for cell in build_notebook(LAB, "student").cells}
    off = answers["largest_model"].replace("// bytes_per_param", "// 2")
    versions = [f"{off.rstrip()}\n    n = {n}\n" for n in range(3)]
    setup = built["setup"]["source"]
    check = built["check_largest_model"]["source"]

    def reports(*sources):
        played = play({**EMPTY, "cells": [code_cell(s) for s in (setup, *sources)]},
                      tmp_path, [FIRST_CELL], limit_s=300)  # fmt: skip
        return [cell for cell in played if cell.name.startswith("check(")]

    first, same, second = reports(versions[0], check, check, versions[1], check)
    assert "smallest failing case" not in first.report + same.report
    assert "smallest failing case" in second.report and MIME in second.kinds
    assert "what the line must achieve" not in second.report
    tries = {"passed": False, "versions": {
        "wider_parameters_leave_room_for_fewer": [version_of([one], "largest_model")
                                                  for one in versions[:2]]}}  # fmt: skip
    output = {"output_type": "execute_result", "data": {MIME: tries}, "metadata": {},
              "execution_count": 1}  # fmt: skip
    saved = build_notebook(LAB, "student")
    cell_called(saved, "check_largest_model")["outputs"] = [output]
    (tmp_path / "01_memory.ipynb").write_text(json.dumps(saved))
    (again,) = reports(versions[1], check)
    assert "smallest failing case" in again.report
    assert "what the line must achieve" not in again.report
    (third,) = reports(versions[2], check)
    assert "what the line must achieve" in third.report
