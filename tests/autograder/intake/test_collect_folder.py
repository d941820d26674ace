"""A folder of submissions that changes while it is collected harms its own student alone."""

import os
import shutil
from contextlib import ExitStack
from pathlib import Path

import pytest

from autograder.intake.collect import collect, folder
from autograder.intake.collect.files import files_at
from autograder.intake.collect.folder import MAX_DEPTH, files_below

LAB = "04_kv_cache"


@pytest.fixture
def place(tmp_path):
    for student in ("ann", "bob"):
        (tmp_path / "in" / student).mkdir(parents=True)
        (tmp_path / "in" / student / "x.ipynb").write_text(student)
    return tmp_path / "in"


def found_in(place):
    return {each.student: each.content.decode() or each.problem for each in collect(place, LAB)}


def becomes_link(path: Path, target: Path) -> None:
    shutil.rmtree(path) if path.is_dir() else path.unlink()
    path.symlink_to(target)


@pytest.mark.parametrize("swapped", ["ann", "ann/x.ipynb"])
def test_what_becomes_a_link_after_it_was_listed_gives_no_neighbours_file(place, swapped):
    with ExitStack() as opened:
        file = next(each for each in files_at(place, opened) if each.path.parts[0] == "ann")
        becomes_link(place / swapped, place / swapped.replace("ann", "bob"))
        with pytest.raises(OSError):
            file.read()


def test_another_file_in_its_place_is_not_read(place):
    with ExitStack() as opened:
        file = next(each for each in files_at(place, opened) if each.path.parts[0] == "ann")
        (place / "bob" / "x.ipynb").replace(place / "ann" / "x.ipynb")
        with pytest.raises(OSError, match="collect again"):
            file.read()


def test_a_folder_that_becomes_a_link_while_it_is_listed_is_not_entered(place, monkeypatch):
    really = os.open

    def open_late(path, *args, **kwargs):
        if path == "ann":
            becomes_link(place / "ann", place / "bob")
        return really(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", open_late)
    found = found_in(place)
    assert found["bob"] == "bob"
    assert "its files: the folder cannot be read" in found["ann"]


def test_a_flood_of_files_costs_its_student_alone(place, monkeypatch):
    monkeypatch.setattr(folder, "MAX_FILES", 9)
    deep = place / "ann" / "a" / "b"
    deep.mkdir(parents=True)
    for i in range(100):
        (deep / f"{i}.txt").touch()
    listed = [str(each.path) for each in files_below(place, None, lambda name: False)]
    assert sum(path.startswith("ann/") for path in listed) == 10 and "bob/x.ipynb" in listed
    assert "more than 9 files" in found_in(place)["ann"] and found_in(place)["bob"] == "bob"


def test_a_folder_that_cannot_be_listed_is_its_students_problem(place, monkeypatch):
    really = os.open

    def refuse(path, *args, **kwargs):
        if path == "ann":
            raise PermissionError(13, "Permission denied")
        return really(path, *args, **kwargs)

    monkeypatch.setattr(os, "open", refuse)
    assert found_in(place) == {
        "ann": "its files: the folder cannot be read: Permission denied", "bob": "bob"
    }  # fmt: skip


@pytest.mark.parametrize(
    ("hidden", "ann"),
    [
        ("ann", "its files: the folder cannot be read: Permission denied"),
        ("x.ipynb", "its files, y.png: the folder cannot be read: Permission denied"),
        ("y.png", "ann"),
    ],
)
def test_what_can_be_listed_and_not_entered_is_its_students_problem(
    place, monkeypatch, hidden, ann
):
    """Such as the files of a folder with mode 444."""
    (place / "ann" / "sub").mkdir()
    (place / "ann" / "sub" / "y.png").write_text("")
    really, anns = os.stat, (place / "ann").stat().st_ino

    def refuse(path, *args, **kwargs):
        is_bobs = path == "x.ipynb" and os.fstat(kwargs["dir_fd"]).st_ino != anns
        if path == hidden and not is_bobs:
            raise PermissionError(13, "Permission denied")
        return really(path, *args, **kwargs)

    monkeypatch.setattr(os, "stat", refuse)
    assert found_in(place) == {"ann": ann, "bob": "bob"}


def test_a_folder_that_breaks_while_it_is_listed_is_its_students_problem(place, monkeypatch):
    really, anns = os.scandir, (place / "ann").stat().st_ino

    def refuse(of):
        if isinstance(of, int) and os.fstat(of).st_ino == anns:
            raise OSError(5, "Input/output error")
        return really(of)

    monkeypatch.setattr(os, "scandir", refuse)
    assert found_in(place) == {
        "ann": "its files: the folder cannot be read: Input/output error", "bob": "bob"
    }  # fmt: skip


@pytest.mark.parametrize("gone", ["ann", "ann/x.ipynb"])
def test_what_is_gone_before_it_is_looked_at_harms_no_other(place, gone):
    def as_it_is_listed(name):
        if name == Path(gone).name and (place / "ann").exists():
            shutil.rmtree(place / "ann")
        return False

    assert [str(each.path) for each in files_below(place, None, as_it_is_listed)] == ["bob/x.ipynb"]


def test_folders_without_end_are_a_sentence(place):
    (place / "ann" / Path(*["d"] * (MAX_DEPTH + 1))).mkdir(parents=True)
    (found,) = [each for each in files_below(place, None, lambda name: False) if each.problem]
    assert f"more than {MAX_DEPTH} folders" in found.problem
    assert found_in(place) == {"ann": "ann", "bob": "bob"}
