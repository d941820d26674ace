"""Every lab as students have it while they work: "Run all" goes through to the last cell.

Errors are not allowed here: at one, JupyterLab, VS Code and nbclient leave out all later cells.
"""

import copy

import pytest
from instances import lab_instances, long_unless, slow_unless
from nbformat import from_dict
from play import FIRST_CELL, play, with_small_experiments

from autograder.builder.notebooks import build_notebook, cell_kind, cell_name
from autograder.builder.source import find_lab, read_labs
from autograder.builder.wheel import write_folder
from autograder.practice import cell_called, code_cell, solved_notebook
from labkit.checks.names import bound_names, used_names

pytestmark = pytest.mark.usefixtures("warm_kernels")
WAITS = "○ This cell waits for "
SHOWN = ("kv_cache_bytes", "ArenaCache", "does_fit")
OWN_ANSWER = "kv_table = {'unit': 'GB', 'rows': [kv_cache_bytes(each, 1) for each in (1, 2)]}"
OWN_CELLS = [  # other ways in which code comes to an unwritten part
    "sixth = 2\n\n\nasync def later():\n    return largest_model(1)\n\n\nfirst = await later()",
    "second = first + 1\nfirst.x = 2",
    "for i in range(first): print(i)",
    "def helper():\n    raise NotImplementedError\n\n\nthird = helper()",
    "with third as fourth, open('f'): pass",
    "print(f'{third:.2f}', third >= 1, third ** 2)",
    "%time fifth = largest_model(1)",
    "from torch.utils.data import DataLoader\nlist(DataLoader([1], collate_fn=largest_model))",
    "import matplotlib.pyplot as plt\nplt.plot([1, 2], first)",
    "kept = 1\nsixth = largest_model(1)\nkept = 2",
    "assert kept == 1 and plt\nrange(sixth)",  # bound to a number before, and not any more
]


def run_all(lab, notebook, folder):
    """The cells after "Run all" as every front end has it."""
    write_folder(lab, folder)
    return play(notebook, folder, [FIRST_CELL], {"OMP_NUM_THREADS": "1"}, allow_errors=False)


def n_waiting(cells):
    return sum(WAITS in "".join(cell.texts) for cell in cells)


def report_of(cells, name):
    return next(cell.report for cell in cells if cell.name == name)


@pytest.mark.parametrize("lab", lab_instances(1))
def test_run_all_on_the_untouched_notebook_ends_at_the_last_cell(lab, tmp_path):
    notebook = with_small_experiments(lab.topic, build_notebook(lab, "student"))
    cells = run_all(lab, notebook, tmp_path)
    assert [(cell.name, cell.error) for cell in cells if cell.error] == []
    shown = [(cell.name, text) for cell in cells for text in (*cell.texts, cell.report)]
    assert [each for each in shown if "NotImplementedError" in each[1]] == []
    report = report_of(cells, "progress")
    assert f"0 of {sum(cell.points for cell in lab.marked):g} points" in report
    n = n_waiting(cells)
    assert n == 0 or f"{n} cell{'s wait' if n > 1 else ' waits'} for what is not wr" in report
    assert report_of(cells, "ready")


def half_done():
    """(lab, exercise) for each exercise that is left open while all others are written."""
    for lab in read_labs():
        for cell in lab.exercises:
            marks = long_unless(cell.name in SHOWN) + slow_unless(cell.name == SHOWN[0])
            yield pytest.param(lab, cell.name, id=f"{lab.name}-{cell.name}", marks=marks)


def what_needs(notebook, exercise):
    """The notebook without the experiments that have nothing to do with this exercise."""
    cells = [cell for cell in notebook["cells"] if cell["cell_type"] == "code"]
    touched, kept = {exercise}, []
    for cell in cells:
        if used_names(cell["source"]) & touched:
            touched |= bound_names(cell["source"])
            kept.append(cell)
    wanted = set().union(*(used_names(cell["source"]) for cell in kept))
    for cell in reversed(cells):
        if cell not in kept and bound_names(cell["source"]) & wanted:
            wanted |= used_names(cell["source"])
            kept.append(cell)
    others = [cell for cell in cells if cell not in kept and is_experiment(cell)]
    return {**notebook, "cells": [cell for cell in cells if cell not in others]}


def is_experiment(cell):
    return cell_kind(cell) == "experiment" and cell_name(cell) not in ("progress", "ready")


@pytest.mark.parametrize(("lab", "exercise"), list(half_done()))
def test_run_all_with_one_exercise_open_ends_at_the_last_cell(lab, exercise, tmp_path):
    blank = {cell_name(cell): cell["source"] for cell in build_notebook(lab, "student").cells}
    notebook = with_small_experiments(lab.topic, copy.deepcopy(solved_notebook(lab)))
    cell_called(notebook, exercise)["source"] = blank[exercise]
    cells = run_all(lab, what_needs(notebook, exercise), tmp_path)
    assert [(cell.name, cell.error) for cell in cells if cell.error] == []
    assert "written yet" in report_of(cells, f"check_{exercise}")
    assert "points" in report_of(cells, "progress") and report_of(cells, "ready")


def test_own_cells_and_answers_that_need_an_open_part_wait_too(tmp_path):
    lab = find_lab("memory")
    notebook = build_notebook(lab, "student")
    cell_called(notebook, "kv_table")["source"] = OWN_ANSWER
    place = notebook.cells.index(cell_called(notebook, "progress"))
    notebook.cells[place:place] = [from_dict(code_cell(source)) for source in OWN_CELLS]
    cells = run_all(lab, notebook, tmp_path)
    told = {cell.name: "".join(cell.texts) for cell in cells}
    assert [source for source in OWN_CELLS if WAITS not in told[source[:40]]] == []
    assert "this calls kv_cache_bytes, which is not written yet" in report_of(
        cells, "check_kv_table"
    )
    assert "helper" in told[OWN_CELLS[3][:40]]


def test_other_errors_of_that_class_end_run_all_as_errors_do(tmp_path):
    """`input()` has nobody to ask here, and a library cannot do a thing: nothing is unwritten."""
    lab = find_lab("memory")
    notebook = build_notebook(lab, "student")
    errors = ["input()", "import torch\ntorch.nn.Module()(1)", "raise NotImplementedError"]
    notebook.cells = [cell_called(notebook, "setup"), *map(code_cell, errors)]
    write_folder(lab, tmp_path)
    cells = play(notebook, tmp_path, [FIRST_CELL])
    assert [bool(cell.error) for cell in cells] == [False, True, True, True]
