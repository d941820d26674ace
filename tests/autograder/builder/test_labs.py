"""A lab is found by its topic: without its folders the grader works, and says what is missing."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.builder.source import REPOSITORY, SOURCES
from autograder.labs import cases_of, part_of

IMPORT_EVERYTHING = """
import importlib, pkgutil
import autograder
from autograder.builder.notebooks import build_notebook
from autograder.builder.source import read_labs
from autograder.proof.cheats import sample_class
for module in pkgutil.walk_packages(autograder.__path__, "autograder."):
    if not module.name.endswith(("__main__", "cluster.worker", "cluster.grading")):
        importlib.import_module(module.name)
print(*(lab.name for lab in read_labs()), *sorted({one.lab for one in sample_class()}))
[build_notebook(lab, edition) for lab in read_labs() for edition in ("student", "instructor")]
"""


def test_parts_that_a_lab_does_not_have_are_none():
    assert part_of("papers", "key").INSTRUCTOR
    assert part_of("memory", "key") is part_of("no_lab", "cases") is part_of("", "cases") is None


def test_the_same_seed_gives_the_same_hidden_cases():
    first = cases_of("memory", 3)
    cases_of.cache_clear()
    assert str(cases_of("memory", 3)) == str(first) != str(cases_of("memory", 4))


@pytest.mark.parametrize("lab", ["08_papers", "04_kv_cache"])
def test_without_the_places_of_a_lab_all_else_imports_builds_and_has_samples(lab, tmp_path):
    topic = lab.partition("_")[2]
    for name in ("labkit", "autograder", "notebooks"):
        left_out = shutil.ignore_patterns("__pycache__", f"{lab}.py", topic, f"{topic}.py")
        shutil.copytree(REPOSITORY / name, tmp_path / name, ignore=left_out)
    (tmp_path / "data").symlink_to(REPOSITORY / "data")
    said = subprocess.check_output(
        [sys.executable, "-c", IMPORT_EVERYTHING], cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}
    )
    others = [path.stem for path in sorted(SOURCES.glob("*.py")) if path.stem != lab]
    assert said.decode().split() == others * 2
    assert not Path(tmp_path / "autograder" / "labs" / topic).exists()
