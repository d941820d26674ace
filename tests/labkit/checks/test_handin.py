"""check.ready(): each thing that would cost a student marks is said, and nothing else."""

import json

import pytest

from autograder.builder.outline import outline_bytes
from autograder.builder.source import find_lab
from autograder.practice import cell_called, code_cell, solved_notebook
from labkit.checks import handin
from labkit.checks.outline import Part

LAB = find_lab("memory")
PARTS = [Part(**part) for part in json.loads(outline_bytes(LAB))["parts"]]


@pytest.fixture
def notebook():
    return solved_notebook(LAB)


def ready(tmp_path, notebook, lab=LAB.name, ran=(), restart=False):
    path = tmp_path / f"{LAB.name}.ipynb"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return handin.look_at(path, lab, PARTS, ran, restart)


def test_a_solved_file_can_be_handed_in_after_a_restart_too(tmp_path, notebook):
    found = ready(tmp_path, notebook, restart=True)
    assert found.problems == found.remarks == ()
    assert str(found).startswith("✓ This file can be handed in: ")
    assert "✓" in found._repr_mimebundle_()["text/html"]


def test_an_empty_written_answer_is_a_remark(tmp_path, notebook):
    cell_called(notebook, "growth")["source"] = handin.WRITTEN_STUB
    found = ready(tmp_path, notebook)
    assert found.remarks == ("The written answer `growth` is still empty.",)
    assert found.problems == ()


def test_another_lab_s_file_and_a_file_that_is_none(tmp_path, notebook):
    assert "not of 02_throughput" in str(ready(tmp_path, notebook, lab="02_throughput"))
    (tmp_path / "x.ipynb").write_text('{"cells": [')
    assert "cannot be read" in str(handin.look_at(tmp_path / "x.ipynb", LAB.name, PARTS, ()))
    (tmp_path / "x.ipynb").write_text('{"cells": [1], "metadata": {}}')
    assert "no notebook" in str(handin.look_at(tmp_path / "x.ipynb", LAB.name, PARTS, ()))
    assert "No notebook of this lab" in str(handin.look_at(None, LAB.name, PARTS, ()))


def test_a_deleted_cell(tmp_path, notebook):
    notebook["cells"].remove(cell_called(notebook, "largest_model"))
    assert "The cell `largest_model` is gone." in str(ready(tmp_path, notebook))


def test_a_change_that_was_not_saved(tmp_path, notebook):
    ran = [cell["source"] for cell in notebook["cells"]]
    assert ready(tmp_path, notebook, ran=ran).problems == ()
    cell_called(notebook, "largest_model")["source"] += "\n# an older version"
    found = ready(tmp_path, notebook, ran=ran)
    assert "another version than the one you ran, of `largest_model`" in str(found)


def test_a_student_id_that_is_missing(tmp_path):
    lab = find_lab("papers")
    parts = [Part(**part) for part in json.loads(outline_bytes(lab))["parts"]]
    for student_id, problems in (("ada", 0), (..., 1)):
        notebook = solved_notebook(lab)
        written = "..." if student_id is ... else repr(student_id)
        cell_called(notebook, "student_id")["source"] = f"student_id = {written}"
        path = tmp_path / "papers.ipynb"
        path.write_text(json.dumps(notebook), encoding="utf-8")
        found = handin.look_at(path, lab.name, parts, ())
        assert len(found.problems) == problems
        assert ("Your student id is missing." in str(found)) == (student_id is ...)


def test_a_name_from_a_cell_that_was_deleted(tmp_path, notebook):
    cell = cell_called(notebook, "largest_model")
    cell["source"] = "def largest_model(vram_bytes):\n    return helper(vram_bytes)"
    assert "`largest_model` uses `helper`, which no cell" in str(ready(tmp_path, notebook))


def test_an_answer_that_a_cell_of_ones_own_defines_again(tmp_path, notebook):
    notebook["cells"].append(code_cell("for largest_model in range(3):\n    pass"))
    assert "defines `largest_model` again" in str(ready(tmp_path, notebook))


def test_cells_that_fail_after_a_restart(tmp_path, notebook):
    notebook["cells"].insert(1, code_cell("import no_such_module"))
    found = ready(tmp_path, notebook, restart=True)
    assert "After a restart the cell `of your own` fails: ModuleNotFoundError" in str(found)


def test_the_file_is_found(tmp_path, notebook, monkeypatch):
    monkeypatch.delenv("JPY_SESSION_NAME", raising=False)
    assert handin.find(LAB.name, tmp_path) is None
    ready(tmp_path, notebook)
    (tmp_path / "other.ipynb").write_text("{")
    assert handin.find(LAB.name, tmp_path).name == f"{LAB.name}.ipynb"
    monkeypatch.setenv("JPY_SESSION_NAME", str(tmp_path / "other.ipynb"))
    assert handin.find(LAB.name, tmp_path).name == "other.ipynb"
