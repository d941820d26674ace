"""Graded by nbgrader alone, without this project's plugin: what nobody answered earns nothing.

nbgrader reads a check cell by what it shows: an error earns nothing, a number is that many points,
anything else is full credit. Experiments are left out: no mark depends on them.
"""

import ast
import re

import pytest
from instances import lab_instances
from IPython.core.formatters import DisplayFormatter
from nbformat.v4 import new_output
from nbgrader.utils import determine_grade, is_grade

from autograder.builder.notebooks import build_notebook, cell_kind, cell_name
from autograder.practice import solved_notebook


def run_cell(source, names):
    """Run a cell as IPython does; returns the outputs of its last line, or its error."""
    tree = ast.parse(source)
    last = tree.body.pop() if isinstance(tree.body[-1], ast.Expr) else None
    try:
        exec(compile(tree, "cell", "exec"), names)
        value = eval(compile(ast.Expression(last.value), "cell", "eval"), names) if last else None
    except Exception as error:
        return [new_output("error", ename=type(error).__name__, evalue=str(error), traceback=[])]
    data, _ = DisplayFormatter().format(value)
    return [] if value is None else [new_output("execute_result", data, execution_count=1)]


def grades(notebook):
    """What nbgrader gives each graded cell; None where it waits for a person."""
    names, grades = {"__name__": "__main__"}, {}
    for cell in notebook.cells:
        if cell.cell_type == "code" and cell_kind(cell) in ("given", "exercise", "answer", "check"):
            cell.outputs = run_cell(cell.source, names)
        if is_grade(cell):
            grades[cell_name(cell)], _ = determine_grade(cell)
    return grades


def with_answers(lab, step):
    """The notebook with the name and every `step`-th answer written; the names of those cells."""
    notebook = build_notebook(lab, "student")
    solved = {cell_name(cell): cell["source"] for cell in solved_notebook(lab)["cells"]}
    kinds = ("exercise", "answer", "written")
    cells = [cell for cell in notebook.cells if cell_kind(cell) in kinds]
    written = cells[:1] + cells[1::step]  # the first is the student's name and id
    for cell in written:
        cell.source = solved[cell_name(cell)]
    return notebook, {cell_name(cell) for cell in written}


@pytest.mark.parametrize("lab", lab_instances())
def test_nbgrader_alone_gives_the_points_of_the_open_checks(lab):
    assert set(grades(build_notebook(lab, "student")).values()) == {0}

    points = {f"check_{cell.name}": cell.points for cell in lab.marked}
    notebook, written = with_answers(lab, 1)
    perfect = grades(notebook)
    for cell in notebook.cells:
        if cell_name(cell) in points:  # what only the grader can judge earns nothing here
            shown = cell.outputs[-1].data["text/html"]
            visible = re.search(r"of ([\d.]+) points on the visible tests", shown)
            earned, all_points = perfect[cell_name(cell)], points[cell_name(cell)]
            if "read, marked later" in shown:
                assert earned == (float(visible[1]) if visible else 0) < all_points
            else:
                assert earned == all_points
        elif cell_name(cell) in perfect:
            assert perfect[cell_name(cell)] is None

    notebook, written = with_answers(lab, 2)
    half = {name: earned for name, earned in grades(notebook).items() if name in points}
    assert all(half[name] == 0 for name in half if name.removeprefix("check_") not in written)
    some = sum(earned for name, earned in perfect.items() if name in points)
    assert sum(half.values()) > 0 or some == 0
    assert sum(half.values()) < some or some == 0 or len(points) == 1
