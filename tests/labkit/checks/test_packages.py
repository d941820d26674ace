"""What students may import is there when they are graded, and it is written down."""

import importlib.util
import json
import re
import sys
import tomllib

import pytest
from nbformat.v4 import new_output

from autograder.builder.source import find_lab
from autograder.judging.reasons import error_of
from autograder.places import REPOSITORY
from autograder.practice import cell_called, code_cell, solved_notebook
from labkit.checks import handin
from labkit.checks.outline import outline_of
from labkit.checks.packages import GIVEN, PACKAGES, PYTHON, not_given, too_new

LAB = find_lab("memory")


def plain(name):
    return name.replace("-", "_").casefold()


def test_each_package_is_a_dependency_of_the_grader_and_can_be_imported():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    wanted = [*project["dependencies"], *project["optional-dependencies"]["grade"]]
    known = {plain(re.match(r"[\w-]+", each)[0]) for each in wanted}
    assert set(PACKAGES) <= known
    assert [name for name in PACKAGES if importlib.util.find_spec(name) is None] == []


@pytest.mark.parametrize("n", [900, 1500])
def test_a_chain_of_attributes_hides_nothing(n):
    source = f"import seaborn, itertools\nx{'.a' * n} = itertools.batched"
    assert not_given(source) == ["seaborn"]
    assert too_new(source) == ["`itertools.batched`"]


def test_the_course_page_lists_the_packages():
    page = (REPOSITORY / "docs/course.md").read_text(encoding="utf-8")
    (listed,) = re.findall(r"and these\npackages:\n\n((?: {4}.*\n)*)", page)
    assert tuple(listed.split()) == PACKAGES


@pytest.mark.parametrize(
    ("source", "missing"),
    [
        ("import jaxtyping\nfrom einops import rearrange\nimport os.path", []),
        ("import seaborn as sns\nfrom jax.nn import relu\nimport jax", ["seaborn", "jax"]),
        ("def f():\n    import sklearn", ["sklearn"]),
        ("try:\n    import jax\nexcept ImportError:\n    jax = None", []),
        ("import scipy.stats, pandas as pd, sympy, numba", []),
        ("%pip install x\nimport mem, labkit.checks\nfrom . import y", []),
        ("import (", []),
    ],
)
def test_imports_that_the_grader_has_not_are_found(source, missing):
    assert not_given(source, ["mem"]) == missing


F_STRING = "quotes or backslashes in an f-string's braces"


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from itertools import batched, chain", ["`itertools.batched`"]),
        ("import math\nprint(math.sumprod([1], [2]), math.sqrt(2))", ["`math.sumprod`"]),
        ("try:\n    from typing import override\nexcept ImportError:\n    pass", []),
        ('%pip install x\nprint(f\'{x}\' f"{y!r:>{w}}" "\\n")  # it\'s', []),
        ('f"""{x["a"]} {\n 3}\\n""" f"{f\'{x}\'}"', []),
        ("def f(:", []),
    ],
)
def test_what_the_oldest_python_lacks_is_found(source, found):
    assert too_new(source) == found


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("type Rows = list[int]", "type statement"),
        ("def first[T](rows: list[T]): pass", "type parameter lists"),
        ('print(f"{", ".join(names)}")', F_STRING),
        ("print(f\"{'\\n'.join(names)}\")", F_STRING),
        ("print(f\"{f'{name}\\n'}\")", F_STRING),
        ('print(f"{\n    name  # who\n}")', F_STRING),
    ],
)
def test_syntax_is_found_where_the_students_python_reads_it(source, found):
    assert too_new(source) == [found] * (sys.version_info >= (3, 12))


def test_the_oldest_python_is_the_one_that_the_kit_requires():
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text())["project"]
    assert project["requires-python"] == ">={}.{}".format(*PYTHON)


def ready(tmp_path, notebook):
    path = tmp_path / f"{LAB.name}.ipynb"
    path.write_text(json.dumps(notebook), encoding="utf-8")
    return handin.look_at(path, LAB.name, outline_of("memory"), ())


def test_the_hand_in_check_names_an_import_that_fails_when_graded(tmp_path):
    notebook = solved_notebook(LAB)
    cell_called(notebook, "largest_model")["source"] += "\nimport seaborn"
    notebook["cells"].append(code_cell("import mem\nimport jaxtyping"))
    (tmp_path / "mem.py").touch()
    (problem,) = ready(tmp_path, notebook).problems
    assert problem.startswith("A cell imports `seaborn`, which the grader does not have")
    assert "jaxtyping" in problem


def test_the_hand_in_check_names_what_an_older_python_does_not_have(tmp_path):
    notebook = solved_notebook(LAB)
    cell_called(notebook, "largest_model")["source"] += "\nfrom itertools import batched"
    assert ready(tmp_path, notebook).problems == (
        "A cell uses `itertools.batched`, which Python 3.11 does not have. The grader may run that "
        "version, so write this cell without it.",
    )


def test_the_reason_of_a_failing_import_lists_what_there_is():
    output = new_output("error", ename="ModuleNotFoundError",
                        evalue="No module named 'seaborn'", traceback=[])  # fmt: skip
    assert error_of([output]) == (
        f"ModuleNotFoundError: No module named 'seaborn'; a cell can import {GIVEN}"
    )
