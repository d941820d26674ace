"""Every lab as a student opens it: Run All on the untouched notebook goes through to the end."""

import pytest
from instances import lab_instances
from play import FIRST_CELL, play, with_small_experiments

from autograder.builder.notebooks import build_notebook
from autograder.builder.wheel import write_folder


@pytest.mark.usefixtures("warm_kernels")
@pytest.mark.parametrize("lab", lab_instances())
def test_run_all_on_the_untouched_notebook_ends_at_the_last_cell(lab, tmp_path):
    notebook = with_small_experiments(lab.topic, build_notebook(lab, "student"))
    write_folder(lab, tmp_path)
    cells = play(notebook, tmp_path, [FIRST_CELL], {"OMP_NUM_THREADS": "1"})
    assert [(cell.name, cell.error) for cell in cells if cell.error] == []
    shown = [(cell.name, text) for cell in cells for text in (*cell.texts, cell.report)]
    assert [each for each in shown if "NotImplementedError" in each[1]] == []
    report = next(cell.report for cell in cells if cell.name == "progress")
    assert f"0 of {sum(cell.points for cell in lab.marked):g} points" in report
