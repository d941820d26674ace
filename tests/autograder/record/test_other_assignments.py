"""An nbgrader assignment that is no lab: nbgrader grades it, beside the labs in their gradebook."""

import nbformat
import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook
from recorded import LAB, record, result_of, run_nbgrader
from typer.testing import CliRunner

from autograder.builder.notebooks import build_notebook, to_bytes
from autograder.builder.source import find_lab
from autograder.cli import app
from autograder.intake.master import read_master
from autograder.intake.read import read_notebook
from autograder.intake.rebuild import rebuild

MASTER = read_master(build_notebook(find_lab(LAB), "student"), LAB)
PLAIN = "c = get_config()\nc.CourseDirectory.course_id = 'plain'\n"
SOLUTION = "### BEGIN SOLUTION\ndef double(x):\n    return 2 * x\n### END SOLUTION"
CELLS = {  # name: (is code, is a test, is filled in, text)
    "double": (True, False, True, SOLUTION),
    "test_double": (True, True, False, "assert double(4) == 8"),
    "partly": (True, True, False, "(double(1) == 2) + 0.5 * (double(-1) == 1)"),
    "why": (False, True, True, "Because."),
}
KERNEL = {"kernelspec": {"name": "python3", "language": "python", "display_name": "Python 3"}}


def homework(double=SOLUTION, test="assert double(4) == 8"):
    cells = []
    for name, (is_code, is_test, is_open, text) in CELLS.items():
        text = {"double": double, "test_double": test}.get(name, text)
        cell = (new_code_cell if is_code else new_markdown_cell)(text)
        cell.metadata["nbgrader"] = {"grade_id": name, "grade": is_test, "solution": is_open,
                                     "locked": not is_open, "task": False, "schema_version": 3,
                                     **({"points": 1.5} if is_test else {})}  # fmt: skip
        cells.append(cell)
    return new_notebook(cells=cells, metadata=KERNEL)


HANDED_IN = {
    "ann": homework(),
    "ben": homework("def double(x):\n    return x + 4"),
    "cem": homework("raise NotImplementedError()"),
    "dia": homework("def double(x):\n    return 0", test="pass"),
    "eva": homework("double = abs"),
}


def marks_by_nbgrader(course):
    """The marks of ps1 after nbgrader's own commands, by student and cell."""
    from nbgrader.api import Gradebook

    for place, made in {"source": homework(), **HANDED_IN}.items():
        path = course / (place if place == "source" else f"submitted/{place}") / "ps1"
        path.mkdir(parents=True)
        nbformat.write(made, path / "ps1.ipynb")
    commands = [["generate_assignment", "ps1", "--create", "--force"], ["autograde", "ps1"]]
    done = run_nbgrader(course, commands)
    assert done.returncode == 0, done.stderr[-2000:]
    with Gradebook(f"sqlite:///{course}/gradebook.db") as gradebook:
        return {
            (handed_in.student.id, grade.name): (grade.auto_score, grade.needs_manual_grade)
            for handed_in in gradebook.find_assignment("ps1").submissions
            for grade in handed_in.notebooks[0].grades
        }


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    """The folder of a grading in whose course nbgrader has graded ps1, and the marks of ps1."""
    out = tmp_path_factory.mktemp("course") / "out"
    record(out, [result_of("ann"), result_of("ben")])
    return out, marks_by_nbgrader(out / "course")


def test_nbgrader_gives_it_the_marks_that_it_gives_in_a_course_without_labs(graded, tmp_path):
    (tmp_path / "nbgrader_config.py").write_text(PLAIN)
    marks = marks_by_nbgrader(tmp_path)
    assert graded[1] == marks
    found = [[marks[name, cell][0] for cell in ("test_double", "partly")] for name in HANDED_IN]
    assert found == [[1.5, 1], [1.5, 0], [0, 0], [0, 0], [0, 0.5]]
    assert marks["ann", "why"] == (None, True)


def test_its_marks_stay_when_labs_are_recorded_and_reported(graded):
    from nbgrader.api import Gradebook

    out, marks = graded
    record(out, [result_of("ann", fails=("largest_model",)), result_of("cem")])
    done = CliRunner().invoke(app, ["report", str(out)])
    assert done.exit_code == 0, done.output
    assert "ps1" not in (out / "marks.csv").read_text()
    with Gradebook(f"sqlite:///{out}/course/gradebook.db") as gradebook:
        kept = {
            (handed_in.student.id, grade.name): (grade.auto_score, grade.needs_manual_grade)
            for handed_in in gradebook.find_assignment("ps1").submissions
            for grade in handed_in.notebooks[0].grades
        }
        assert len(gradebook.find_assignment(LAB).submissions) == 3
    assert kept == marks


def test_a_file_of_it_handed_in_for_a_lab_is_named_and_has_no_mark():
    text = nbformat.writes(HANDED_IN["ann"]).encode()
    problem = rebuild(MASTER, read_notebook(text, "ps1.ipynb")).problem
    assert problem == (
        "it is a notebook of an nbgrader assignment that is no lab, and `nbgrader autograde` "
        f"grades those: hand in the file of {LAB}"
    )
    blank = to_bytes(build_notebook(find_lab("02"), "student"))
    assert "no lab" not in rebuild(MASTER, read_notebook(blank, "02.ipynb")).problem


def test_grade_names_the_command_that_grades_it(graded):
    out, _ = graded
    place = out / "course" / "submitted"
    done = CliRunner().invoke(app, ["grade", "ps1", str(place), "-o", str(out)])
    assert done.exit_code == 2
    assert (
        "nbgrader itself grades every assignment that is no lab: run `nbgrader autograde ps1`"
        in (" ".join(done.stderr.split()))
    )
