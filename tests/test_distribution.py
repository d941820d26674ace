"""The sdist holds every file of the project; the wheel that is built from it, both packages."""

import subprocess
import sys
import tarfile
import zipfile

from autograder.places import REPOSITORY

BUILD = "import sys; from setuptools import build_meta; build_meta.build_{}(sys.argv[1])"
FOLDERS = (
    ".ci",
    "autograder",
    "benchmarks",
    "data",
    "docs",
    "labkit",
    "notebooks",
    "tests",
    "training",
)
TOP = ("*.md", "*.toml", "*.txt", "*.py", "*.yml", "*.in", "*file", "LICENSE", "*.cff", ".pre-*")
PATTERNS = (*TOP, *(f"{folder}/**/*" for folder in FOLDERS))
LEFT_BEHIND = {"__pycache__", ".ipynb_checkpoints", ".hypothesis", ".pytest_cache"}


def test_sdist_and_wheel_hold_the_whole(tmp_path):
    ours = list(project_files())
    tree = tmp_path / "tree"
    for name in ours:
        place = tree / name
        place.parent.mkdir(parents=True, exist_ok=True)
        place.symlink_to(REPOSITORY / name)
    built(tree, "sdist")
    (sdist,) = tree.glob("dist/*.tar.gz")
    with tarfile.open(sdist) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    assert set(ours) - names == set()

    built(tree, "wheel")
    (wheel,) = tree.glob("dist/*.whl")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
    packages = [
        name.replace("data/", "labkit/data/", 1) if name.startswith("data/") else name
        for name in ours
        if name.startswith(("labkit/", "autograder/", "data/"))
    ]
    assert set(packages) - names == set()


def project_files():
    """Paths of all files but what a run or an editor leaves behind."""
    for pattern in PATTERNS:
        for path in REPOSITORY.glob(pattern):
            name = path.relative_to(REPOSITORY)
            if path.is_file() and not LEFT_BEHIND & set(name.parts):
                yield name.as_posix()


def built(tree, kind):
    run = [sys.executable, "-W", "ignore", "-c", BUILD.format(kind), str(tree / "dist")]
    done = subprocess.run(run, cwd=tree, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
