"""Where the kit is installed: conda has all that tests need; students have any system."""

import json
import subprocess
import sys
from importlib.metadata import requires, version

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.version import Version
from recorded import LAB, result_of

from autograder.builder.source import read_project
from autograder.places import REPOSITORY
from autograder.record.log import ResultLog

AS_ON_WINDOWS = """
import importlib, os, pkgutil, signal, sys

sys.modules["rfc3987_syntax"] = None  # as autograder does: to import it takes a second
import httpx, IPython, ipywidgets, jsonschema, matplotlib.pyplot, safetensors, tokenizers, torch
import tqdm, transformers  # others' packages first: they know what their systems have

for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
for module, names in {
    os: ("fork", "getuid", "kill", "sched_getaffinity", "sched_setaffinity", "sysconf", "uname"),
    signal: ("SIGALRM", "SIGKILL", "setitimer"),
}.items():
    for name in names:
        delattr(module, name)

import labkit

for module in pkgutil.walk_packages(labkit.__path__, "labkit."):
    try:
        importlib.import_module(module.name)
    except ModuleNotFoundError as missing:
        assert missing.name == "triton", missing  # for GPUs
print(sum(name.startswith("labkit.") for name in sys.modules))
"""

MARKS_ON_WINDOWS = """
import json, os, sys

sys.modules["rfc3987_syntax"] = None  # as autograder does: to import it takes a second
import IPython, jupytext, nbclient, nbgrader.api, sqlalchemy, typer

fork, wait = os.fork, os.waitpid
for name in ("fcntl", "grp", "pwd", "resource", "termios"):
    sys.modules[name] = None
for name in ("fork", "getuid", "sched_getaffinity", "sched_setaffinity"):
    delattr(os, name)

for line in sys.stdin:  # each command in a process of its own, which has imported nothing of ours
    arguments, said = json.loads(line)
    if fork():
        print(os.waitstatus_to_exitcode(wait(-1, 0)[1]), flush=True)
        continue
    os.dup2(os.open(said, os.O_CREAT | os.O_WRONLY), 1)
    os.dup2(1, 2)
    sys.argv[1:] = arguments
    from autograder.cli import main

    sys.exit(main())
"""


def test_conda_installs_what_make_installs():
    environment = yaml.safe_load((REPOSITORY / "environment.yml").read_text())
    (pip,) = [part["pip"] for part in environment["dependencies"] if isinstance(part, dict)]
    (recipe,) = [
        line
        for line in (REPOSITORY / "Makefile").read_text().splitlines()
        if "$(PYTHON) -m pip install" in line and "--editable" in line
    ]
    options = recipe.replace("'", "").split()
    assert " ".join(pip).split() == options[options.index("--constraint") :]


@pytest.mark.parametrize("extra", ["", "grade", "cluster", "site", "dev"])
def test_the_pinned_versions_meet_every_requirement(extra):
    wanted = [Requirement(line) for line in requires("labkit")]
    of_extra = [
        each for each in wanted if each.marker is None or each.marker.evaluate({"extra": extra})
    ]
    assert of_extra
    unmet = [str(each) for each in of_extra if version(each.name) not in each.specifier]
    assert unmet == []


def bounds(operator):
    """By library that students install, the end of its range in pyproject.toml."""
    wanted = [Requirement(line) for line in read_project()["dependencies"]]
    return {
        each.name: next(end.version for end in each.specifier if end.operator == operator)
        for each in wanted
    }


def versions_in(name):
    """By library, the version in a file of constraints."""
    lines = (REPOSITORY / name).read_text(encoding="utf-8").splitlines()
    return dict(line.lower().split("==") for line in lines if not line.startswith("#"))


def test_a_range_begins_at_the_oldest_version_that_is_played():
    oldest, lowest = versions_in("constraints-oldest.txt"), bounds(">=")
    assert oldest.keys() == lowest.keys()
    begins = {name: oldest[name].startswith(end) for name, end in lowest.items()}
    assert [name for name, fits in begins.items() if not fits] == []


def ends_after(played):
    """Where a range may end: after the major version that was played, or after the minor one."""
    major, minor, *_ = played.split(".")
    return {f"{int(major) + 1}", f"{major}.{int(minor) + 1}"}


def test_a_range_ends_with_the_newest_version_that_is_played():
    newest, ends = versions_in("constraints-newest.txt"), bounds("<")
    assert newest.keys() == ends.keys()
    assert {name: end for name, end in ends.items() if end not in ends_after(newest[name])} == {}
    assert ends["transformers"].count(".") == 1  # it renames arguments in minor versions


def test_the_pinned_versions_are_no_newer_than_those_that_are_played():
    newest, pinned = versions_in("constraints-newest.txt"), versions_in("constraints.txt")
    newer = {name for name, played in newest.items() if Version(pinned[name]) > Version(played)}
    assert newer == set()


def test_a_range_that_ends_beyond_the_next_version_is_seen():
    assert ends_after("2.14.1") == {"3", "2.15"}


def test_students_code_imports_without_what_only_unix_has():
    run = [sys.executable, "-W", "ignore", "-c", AS_ON_WINDOWS]
    done = subprocess.run(run, capture_output=True, text=True, cwd=REPOSITORY)
    assert done.returncode == 0, done.stderr[-2000:]
    assert int(done.stdout) > 100


@pytest.fixture(scope="module")
def graded(tmp_path_factory):
    out = tmp_path_factory.mktemp("out")
    log = ResultLog(out / "results.jsonl")
    log.append(result_of("ann", written={}))
    log.finish(LAB, {"ann"})
    log.close()
    return out


COMMANDS = {
    "report": (["OUT"], 0, "report.html"),
    "export": (["OUT", "-o", "OUT/table.csv"], 0, "table.csv"),
    "integrity": (["OUT", LAB], 0, "integrity"),
    "build": (["--help"], 0, "notebooks"),
    "grade": ([LAB, "OUT", "-o", "OUT/new"], 1, "needs Linux: use WSL2 or a container"),
}


@pytest.fixture(scope="module")
def ended(graded, tmp_path_factory):
    """The exit status of each command, and what it said."""
    folder = tmp_path_factory.mktemp("said")
    orders = [
        ([name, *(part.replace("OUT", str(graded)) for part in arguments)], str(folder / name))
        for name, (arguments, *_) in COMMANDS.items()
    ]
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-c", MARKS_ON_WINDOWS], cwd=REPOSITORY,
        input="".join(f"{json.dumps(order)}\n" for order in orders),
        stdout=subprocess.PIPE, text=True, check=True,
    )  # fmt: skip
    said = [(folder / name).read_text() for name in COMMANDS]
    return dict(zip(COMMANDS, zip(map(int, done.stdout.split()), said, strict=True), strict=True))


@pytest.mark.parametrize("command", COMMANDS)
def test_marks_are_read_and_exported_without_what_only_unix_has(ended, command):
    _, status, says = COMMANDS[command]
    assert (ended[command][0], "Traceback" in ended[command][1]) == (status, False), ended[command]
    assert says in ended[command][1]
