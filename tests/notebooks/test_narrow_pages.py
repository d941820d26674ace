"""Code in a notebook is seen whole on a narrow page: JupyterLab cuts what is longer."""

import pytest

from autograder.builder.notebooks import build_notebook, cell_kind, cell_name
from autograder.builder.source import read_labs

COLUMNS = 84


@pytest.mark.parametrize("lab", read_labs(), ids=lambda lab: lab.name)
def test_no_line_of_code_is_longer_than_a_narrow_page(lab):
    cells = [cell for cell in build_notebook(lab, "student").cells if cell.cell_type == "code"]
    shown = [cell for cell in cells if cell_kind(cell) != "install"]  # that one is folded
    long = [
        (cell_name(cell), line)
        for cell in shown
        for line in cell.source.splitlines()
        if len(line) > COLUMNS
    ]
    assert long == []
