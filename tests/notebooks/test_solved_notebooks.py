"""Every lab as a perfect student has it: each cell runs, each check passes, figures are drawn.

The solved editions run on the lab's own wheel, in a venv without the repository: so the wheel holds
all that they need, and nothing of it depends on this lab's answers, which are blank there.
Experiments are small, unless --large asks for those of the notebook.
"""

import re

import pytest
from instances import notebook_instances
from play import FIRST_CELL, faults, n_images, play, venv_with_wheels, with_small_experiments

from autograder.places import REPOSITORY
from autograder.practice import solved_notebook

NO_REPOSITORY = "import importlib.util\n\nassert not importlib.util.find_spec('autograder')"
POINTS = re.compile(r"([\d.]+) of ([\d.]+) points on the visible tests")


@pytest.mark.parametrize("lab", notebook_instances())
def test_every_cell_runs_and_every_check_passes(lab, tmp_path, request):
    notebook = solved_notebook(lab)
    if not request.config.getoption("--large"):
        notebook = with_small_experiments(lab.topic, notebook)
    python = venv_with_wheels(lab, tmp_path / "venv")
    first = [FIRST_CELL, NO_REPOSITORY]
    cells = play(notebook, tmp_path, first, {"OMP_NUM_THREADS": "1"}, python=python)
    assert faults(cells) == []
    has_figures = (REPOSITORY / f"labkit/labs/{lab.topic}/figures.py").exists()
    assert n_images(cells) >= has_figures
    checks = [cell for cell in cells if cell.name.startswith("check_")]
    assert len(checks) == len(lab.marked)
    for cell in checks:
        points = POINTS.search(cell.report)
        assert "marked when you hand it in" in cell.report or points[1] == points[2], cell.report
