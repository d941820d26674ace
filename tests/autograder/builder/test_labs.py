"""A lab is found by its topic: without its folders the grader works, and says what is missing."""

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autograder.builder.source import find_lab, read_course, read_labs
from autograder.labs import cases_of, part_of
from autograder.places import REPOSITORY, SOURCES
from autograder.proof import complete
from autograder.proof.complete import missing_parts
from tests.known import complete as proven
from tests.known.complete import unproven_parts

MISSING = {
    "checks": "04_kv_cache has no checks: add labkit/labs/kv_cache/checks/__init__.py",
    "cases": "04_kv_cache has no hidden cases: add autograder/labs/kv_cache/cases/__init__.py",
    "a check": "generate of 04_kv_cache has no check: add one to labkit/labs/kv_cache/checks",
    "an open case": "generate of 04_kv_cache has no open case: add one to OPEN_CASES in "
    "labkit/labs/kv_cache/checks",
    "a hidden case": "generate of 04_kv_cache has no hidden case: add one to "
    "autograder/labs/kv_cache/cases/__init__.py",
    "a right answer": "generate of 04_kv_cache has no right answer besides the reference: add one "
    "to tests/known/kv_cache/right/generate.py",
    "a wrong answer": "the check one_forward_per_new_token of 04_kv_cache has no wrong answer "
    "that it alone catches: add one to tests/known/kv_cache/wrong/generate.py",
    "an exercise of that name": "other.py in tests/known/kv_cache/wrong is named after no "
    "exercise of 04_kv_cache: rename it",
}
IMPORT_EVERYTHING = """
import importlib, pkgutil
import autograder
from autograder.builder.notebooks import build_notebook
from autograder.builder.source import read_labs
from tests.sample_class import sample_class
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


@pytest.mark.parametrize("lab", read_labs(), ids=lambda lab: lab.name)
def test_no_lab_misses_a_part(lab):
    assert list(missing_parts(lab)) == []
    if lab.name not in read_course().own:
        assert list(unproven_parts(lab)) == []


@pytest.mark.parametrize("part", MISSING)
def test_what_a_lab_misses_is_said_with_the_file_to_add(part, monkeypatch):
    def without(find):
        return lambda *args: {k: v for k, v in find(*args).items() if k != "generate"}

    def but(find, is_left_out):
        return lambda lab: [each for each in find(lab) if not is_left_out(each)]

    check = MISSING["a wrong answer"].split()[2]
    stray = [("wrong", Path("other.py"))]

    def no_module(topic):
        raise ModuleNotFoundError(topic)

    name, instead = {
        "checks": ("checks_of", no_module),
        "cases": ("part_of", lambda topic, name: None),
        "a check": ("checks_of", without(complete.checks_of)),
        "an open case": ("open_cases_of", without(complete.open_cases_of)),
        "a hidden case": ("cases_of", without(complete.cases_of)),
        "a right answer": (
            "variants_of",
            but(proven.variants_of, lambda one: one.exercise == "generate"),
        ),
        "a wrong answer": (
            "mutants_of",
            but(proven.mutants_of, lambda one: one.caught_by == (check,)),
        ),
        "an exercise of that name": ("stray_files", lambda lab: stray),
    }[part]
    for module in (complete, proven):
        if hasattr(module, name):
            monkeypatch.setattr(module, name, instead)
    lab = find_lab("kv_cache")
    is_needed = part not in ("a right answer", "a wrong answer", "an exercise of that name")
    assert list(missing_parts(lab)) == ([MISSING[part]] if is_needed else [])
    if part not in ("checks", "a check"):
        assert list(unproven_parts(lab)) == ([] if is_needed else [MISSING[part]])


@pytest.mark.parametrize("lab", ["08_papers", pytest.param("04_kv_cache", marks=pytest.mark.slow)])
def test_without_the_places_of_a_lab_all_else_imports_builds_and_has_samples(lab, tmp_path):
    topic = lab.partition("_")[2]
    for name in ("labkit", "autograder", "notebooks", "tests/known", "tests/sample_class"):
        left_out = shutil.ignore_patterns("__pycache__", f"{lab}.py", topic, f"{topic}.py")
        shutil.copytree(REPOSITORY / name, tmp_path / name, ignore=left_out)
    settings = tmp_path / "notebooks/course.toml"  # its lines there go, as CONTRIBUTING.md says
    lines = settings.read_text(encoding="utf-8").splitlines(keepends=True)
    settings.write_text("".join(line for line in lines if not line.startswith(lab)), "utf-8")
    for name in ("data", "pyproject.toml", "constraints-newest.txt", "tests/__init__.py"):
        (tmp_path / name).symlink_to(REPOSITORY / name)
    said = subprocess.check_output(
        [sys.executable, "-c", IMPORT_EVERYTHING], cwd=tmp_path, env={"PYTHONPATH": str(tmp_path)}
    )
    others = [path.stem for path in sorted(SOURCES.glob("*.py")) if path.stem != lab]
    assert said.decode().split() == others * 2
    assert not Path(tmp_path / "autograder" / "labs" / topic).exists()
