"""A mark is due again when something that it depends on has changed, and not otherwise."""

import ast
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from autograder import places
from autograder.builder.notebooks import build_notebook
from autograder.builder.source import find_lab
from autograder.grading import fingerprint
from autograder.grading.fingerprint import (
    grading_digest,
    marking_digest,
    marking_files,
    may_import,
)
from autograder.judging.jobs import Limits
from autograder.places import REPOSITORY

LAB = find_lab("04_kv_cache")
MATTERS = {
    "kv_cache": [
        "labkit/kv_cache.py",
        "labkit/labs/kv_cache/checks/arena.py",
        "autograder/labs/kv_cache/cases/__init__.py",
        "autograder/judging/judge.py",
        "autograder/judging/child/shell.py",
        "autograder/judging/wall/seccomp.py",
        "autograder/intake/rebuild.py",
        "autograder/builder/blank.py",
        "labkit/bridge/wire.py",
        "labkit/chance/source.py",
        "labkit/models/transformer.py",
    ],
    "memory": ["data/models.json", "data/gpus.json", "labkit/checks/compare.py"],
    "throughput": ["data/results/throughput-h200.jsonl", "labkit/measuring/roofline.py"],
    "papers": [
        "autograder/labs/papers/key.py",
        "autograder/labs/papers/keys/q01_one_step.toml",
        "data/papers/q01_one_step.toml",
    ],
}
DRAWS = (
    "labkit/labs/kv_cache/figures.py",
    "labkit/labs/batching/widget.py",
    "labkit/labs/memory/checks/fit.py",
    "labkit/measuring/plots.py",
    "autograder/labs/memory/cases/__init__.py",
    "autograder/labs/papers/key.py",
    "autograder/pages/report.py",
    "autograder/pages/templates/feedback.html",
    "autograder/practice/clumsy.py",
    "autograder/exports/canvas.py",
)


@pytest.fixture
def copy(tmp_path, monkeypatch):
    """A copy of the repository that may be edited."""
    for name in ("labkit", "autograder", "data"):
        left_out = shutil.ignore_patterns("*.safetensors", "__pycache__", "corpus")
        shutil.copytree(REPOSITORY / name, tmp_path / name, ignore=left_out)
    monkeypatch.setattr(fingerprint, "REPOSITORY", tmp_path)
    marking_digest.cache_clear()
    yield tmp_path
    marking_digest.cache_clear()


@pytest.mark.parametrize("topic", MATTERS)
def test_what_judges_a_lab_makes_its_marks_due(copy, topic):
    lab = find_lab(topic)
    seen = {marking_digest(lab)}
    for name in MATTERS[topic]:
        edit(copy / name)
        seen.add(marking_digest(lab))
    assert len(seen) == 1 + len(MATTERS[topic])


def test_what_draws_and_what_other_labs_have_leaves_marks_as_they_are(copy):
    before = grading_digest(LAB, 0, Limits(), walled=True)
    for name in DRAWS:
        edit(copy / name)
    assert grading_digest(LAB, 0, Limits(), walled=True) == before


def test_a_raised_revision_leaves_marks_as_they_are(tmp_path, monkeypatch):
    before = grading_digest(LAB, 0, Limits(), walled=True), build_notebook(LAB, "student")
    monkeypatch.setattr(places, "COURSE", tmp_path / "course.toml")
    places.COURSE.write_text(f'title = ""\n[revisions]\n{LAB.name} = 2\n')
    assert grading_digest(LAB, 0, Limits(), walled=True) == before[0]
    assert build_notebook(LAB, "student") != before[1]


def test_marks_depend_on_the_seed_the_limits_and_whether_there_is_a_wall():
    others = {
        grading_digest(LAB, seed, Limits(cell_s), walled=walled)
        for seed in (0, 1) for cell_s in (1.0, 2.0) for walled in (True, False)
    }  # fmt: skip
    assert len(others) == 8


def test_every_module_that_a_grading_imports_to_judge_is_covered():
    """What Python really imports, in place of what the sources say."""
    covered = {str(path.relative_to(REPOSITORY)) for path in marking_files(LAB)}
    assert imported_by_a_judge() <= covered


def test_every_import_of_a_module_is_seen():
    code = "if 1:\n    import a.b as c, d\nfrom e import (\n    f,  # why\n    g as h,\n)\n"
    assert set(may_import(code)) == {"a.b", "d", "e", "e.f", "e.g"}
    for path in marking_files(LAB):
        if path.suffix == ".py":
            code = path.read_text(encoding="utf-8")
            assert set(parsed_imports(code)) <= set(may_import(code)), path


def parsed_imports(code):
    """What code imports, as Python's parser sees it."""
    for node in ast.walk(ast.parse(code)):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def edit(path):
    """Change a file, which has to be there."""
    marking_digest.cache_clear()
    path.write_bytes(path.read_bytes() + b"\n# edited\n")


def imported_by_a_judge():
    """The modules that a process has after importing all that judges the lab."""
    program = (
        "import sys, autograder.judging.slot, autograder.labs, labkit.checks.core\n"
        "autograder.labs.cases_of('kv_cache', 0), labkit.checks.core.checks_of('kv_cache')\n"
        "files = [getattr(m, '__file__', None) for n, m in sys.modules.items()\n"
        "         if n.partition('.')[0] in ('labkit', 'autograder')]\n"
        "print(*filter(None, files), sep='\\n')"
    )
    done = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, check=True, text=True
    )
    return {str(Path(line).relative_to(REPOSITORY)) for line in done.stdout.splitlines()}
