"""`autograder new` in a copy of the repository: it builds, it is judged, it can be deleted."""

import os
import shutil
import subprocess
import sys

import pytest

from autograder.builder import new
from autograder.builder.source import read_labs
from autograder.errors import Refusal
from autograder.places import REPOSITORY

LAB, EXERCISE = "09_quantization", "CompressedCache"
PLAY = """
from autograder.builder.notebooks import student_text
from autograder.builder.source import find_lab, module_source
from tests.known import mutants_of, variants_of
from autograder.proof.matrix import findings_for

for name, exercise in (("09", "quantization_total"), ("04", "CompressedCache")):
    lab = find_lab(name)
    (cell,) = (cell for cell in lab.marked if cell.name == exercise)
    known = [one for one in [*mutants_of(lab), *variants_of(lab)] if one.exercise == exercise]
    stub = student_text(cell)
    for source in (None, stub, *(one.source for one in known)):
        replaced = {} if source is None else {exercise: source}
        print(exercise, *(finding.status for finding in findings_for(lab, exercise, replaced)))
"""


@pytest.fixture(scope="module")
def copy(tmp_path_factory):
    """The repository's own files with the fourth lab alone, the data by a link."""
    folder = tmp_path_factory.mktemp("repository")
    others = [lab for lab in read_labs() if lab.number != 4]
    names = [name for lab in others for name in (lab.name, lab.topic)]
    left_out = [f"{name}{kind}" for name in names for kind in ("", ".py", ".ipynb")]
    for name in ("labkit", "autograder", "notebooks", "docs"):
        ignored = shutil.ignore_patterns("*.egg-info", ".ipynb_checkpoints", *left_out)
        shutil.copytree(REPOSITORY / name, folder / name, ignore=ignored)
    for name in ("README.md", "pyproject.toml", "constraints-newest.txt"):
        shutil.copy(REPOSITORY / name, folder)
    for name in ("tests/__init__.py", "tests/known/__init__.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(REPOSITORY / name, folder / name)
    (folder / "data").symlink_to(REPOSITORY / "data")
    course = folder / "notebooks" / "course.toml"
    lines = course.read_text().splitlines(keepends=True)
    course.write_text("".join(line for line in lines if not line.startswith(tuple(names))))
    return folder


@pytest.fixture(scope="module")
def whole_copy(tmp_path_factory):
    """All labs and their tests, with a new lab, and a new exercise in an old one."""
    folder = tmp_path_factory.mktemp("whole")
    for name in (
        *("labkit", "autograder", "notebooks", "docs"),
        *("tests", "training", "benchmarks"),
    ):
        ignored = shutil.ignore_patterns("*.egg-info", ".ipynb_checkpoints", "__pycache__")
        shutil.copytree(REPOSITORY / name, folder / name, ignore=ignored)
    for path in REPOSITORY.glob("*.*"):
        if path.is_file():
            shutil.copy(path, folder)
    (folder / "Makefile").symlink_to(REPOSITORY / "Makefile")
    (folder / "data").symlink_to(REPOSITORY / "data")
    for command in (["lab", LAB], ["exercise", "04", EXERCISE]):
        assert run(folder, "-m", "autograder", "new", *command).returncode == 0
    return folder


def run(folder, *arguments):
    kept = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST")}
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, env=kept | {"PYTHONPATH": str(folder)},
        capture_output=True, text=True,
    )  # fmt: skip


def test_a_new_lab_and_a_new_exercise_build_and_are_judged_at_once(copy):
    for command in (["new", "lab", LAB], ["new", "exercise", "04", EXERCISE], ["build"]):
        done = run(copy, "-m", "autograder", *command)
        assert done.returncode == 0, done.stderr
    assert run(copy, "-m", "autograder", "build", "--check").returncode == 0
    assert f"[{LAB}]" in (copy / "README.md").read_text()
    played = run(copy, "-c", PLAY)
    lines = [line for line in played.stdout.splitlines() if not line.startswith("ready: ")]
    assert lines == [
        f"{exercise} {status}"
        for exercise in ("quantization_total", EXERCISE)
        for status in ("passed", "todo", "failed", "passed")
    ], played.stderr
    again = run(copy, "-m", "autograder", "new", "lab", LAB)
    assert again.returncode == 2 and "there is a lab 09_quantization" in again.stderr


def test_a_lab_is_removed_by_deleting_its_places(copy):
    topic = LAB.partition("_")[2]
    places = ["labkit/labs", "autograder/labs", "tests/known", "tests/labs"]
    for folder in places:
        shutil.rmtree(copy / folder / topic)
    files = [f"labkit/{topic}.py", f"notebooks/{LAB}.ipynb", f"notebooks/source/{LAB}.py"]
    for name in files:
        (copy / name).unlink()
    assert run(copy, "-m", "autograder", "build").returncode == 0
    assert LAB not in (copy / "README.md").read_text()


@pytest.mark.parametrize(
    ("lab", "tests"),
    [
        (LAB, ["tests/notebooks/test_narrow_pages.py", "tests/notebooks/test_plain_nbgrader.py"]),
        pytest.param(LAB, ["tests"], marks=pytest.mark.slow),
        pytest.param("04", ["tests/labs", "tests/autograder/proof"], marks=pytest.mark.slow),
    ],
    ids=["pages", "new", "old"],
)
def test_the_tests_of_a_new_lab_and_of_a_new_exercise_pass_at_once(whole_copy, lab, tests):
    if tests == ["tests"]:
        assert run(whole_copy, "-m", "autograder", "build").returncode == 0
    done = run(whole_copy, "-m", "pytest", "-m", "not long", "--lab", lab, *tests)
    assert done.returncode == 0, done.stdout[-4000:]
    assert " passed" in done.stdout


@pytest.mark.parametrize(
    ("make", "names", "says"),
    [
        (new.new_lab, ("04_other",), "there is a lab 04_kv_cache"),
        (new.new_lab, ("09_kv_cache",), "there is a lab 04_kv_cache"),
        (new.new_lab, ("09_checks",), "labkit/checks is there already"),
        (new.new_lab, ("09_cli",), "labkit/cli.py is there already"),
        (new.new_lab, ("quantization",), "is no name of a lab"),
        (new.new_lab, ("09_a b",), "is no name of a lab"),
        (new.new_lab, ("09_lambda",), "is no name of a lab"),
        (new.new_exercise, ("04", "GrowingCache"), "already has something called GrowingCache"),
        (new.new_exercise, ("04", "Tensor"), "already has something called Tensor"),
        (new.new_exercise, ("04", "setup"), "already has something called setup"),
        (new.new_exercise, ("04", "two words"), "is no name of a function"),
        (new.new_exercise, ("04", "class"), "is no name of a function"),
        (new.new_exercise, ("09", "Name"), "there is no lab '09'"),
        (new.new_exercise, ("08", "Name"), "its answers are not code"),
    ],
)
def test_a_name_that_cannot_be_is_refused_and_nothing_is_written(make, names, says, monkeypatch):
    monkeypatch.setattr(new, "_write", lambda files: pytest.fail(f"wrote {list(files)}"))
    with pytest.raises(Refusal, match=says):
        make(*names)
