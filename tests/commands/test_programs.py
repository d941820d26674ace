"""Every program says what it does when it is asked, and does nothing else; every bench runs."""

import json
import os
import re
import subprocess
import sys

import pytest
from instances import some_of

from autograder.places import REPOSITORY
from benchmarks.__main__ import BENCHES

NOT_PLAYED = {
    "autograder.judging.start": "a grading starts it, for each slot",
    "autograder.judging.child": "a slot starts it",
    "autograder.exports.run_autograder": "Gradescope starts it",
    "tests/gpu/flash_on_gpu.py": "it needs Triton, which comes with PyTorch for a GPU",
    "tests/gpu/kernels_on_gpu.py": "it needs Triton, which comes with PyTorch for a GPU",
}
IS_PROGRAM = re.compile(r'^if __name__ == "__main__":', re.MULTILINE)
BY_HAND = re.compile(r"python (tests/\S+\.py)")
RUN_BY_HAND = sorted(
    {
        name
        for path in (REPOSITORY / "tests").rglob("*.py")
        if IS_PROGRAM.search(text := path.read_text(encoding="utf-8"))
        for name in BY_HAND.findall(text)
    }
)


def modules():
    """The modules that `python -m` starts."""
    for folder in ("autograder", "benchmarks", "labkit", "training"):
        for path in (REPOSITORY / folder).rglob("*.py"):
            if path.name == "__main__.py" or IS_PROGRAM.search(path.read_text(encoding="utf-8")):
                name = path.relative_to(REPOSITORY).with_suffix("").as_posix().replace("/", ".")
                yield name.removesuffix(".__main__")


PROGRAMS = [["-m", name] for name in sorted({*modules()} - {*NOT_PLAYED})]
PROGRAMS += [[name] for name in ("tests/fuzz", *RUN_BY_HAND) if name not in NOT_PLAYED]
SHOWN = (["-m", "autograder.builder.website"], ["tests/fuzz"])


def run(folder, *arguments):
    """Start Python in this folder, with the repository's modules."""
    return subprocess.run(
        [sys.executable, *arguments], cwd=folder, capture_output=True, text=True,
        env=os.environ | {"PYTHONPATH": str(REPOSITORY)},
    )  # fmt: skip


def test_programs_are_found_where_they_are():
    assert {"autograder", "labkit", "benchmarks"} <= {name for *_, name in PROGRAMS}
    assert "tests/helpers/prose.py" in RUN_BY_HAND
    assert {*NOT_PLAYED} <= {*modules(), *RUN_BY_HAND}


@pytest.mark.parametrize("program", some_of(PROGRAMS, *SHOWN), ids=" ".join)
def test_help_explains_a_program_and_starts_nothing(program, tmp_path):
    (tmp_path / "tests").symlink_to(REPOSITORY / "tests")
    done = run(tmp_path, *program, "--help")
    assert done.returncode == 0, done.stderr
    assert re.match(r"(?i)\s*usage: ", done.stdout)
    assert len(done.stdout.split()) > 15
    assert done.stderr == ""
    assert [path.name for path in tmp_path.iterdir()] == ["tests"]


@pytest.mark.parametrize("bench", some_of(BENCHES, "batching"))
def test_a_quick_bench_ends_and_writes_its_records(bench, tmp_path):
    (tmp_path / "data").symlink_to(REPOSITORY / "data")
    done = run(tmp_path, "-m", "benchmarks", bench, "--quick")
    assert done.returncode == 0, done.stderr
    records = {path.name: json.loads(path.read_text()) for path in tmp_path.rglob("*-quick.json")}
    assert len(records) == 1 and all(records.values())


def test_make_bench_plays_every_bench():
    recipe = subprocess.run(
        ["make", "--just-print", "-o", ".venv/.ready", "bench", "QUICK=1"],
        cwd=REPOSITORY, capture_output=True, text=True, check=True,
    ).stdout  # fmt: skip
    assert re.findall(r"python -m (.+)$", recipe, re.MULTILINE) == ["benchmarks --quick"]
    files = {path.stem for path in (REPOSITORY / "benchmarks").glob("[a-z]*.py")}
    assert files == {*BENCHES, "measure", "report"}
