"""The chapter for TAs in the README is a transcript: each command runs and prints what it says."""

import os
import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

README = Path("README.md").resolve()
BLOCK = re.compile(r"^```console\n(.*?)^```$", re.DOTALL | re.MULTILINE)
CHAPTER = re.compile(r"^## For TAs.*?(?=^## )", re.DOTALL | re.MULTILINE)


def transcript():
    """(command, the lines that it prints), in the chapter's order."""
    chapter = CHAPTER.search(README.read_text()).group()
    steps = []
    for line in "".join(BLOCK.findall(chapter)).splitlines():
        if line.startswith("$ "):
            steps.append((line[2:], []))
        elif steps[-1][0].endswith("\\"):
            steps[-1] = (steps[-1][0][:-1] + line.strip(), [])
        else:
            steps[-1][1].append(line)
    return steps


def says(shown, printed):
    """Whether the lines are those shown, where "…" stands for anything."""
    pattern = re.escape("\n".join(shown)).replace("…", ".*")
    return re.fullmatch(pattern, printed.strip("\n"), re.DOTALL)


@pytest.fixture(scope="module")
def played(tmp_path_factory):
    folder = tmp_path_factory.mktemp("ta")
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    played = []
    for command, shown in transcript():
        done = subprocess.run(
            ["bash", "-c", command], cwd=folder, env=os.environ | {"PATH": path},
            capture_output=True, text=True,
        )  # fmt: skip
        played.append((command, shown, done))
    return played


def test_every_command_of_the_chapter_prints_what_the_readme_shows(played):
    assert len(played) >= 8
    for command, shown, done in played:
        assert done.returncode == 0, (command, done.stderr)
        assert says(shown, done.stdout), (command, done.stdout)


def test_the_chapter_shows_every_command_that_a_ta_has():
    shown = {shlex.split(command)[1] for command, _ in transcript() if "autograder" in command}
    for_instructors = {"build", "check", "release", "new", "cluster-keys", "forget", "key"}
    servers = {"mark", "overview", "suggest"}  # they serve, or ask a server: no transcript
    assert all(f"`autograder {name}" in README.read_text() for name in servers)
    done = subprocess.run(
        [sys.executable, "-m", "autograder", "--help"], capture_output=True, text=True, check=True
    )
    commands = re.findall(r"^  ([a-z-]+) ", done.stdout.partition("Commands:")[2], re.MULTILINE)
    assert set(commands) - for_instructors - servers == shown
