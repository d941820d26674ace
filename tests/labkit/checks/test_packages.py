"""What students may import is there when they are graded, and it is written down."""

import importlib.util
import json
import re
import tomllib

import pytest
from nbformat.v4 import new_output

from autograder.builder.source import find_lab
from autograder.judging.reasons import error_of
from autograder.places import REPOSITORY
from autograder.practice import cell_called, code_cell, solved_notebook
from labkit.checks import handin
from labkit.checks.outline import outline_of
from labkit.checks.packages import GIVEN, PACKAGES, not_given

LAB = find_lab("memory")


def plain(name):
    return name.replace("-", "_").casefold()


def test_each_package_is_a_dependency_of_the_grader_and_can_be_imported():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["grade"]]
    known = {plain(re.match(r"[\w-]+", each)[0]) for each in wanted}
    assert set(PACKAGES) <= known
    assert [name for name in PACKAGES if importlib.util.find_spec(name) is None] == []


def test_the_course_page_lists_the_packages():
    page = (REPOSITORY / "docs/course.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"and these\npackages:\n\n((?: {4}.*\n)*)", page)
    assert tuple(listed.split()) == PACKAGES


@pytest.mark.parametrize(
    ("source", "missing"),
    [
        ("import jaxtyping\nfrom einops import rearrange\nimport os.path", []),
        ("import seaborn as sns\nfrom pandas.io import json\nimport pandas", ["seaborn", "pandas"]),
        ("def f():\n    import scipy", ["scipy"]),
        ("try:\n    import scipy\nexcept ImportError:\n    scipy = None", []),
        ("%pip install x\nimport mem, labkit.checks\nfrom . import y", []),
        ("import (", []),
    ],
)
def test_imports_that_the_grader_has_not_are_found(source, missing):
    assert not_given(source, ["mem"]) == missing


def ready(tmp_path, notebook):
    path = tmp_path / f"{LAB.name}.ipynb"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return handin.look_at(path, LAB.name, outline_of("memory"), ())


def test_the_hand_in_check_names_an_import_that_fails_when_graded(tmp_path):
    notebook = solved_notebook(LAB)
    cell_called(notebook, "weight_bytes")["source"] += "\nimport seaborn"
    notebook["cells"].append(code_cell("import mem\nimport jaxtyping"))
    (tmp_path / "mem.py").touch()
    (problem,) = ready(tmp_path, notebook).problems
    assert problem.startswith("A cell imports `seaborn`, which the grader does not have")
    assert "jaxtyping" in problem


def test_the_reason_of_a_failing_import_lists_what_there_is():
    output = new_output("error", ename="ModuleNotFoundError",
                        evalue="No module named 'seaborn'", traceback=[])  # fmt: skip
    assert error_of([output]) == (
        f"ModuleNotFoundError: No module named 'seaborn'; a cell can import {GIVEN}"
    )
