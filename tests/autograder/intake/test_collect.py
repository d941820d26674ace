"""Finding submissions: layouts, names, zips, and what must not be followed."""

import io
import os
import re
import zipfile
from contextlib import ExitStack
from pathlib import Path

import pytest

from autograder.intake.collect import NoSubmissions, collect, layouts, student_in
from autograder.intake.collect.files import files_at

LAB = "04_kv_cache"


def write(folder, **files):
    for name, content in files.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(content)
    return folder


def as_zip(path, files):
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in files.items():
            archive.writestr(name, content)
    return path


def found(place):
    return {s.student: s.content or s.problem for s in collect(place, LAB)}


LAYOUTS = {
    "nbgrader": {f"ann/{LAB}/{LAB}.ipynb": b"a", f"bob/{LAB}/{LAB}.ipynb": b"b"},
    "renamed": {f"ann/{LAB}/Untitled (1).ipynb": b"a", f"bob/{LAB}/x.py": b"b"},
    "one folder each": {"ann/work.ipynb": b"a", f"bob/{LAB}.ipynb": b"b"},
    "flat": {"ann.ipynb": b"a", f"{LAB}_bob.ipynb": b"b"},
    "canvas": {"ann_1234_5678_lab.ipynb": b"a", "bob_LATE_99_12_lab-2.ipynb": b"b"},
    "with other labs": {f"ann/{LAB}/x.ipynb": b"a", "ann/01_memory/x.ipynb": b"z",
                        f"bob/{LAB}/x.ipynb": b"b"},
    "with checkpoints": {f"ann/{LAB}/{LAB}.ipynb": b"a", f"bob/{LAB}/x.ipynb": b"b",
                         f"bob/{LAB}/.ipynb_checkpoints/x-checkpoint.ipynb": b"z"},
}  # fmt: skip


@pytest.mark.parametrize("files", LAYOUTS.values(), ids=LAYOUTS)
@pytest.mark.parametrize("packed", ["folder", "zip", "zip with a top folder"])
def test_layouts(tmp_path, files, packed):
    if packed == "folder":
        place = write(tmp_path / "in", **files)
    else:
        top = "export/" if "top" in packed else ""
        place = as_zip(tmp_path / "in.zip", {top + name: data for name, data in files.items()})
    assert found(place) == {"ann": b"a", "bob": b"b"}


def test_the_labs_own_name_wins_over_other_notebooks(tmp_path):
    files = {f"ann/{LAB}/scratch.ipynb": b"z", f"ann/{LAB}/{LAB}.ipynb": b"a"}
    assert found(write(tmp_path, **files)) == {"ann": b"a"}


def test_the_notebooks_that_do_not_count_are_named(tmp_path):
    files = {f"ann/{LAB}/{LAB}-Copy1.ipynb": b"z", f"ann/{LAB}/{LAB}.ipynb": b"a"}
    (submission,) = collect(write(tmp_path, **files), LAB)
    assert (submission.content, submission.passed_over) == (b"a", (f"{LAB}-Copy1.ipynb",))


def test_two_unnamed_notebooks_are_a_problem_to_be_seen(tmp_path):
    files = {f"ann/{LAB}/one.ipynb": b"1", f"ann/{LAB}/two.ipynb": b"2"}
    assert "several notebooks" in found(write(tmp_path, **files))["ann"]


def test_a_student_without_a_notebook_is_a_row(tmp_path):
    files = {f"ann/{LAB}/notes.txt": b"?", f"bob/{LAB}/x.ipynb": b"b"}
    assert found(write(tmp_path, **files))["ann"] == (
        "no .ipynb or .py file was handed in, only notes.txt"
    )


@pytest.mark.parametrize("name", ["course", "Gradebook", "submitted"])
def test_a_student_called_as_a_file_of_ours_is_a_problem_to_be_seen(tmp_path, name):
    marks = found(write(tmp_path, **{f"{name}/x.ipynb": b"a", "bob/x.ipynb": b"b"}))
    assert marks["bob"] == b"b"
    assert marks[name] == f"the grader's own files are called {name}: rename this folder or file"


def test_files_beside_the_notebook_come_along(tmp_path):
    files = {f"ann/{LAB}/x.ipynb": b"a", f"ann/{LAB}/helper.py": b"h = 1"}
    (submission,) = collect(write(tmp_path, **files), LAB)
    assert submission.extra == {"helper.py": b"h = 1"}


def test_links_and_pipes_are_not_followed(tmp_path):
    secret = tmp_path / "secret.ipynb"
    secret.write_bytes(b"secret")
    folder = write(tmp_path / "in", **{f"bob/{LAB}/x.ipynb": b"b"})
    for student, make in (("ann", lambda p: p.symlink_to(secret)), ("eve", os.mkfifo)):
        (folder / student / LAB).mkdir(parents=True)
        make(folder / student / LAB / "x.ipynb")
    (folder / "mal").symlink_to(tmp_path)
    problem = "the submission is a link or a device, not a file"
    assert found(folder) == {"ann": problem, "bob": b"b", "eve": problem}


def test_paths_out_of_a_zip_are_left_out(tmp_path):
    files = {"../../evil.ipynb": b"z", "/abs.ipynb": b"z", "ann.ipynb": b"a", "bob.ipynb": b"b"}
    assert found(as_zip(tmp_path / "in.zip", files)) == {"ann": b"a", "bob": b"b"}


@pytest.mark.parametrize("out", ["out", "results/today"])
def test_a_folder_of_results_below_the_submissions_is_left_out(tmp_path, monkeypatch, out):
    files = {f"{out}/{LAB}/submitted.ipynb": b"z", "ann/x.ipynb": b"a", "bob/x.ipynb": b"b"}
    write(tmp_path / "in", **files)
    monkeypatch.chdir(tmp_path)
    for without in (tmp_path / "in" / out, Path("in", out)):
        for place in (tmp_path / "in", Path("in")):
            found = [each.student for each in collect(place, LAB, without=without)]
            assert found == ["ann", "bob"]
    assert len(collect(tmp_path / "in", LAB, without=tmp_path / "elsewhere")) == 3


def test_a_damaged_member_of_a_zip_is_that_students_problem(tmp_path):
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as archive:
        archive.writestr("ann.ipynb", b"a" * 100)
        archive.writestr("bob.ipynb", b"b")
    damaged = buffer.getvalue().replace(b"a" * 100, b"a" * 99 + b"!")
    (tmp_path / "in.zip").write_bytes(damaged)
    marks = found(tmp_path / "in.zip")
    assert "cannot be read" in marks["ann"]
    assert marks["bob"] == b"b"


@pytest.mark.parametrize("place", ["missing", "file", "empty", "other"])
def test_nothing_to_grade_is_one_sentence(tmp_path, place):
    (tmp_path / "empty").mkdir()
    (tmp_path / "file").write_text("x")
    write(tmp_path / "other", **{"readme.txt": b"x"})
    with pytest.raises(NoSubmissions, match=r"does not exist|neither|no submission"):
        collect(tmp_path / place, LAB)


@pytest.mark.parametrize(
    ("stem", "student"),
    [
        ("ann", "ann"),
        (f"ann-{LAB}", "ann"),
        (f"{LAB} ann lee", "ann lee"),
        ("leeann_12345_67890_lab4", "leeann"),
        ("leeann_LATE_12345_67890_lab4-1", "leeann"),
        (LAB, LAB),
        ("Ünï cødé", "Ünï cødé"),
    ],
)
def test_the_student_in_a_file_name(stem, student):
    assert student_in(stem, LAB) == student


def test_names_that_files_and_databases_do_not_take_are_made_safe(tmp_path):
    for name in (b"al\xff.ipynb", b"x" * 240 + b".ipynb", "a\u2028b.ipynb".encode()):
        (tmp_path / os.fsdecode(name)).write_bytes(b"n")
    submissions = collect(tmp_path, LAB)
    assert [s.content for s in submissions] == [b"n"] * 3
    for submission in submissions:
        submission.student.encode()
        assert submission.student.isprintable()
        assert len(submission.student.encode()) <= 100
        assert submission.file_name.endswith(".ipynb")


ROWS = re.findall(r"^    (\S.*\.ipynb  .*)$", layouts.__doc__, re.MULTILINE)


@pytest.mark.parametrize("row", ROWS)
def test_the_table_of_layouts_says_whose_each_path_is(tmp_path, row):
    path, *expected = re.split(r"  +", row)
    with ExitStack() as opened:
        files = files_at(write(tmp_path, **{path: b"{}"}), opened, None)
        parcels = layouts.parcels_in(files, LAB)
        told = [[each.system, each.label, each.number, str(each.attempt)] for each in parcels]
    if len(expected) == 1:
        assert (told, expected) == ([], ["nobody's: it is of another lab"])
    else:
        assert told == [["" if each == "-" else each for each in expected]]


def test_the_table_of_layouts_has_a_row_for_each_layout():
    assert len(ROWS) == 17
