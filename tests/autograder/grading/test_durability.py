"""Whatever ends the grader or fails under it, the next grading ends as if nothing had happened.

The writer is what is killed and starved here: outcomes are made up and replayed, all else is real.
Each grading is the command line in a fork of this process, which has everything imported.
"""

import errno
import os
import random
import shutil
import signal
import sqlite3
import sys
import time
from contextlib import closing
from functools import partial
from itertools import count
from pathlib import Path

import nbformat
import nbgrader.api
import pytest
from faulty_disks import READ_ONLY, Faults, SmallDisk
from nbgrader.api import Gradebook
from recorded import assert_same, fork, products, replayed_gradings, status_of

from autograder import cli
from autograder.builder.notebooks import build_notebook
from autograder.builder.source import find_lab

LAB = "01_memory"
STUDENTS = ("ada", "cy")
N_KILLS = [10, pytest.param(25, marks=pytest.mark.slow)]  # with --large, four times as many
STEPS = [4, pytest.param(1, marks=pytest.mark.slow)]  # each fourth write or size of a disk, or all


def hand_in(folder, text):
    """Everybody hands in the lab, with a text of their own in its first cell."""
    notebook = build_notebook(find_lab(LAB), "student")
    for student in STUDENTS:
        notebook.cells[0].source = f"{student}: {text}"
        path = folder / student / LAB / f"{LAB}.ipynb"
        path.parent.mkdir(parents=True)
        path.write_text(nbformat.writes(notebook))


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    """An output folder with an earlier grading and a mark by hand; then all hand in once more."""
    folder = tmp_path_factory.mktemp("durability")
    hand_in(folder / "first", "a first try")
    hand_in(folder / "second", "a second try")
    with replayed_gradings() as patch:
        for name in ("argv", "stdout", "stderr"):
            patch.setattr(sys, name, getattr(sys, name))  # to be put back
        assert command_line(folder / "first", folder / "graded") == 0
        database = folder / "graded" / "course" / "gradebook.db"
        with Gradebook(f"sqlite:///{database}", "labkit") as book:
            by_hand = book.find_grade("growth", LAB, LAB, "ada")
            by_hand.manual_score, by_hand.needs_manual_grade = 0.75, False
            book.db.commit()
        yield folder


@pytest.fixture(scope="module")
def undisturbed(course):
    """What a grading of the second round makes of the folder if it is left alone."""
    out = shutil.copytree(course / "graded", course / "undisturbed")
    assert graded_again(course, out) == 0
    return products(out)


@pytest.fixture
def out(course, tmp_path):
    """The folder before the second round."""
    return shutil.copytree(course / "graded", tmp_path / "out")


def command_line(submissions, out, said=None):
    """`autograder grade` in this process; returns the exit status, `said` has the words."""
    command = ["grade", LAB, submissions, "-o", out, "--seed", "7", "--no-sandbox"]
    sys.argv = ["autograder", *map(str, command)]
    with (said or out.with_suffix(".said")).open("w") as file:
        sys.stdout = sys.stderr = file
        try:
            cli.main()
        except SystemExit as end:
            return end.code or 0
        except BaseException as error:
            print(f"Traceback: {error!r}")
    return 99


def graded_again(course, out):
    return status_of(fork(lambda: command_line(course / "second", out)))


def assert_one_sentence(out):
    """What the command has said is for a person, and short."""
    said = out.with_suffix(".said").read_text()
    assert said.count("\n") == 1, said
    assert said.startswith("autograder: "), said
    assert "Traceback" not in said


@pytest.mark.parametrize("kills", N_KILLS)
def test_a_grader_killed_at_any_moment_loses_and_doubles_nothing(
    course, undisturbed, tmp_path, kills, pytestconfig
):
    kills *= 4 if pytestconfig.getoption("--large") else 1
    rng = random.Random(10)
    start = time.monotonic()
    graded_again(course, shutil.copytree(course / "graded", tmp_path / "timed"))
    seconds = time.monotonic() - start
    out, n_kills = None, 0
    while n_kills < kills:
        out = out or shutil.copytree(course / "graded", tmp_path / str(n_kills))
        process = fork(lambda out=out: command_line(course / "second", out))
        moment = rng.uniform(0, seconds)
        time.sleep(moment)
        os.kill(process, signal.SIGKILL)
        if status_of(process) == -signal.SIGKILL:
            n_kills += 1
            continue
        assert_same(out, undisturbed)
        seconds, out = moment, shutil.rmtree(out)  # it takes less by now than it did at first
    if out:
        assert graded_again(course, out) == 0
        assert_same(out, undisturbed)


def failed_and_mended(course, out, expected, k):
    """Grade while the k-th write fails, then once more; in this very process."""
    shutil.copytree(course / "graded", out)
    with Faults(out, k, (errno.ENOSPC, errno.EROFS, errno.EIO)[k % 3]):
        status = command_line(course / "second", out)
    assert command_line(course / "second", out, said=Path(os.devnull)) == 0
    assert_same(out, expected)
    shutil.rmtree(out)
    return status


@pytest.mark.parametrize("step", STEPS)
def test_each_write_that_fails_is_one_sentence_and_costs_nothing(
    course, undisturbed, tmp_path, step
):
    for k in count(1, step):
        out = tmp_path / str(k)
        status = status_of(fork(partial(failed_and_mended, course, out, undisturbed, k)))
        if status == 0:  # all writes have failed in turn
            break
        assert status == 2, out.with_suffix(".said").read_text()
        assert_one_sentence(out)
    assert k > 40


def spoilt_and_mended(course, place, expected, spoil):
    """Grade on a disk that `spoil` has spoilt, then on the same when it is well again."""
    disk = SmallDisk(place)
    out = shutil.copytree(course / "graded", place / "out")
    spoil(disk)
    status = command_line(course / "second", out, said=place.with_suffix(".said"))
    disk.give(64 << 20)
    assert command_line(course / "second", out, said=Path(os.devnull)) == 0
    assert_same(out, expected)
    return status


@pytest.mark.parametrize("step", STEPS)
def test_a_full_disk_is_one_sentence_and_costs_nothing(course, undisturbed, tmp_path, step):
    statuses = []
    while 0 not in statuses:
        place = tmp_path / str(len(statuses))

        def fill(disk, n_steps):
            disk.give(disk.used + (n_steps << 13))

        spoil = partial(fill, n_steps=step * len(statuses))
        grading = partial(spoilt_and_mended, course, place, undisturbed, spoil)
        statuses.append(status_of(fork(grading)))
        if statuses[-1]:
            assert_one_sentence(place)
    assert set(statuses[:-1]) == {2}
    assert len(statuses) > 3


def test_a_read_only_folder_is_one_sentence_and_costs_nothing(course, undisturbed, tmp_path):
    def protect(disk):
        disk.give(64 << 20, READ_ONLY)

    place = tmp_path / "disk"
    assert status_of(fork(lambda: spoilt_and_mended(course, place, undisturbed, protect))) == 2
    assert_one_sentence(place)
    assert "Read-only" in place.with_suffix(".said").read_text()


def test_damage_to_any_byte_of_the_record_is_mended_by_grading_again(course, undisturbed, out):
    shutil.copytree(course / "undisturbed", out, dirs_exist_ok=True)
    path = out / "results.jsonl"
    whole = path.read_bytes()
    rng = random.Random(3)
    for damage in ("flip", "flip", "flip", "digit", "cut", "drop", "double"):
        content = bytearray(whole)
        at = rng.randrange(len(content) - 2)
        if damage == "flip":
            content[at] ^= 1 << rng.randrange(8)
        elif damage == "digit":  # the points of a check: still a result, but for its checksum
            at = whole.index(b'"points": 0.25') + len(b'"points": 0.2')
            content[at] = ord("9")
        elif damage == "cut":
            del content[at:]
        elif damage == "drop":
            del content[: content.index(b"\n") + 1]
        else:
            content += whole[: whole.index(b"\n") + 1]
        path.write_bytes(content)
        assert graded_again(course, out) == 0
        kept = path.with_suffix(".damaged")  # for a person, beside what grading makes
        assert kept.exists() == (damage in ("flip", "digit"))
        kept.unlink(missing_ok=True)
        assert_same(out, undisturbed)


def test_a_lost_gradebook_is_filled_again(course, undisturbed, out):
    (out / "course" / "gradebook.db").unlink()
    assert graded_again(course, out) == 0
    (files, rows), (known_files, known_rows) = products(out), undisturbed
    assert [row[:3] for row in rows] == [row[:3] for row in known_rows]  # but for marks by hand
    assert files["results.jsonl"] == known_files["results.jsonl"]


def test_a_damaged_gradebook_is_one_sentence_and_a_copy_put_back_goes_on(course, undisturbed, out):
    database = out / "course" / "gradebook.db"
    whole = database.read_bytes()
    for damaged in (b"not a database" * 999, whole[:9000], whole[: len(whole) // 2 + 100]):
        database.write_bytes(damaged)
        assert graded_again(course, out) == 2
        assert_one_sentence(out)
    database.write_bytes(whole)
    assert graded_again(course, out) == 0
    assert_same(out, undisturbed)


def test_a_grader_killed_while_it_makes_the_gradebook_leaves_none_or_a_whole_one(
    course, undisturbed, tmp_path, monkeypatch
):
    def slow_version():
        time.sleep(0.2)  # nbgrader starts a program here
        return "1"

    out = tmp_path / "out"
    monkeypatch.setattr(nbgrader.api, "get_alembic_version", slow_version)
    rng = random.Random(4)
    for _ in range(12):
        process = fork(lambda: command_line(course / "second", out))
        time.sleep(rng.uniform(0, 1))
        os.kill(process, signal.SIGKILL)
        os.waitpid(process, 0)
    assert graded_again(course, out) == 0
    with closing(sqlite3.connect(out / "course" / "gradebook.db")) as book:
        assert len(book.execute("select * from alembic_version").fetchall()) == 1
    assert [row[:3] for row in products(out)[1]] == [row[:3] for row in undisturbed[1]]
