"""A watch leaves what a plain grading leaves, whatever arrives half, and whenever it is killed."""

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections import Counter

import pytest
from classroom import blank, solved
from recorded import assert_same, fork, products, replayed_gradings, status_of

from autograder.builder.source import find_lab
from autograder.errors import Refusal
from autograder.grading.grade import Run, grade
from autograder.grading.watch import watch
from autograder.intake.collect.arrivals import Arrivals
from benchmarks.durability import products as real_products

LAB = "01_memory"
STUDENTS = ("ada", "bo", "cy", "dan", "eve", "fay")
SEED = 7
N_KILLS = 20
PATIENCE_S = 120


@pytest.fixture(scope="module")
def notebook():
    return json.dumps(blank(LAB)).encode()


@pytest.fixture
def quick(monkeypatch):
    """Looks that follow each other closely."""
    monkeypatch.setattr("autograder.grading.watch.LOOK_S", 0.01)
    monkeypatch.setattr("autograder.intake.collect.arrivals.SETTLED_S", 0.02)


def until(is_so, seconds=PATIENCE_S):
    end = time.monotonic() + seconds
    while not is_so():
        assert time.monotonic() < end
        time.sleep(0.02)


def exchanged(place, student, content):
    """Where nbgrader's exchange has what a student handed in."""
    folder = place / f"{student}+{LAB}+2026-11-02 10:00:00 UTC+abc"
    folder.mkdir(parents=True)
    (folder / "timestamp.txt").write_text("2026-11-02 10:00:00 UTC")
    (folder / f"{LAB}.ipynb").write_bytes(content)  # last: the folder is whole from now on
    return folder


def hear_ctrl_c():
    """Also below a shell that has put these tests into the background, deaf to Ctrl-C."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


def rows(out):
    """The students in the record, each as often as a line tells of them."""
    path = out / "results.jsonl"
    lines = path.read_text().splitlines() if path.exists() else []
    return Counter(json.loads(line)["student"] for line in lines if line.endswith("}"))


def watched(place, out):
    """Watch until everybody is graded."""
    for _ in watch(find_lab(LAB), place, out, Run(seed=SEED, sandbox=False)):
        if rows(out) == Counter(STUDENTS):
            return 0
    return 1


def graded(place, out):
    return len(grade(find_lab(LAB), place, out, Run(seed=SEED, sandbox=False))) - len(STUDENTS)


@pytest.mark.usefixtures("quick")
def test_a_watch_killed_again_and_again_leaves_what_one_plain_grading_leaves(notebook, tmp_path):
    rng = random.Random(3)
    place, out = tmp_path / "inbound", tmp_path / "out"
    place.mkdir()
    waiting, n_kills = list(STUDENTS), 0
    with replayed_gradings():
        for k in range(N_KILLS):
            process = fork(lambda: watched(place, out))
            if waiting and k % 3 == 0:
                own = notebook + b" " * len(waiting)  # equal files are graded once
                exchanged(place, waiting.pop(), own)
            time.sleep(rng.uniform(0, 1.0))
            os.kill(process, signal.SIGKILL)
            n_kills += status_of(process) == -signal.SIGKILL
        assert status_of(fork(lambda: watched(place, out))) == 0
        assert status_of(fork(lambda: graded(place, tmp_path / "plain"))) == 0
    assert n_kills > N_KILLS / 2
    assert_same(out, products(tmp_path / "plain"))


def test_real_slots_stay_warm_and_give_the_marks_of_a_plain_grading(tmp_path):
    """Beside a notebook that is half copied, and through a kill in the middle of its work."""
    place, out, whole = tmp_path / "in", tmp_path / "out", json.dumps(solved(LAB)).encode()
    half = place / "ada" / f"{LAB}.ipynb"
    half.parent.mkdir(parents=True)
    half.write_bytes(whole[: len(whole) // 2])
    exchanged(place, "bo", whole)
    command = [sys.executable, "-m", "autograder", "grade", LAB, place, "--seed", str(SEED), "-o"]
    with (tmp_path / "said").open("w") as said:
        process = subprocess.Popen([*command, out, "--watch"], stdout=said)
        until(lambda: rows(out)["bo"])
        exchanged(place, "cy", json.dumps(blank(LAB)).encode())
        until(lambda: rows(out)["cy"])
        assert set(rows(out)) == {"bo", "cy"}
        half.write_bytes(whole)
        time.sleep(0.6)  # it is being graded, or about to be
        process.kill()
        process.wait()
        grade(find_lab(LAB), place, tmp_path / "plain", Run(seed=SEED))
        expected = real_products(tmp_path / "plain")
        process = subprocess.Popen([*command, out, "--watch"], stdout=said, preexec_fn=hear_ctrl_c)
        until(lambda: real_products(out) == expected)
        process.send_signal(signal.SIGINT)
        assert process.wait(PATIENCE_S) == 0
    assert "bo: 10 of 10 points, graded\n" in (tmp_path / "said").read_text()
    assert rows(out) == {"ada": 1, "bo": 1, "cy": 1}


def test_only_what_is_whole_and_at_rest_has_arrived(notebook, tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr("autograder.intake.collect.arrivals.time.monotonic", lambda: now[0])
    place = tmp_path / "in"
    (place / "out").mkdir(parents=True)
    (place / "out" / "cy.ipynb").write_bytes(notebook)
    arrivals = Arrivals(place, place / "out")

    def look(after_s):
        now[0] += after_s
        files = arrivals.look()
        return files if files is None else sorted({file.path.parts[0] for file in files})

    assert look(100) is None
    exchanged(place, "bo", notebook)
    (place / "ada.ipynb").write_bytes(notebook[:-9])
    (place / "dan").mkdir()
    (place / "dan" / ".lab.ipynb.Xy12").write_bytes(notebook)  # as rsync copies
    bo = f"bo+{LAB}+2026-11-02 10:00:00 UTC+abc"
    assert [look(0.1), look(0.1), look(0.5), look(0.1)] == [None, None, [bo], None]
    (place / "ada.ipynb").write_bytes(notebook)
    (place / "dan" / ".lab.ipynb.Xy12").rename(place / "dan" / "lab.ipynb")
    assert [look(0.1), look(0.5), look(0.1)] == [None, ["ada.ipynb", bo, "dan"], None]
    (place / "ada.ipynb").write_bytes(b"torn for good")
    assert [look(0.1), look(30), look(31)] == [[bo, "dan"], None, ["ada.ipynb", bo, "dan"]]
    arrivals.forget()
    files = arrivals.look()
    assert arrivals.are_unchanged(files)
    (place / "dan" / "lab.ipynb").write_bytes(notebook + b" ")
    assert not arrivals.are_unchanged(files)


def test_a_watch_needs_a_folder(tmp_path):
    with pytest.raises(Refusal, match="is no folder"):
        next(watch(find_lab(LAB), tmp_path / "none", tmp_path / "out", Run()))
