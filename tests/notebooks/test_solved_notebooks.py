"""Every lab as a perfect student has it: each cell runs, each check passes, figures are drawn.

The solved editions run against the student's labkit, in which this lab's answers are blanked, so
nothing a student needs can depend on them. Experiments are small, unless --large asks for those of
the notebook.
"""

import re

import pytest
from instances import lab_instances
from play import FIRST_CELL, faults, n_images, play, with_small_experiments

from autograder.builder.wheel import write_folder
from autograder.places import REPOSITORY
from autograder.practice import solved_notebook

POINTS = re.compile(r"([\d.]+) of ([\d.]+) points on the visible tests")


@pytest.mark.usefixtures("warm_kernels")
@pytest.mark.parametrize("lab", lab_instances())
def test_every_cell_runs_and_every_check_passes(lab, tmp_path, request):
    notebook = solved_notebook(lab)
    if not request.config.getoption("--large"):
        notebook = with_small_experiments(lab.topic, notebook)
    write_folder(lab, tmp_path)
    cells = play(notebook, tmp_path, [FIRST_CELL], {"OMP_NUM_THREADS": "1"})
    assert faults(cells) == []
    has_figures = (REPOSITORY / f"labkit/labs/{lab.topic}/figures.py").exists()
    assert n_images(cells) >= has_figures
    checks = [cell for cell in cells if cell.name.startswith("check_")]
    assert len(checks) == len(lab.marked)
    for cell in checks:
        points = POINTS.search(cell.report)
        assert "marked when you hand it in" in cell.report or points[1] == points[2], cell.report
