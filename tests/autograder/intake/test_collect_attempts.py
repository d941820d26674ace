"""Attempts in nbgrader's folders and in any others: which files are one, and their times."""

import pytest
from deliveries import LAB, both, collected, delivered, zipped

from autograder.intake.collect import collect


def test_times_order_attempts_only_if_all_have_one(tmp_path):
    files = {
        f"ann/attempt_1/{LAB}/x.ipynb": "1",
        f"ann/attempt_1/{LAB}/timestamp.txt": "2026-10-15 23:59:58 UTC",
        f"ann/attempt_2/{LAB}/x.ipynb": "2",
        f"bob/attempt_1/{LAB}/x.ipynb": "b1",
        f"bob/attempt_1/{LAB}/timestamp.txt": "2026-10-15 23:59:58 UTC",
        f"bob/attempt_2/{LAB}/x.ipynb": "b2",
        f"bob/attempt_2/{LAB}/timestamp.txt": "2026-10-14 23:59:58 UTC",
    }
    assert collected(delivered(tmp_path, files)) == {"ann": [b"1", b"2"], "bob": [b"b2", b"b1"]}


def test_nbgraders_timestamp_and_exchange(tmp_path):
    files = {
        f"ann/{LAB}/{LAB}.ipynb": "a",
        f"ann/{LAB}/timestamp.txt": "2026-10-15 23:59:58.948203 Asia/Taipei\n",
        f"bob+{LAB}+2026-10-15 15:58:23.1 UTC+aB-_9/{LAB}.ipynb": "b1",
        f"bob+{LAB}+2026-10-16 15:58:23.1 UTC/{LAB}.ipynb": "b2",
        "bob+01_memory+2026-10-17 15:58:23.1 UTC/01_memory.ipynb": "other lab",
        f"cy/{LAB}/x.ipynb": "c",
        f"cy/{LAB}/timestamp.txt": "half past nine",
    }
    for place in both(tmp_path, files):
        ann, bob_1, bob_2, cy = collect(place, LAB)
        assert ann.submitted_at == "2026-10-15T23:59:58.948203+08:00"
        assert (bob_1.content, bob_1.submitted_at) == (b"b1", "2026-10-15T15:58:23.100000+00:00")
        assert (bob_2.content, bob_2.attempt) == (b"b2", 2)
        assert (cy.content, cy.submitted_at) == (b"c", "")


@pytest.mark.parametrize(
    "folder",
    [f"eve/{LAB}", f"eve/x.zip/{LAB}", "eve_1_2_x.zip", "Eve_7_assignsubmission_file", "eve.zip"],
)
def test_what_one_student_hands_in_at_once_is_one_attempt(tmp_path, folder):
    variants = [
        "{lab}-1.ipynb",
        "{lab} (2).ipynb",
        "attempt_3/{lab}.ipynb",
        "attempt_4/{lab}.ipynb",
    ]
    exact = {f"{LAB}.ipynb": "e"}
    for names, expected in ((exact, b"e"), ({}, "several notebooks")):
        inside = dict(names) | {name.format(lab=LAB): "guess" for name in variants}
        files = {"bob/x.ipynb": "b"}
        if folder.endswith(".zip"):
            files[folder] = zipped(inside)
        else:
            files |= {f"{folder}/{name}": text for name, text in inside.items()}
        found = collected(delivered(tmp_path / str(len(names)), files))
        (got,) = next(own for student, own in found.items() if student != "bob")
        assert got == expected or expected in got


def test_folders_and_files_called_attempts(tmp_path):
    files = {
        f"ann/attempt_1/{LAB}/x.ipynb": "a1",
        "ann/attempt_10/x.ipynb": "a10",
        f"ann/Attempt 2/{LAB}/y.ipynb": "a2",
        f"bob/{LAB}-1.ipynb": "b1",
        f"bob/{LAB}.ipynb": "b0",
        f"bob/{LAB} (2).ipynb": "b2",
        "cy_attempt2.ipynb": "c2",
        "cy.attempt.1.ipynb": "c1",
    }
    for place in both(tmp_path, files):
        assert collected(place) == {
            "ann": [b"a1", b"a2", b"a10"], "bob": [b"b0", b"b1", b"b2"], "cy": [b"c1", b"c2"],
        }  # fmt: skip
