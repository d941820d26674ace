"""Zips from students and platforms: what is in them, what they claim, what they may cost."""

import random
import stat
import struct
import time
import zipfile
from contextlib import ExitStack

import pytest
from deliveries import LAB, collected, delivered, zipped
from hypothesis import given
from hypothesis import strategies as st

from autograder.intake.collect import NoSubmissions, choose, collect, safe_name
from autograder.intake.collect import files as limits
from autograder.intake.read import MAX_BYTES

ZIP = zipped({"x.ipynb": "z"})
RANDOM = random.Random(0).randbytes(500)
NOTHING = "no .ipynb or .py file was handed in"


def of_ann(tmp_path, content, name="work.zip"):
    """What ann's file becomes, beside bob's, who must not notice."""
    files = {f"ann/{LAB}/{name}": content, f"bob/{LAB}/{LAB}.ipynb": "b"}
    found = collected(delivered(tmp_path / "in", files))
    assert found.pop("bob") == [b"b"]
    (ann,) = found.values()
    return ann


@pytest.mark.parametrize(
    "inside",
    [
        {"x.ipynb": "a"},
        {f"labs/{LAB}/{LAB}.ipynb": "a", "labs/01_memory/01_memory.ipynb": "other lab"},
        {"deep/deeper/x.ipynb": "a", "deep/util.py": "u"},
        {"more.zip": zipped({"most.zip": zipped({"x.ipynb": "a"})}), "solution.py": "s"},
        {"__MACOSX/._x.ipynb": "mac", "._x.ipynb": "mac", "x.ipynb.txt": "a"},
        {"x.py": "a"},
        {"dir\\x.ipynb": "a"},
    ],
)
def test_a_students_zip_is_looked_into(tmp_path, inside):
    assert of_ann(tmp_path, zipped(inside)) == [b"a"]


def test_a_notebook_wins_over_a_zip_and_a_zipped_one_over_a_script(tmp_path):
    files = {
        "ann/x.ipynb": "a", "ann/old.zip": zipped({"y.ipynb": "old"}),
        "bob/helper.py": "h", "bob/work.zip": zipped({"y.ipynb": "b"}),
        "cy/solution.py": "c", "cy/data.zip": zipped({"util.py": "u", "data.csv": "d"}),
    }  # fmt: skip
    assert collected(delivered(tmp_path, files)) == {"ann": [b"a"], "bob": [b"b"], "cy": [b"c"]}


def test_zips_of_one_name_are_attempts_and_others_a_question(tmp_path):
    one, two = zipped({"x.ipynb": "1"}), zipped({"x.ipynb": "2"})
    files = {"ann/work.zip": one, "ann/work-1.zip": two, "bob/work.zip": one, "bob/final.zip": two}
    found = collected(delivered(tmp_path, files))
    assert found["ann"] == [b"1", b"2"]
    assert "several notebooks" in found["bob"][0]


def test_the_zip_is_named_before_the_notebook_that_lay_in_it(tmp_path):
    place = delivered(tmp_path, {"leeann_LATE_12_34_work.zip": zipped({"a/x.ipynb": "a"})})
    (submission,) = collect(place, LAB)
    assert submission.file_name == "leeann_LATE_12_34_work.zip: x.ipynb"
    assert submission.marked_late


def damaged(content):
    return content[:80] + b"\0" * 10 + content[90:]


def locked(content):
    """A zip whose members all claim to be encrypted."""
    for signature, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        at = content.index(signature) + place
        content = content[:at] + b"\x01" + content[at + 1 :]
    return content


def link(target):
    entry = zipfile.ZipInfo("x.ipynb")
    entry.external_attr = (stat.S_IFLNK | 0o777) << 16
    return entry, target


def zip_with_link(tmp_path):
    path = tmp_path / "link.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(*link("/etc/passwd"))
    return path.read_bytes()


@pytest.mark.parametrize(
    ("content", "problem"),
    [
        (b"", "cannot be opened"),
        (b"PK\x05\x06", "cannot be opened"),
        (zipped({"x.ipynb": RANDOM})[:200], "cannot be opened"),
        (damaged(zipped({"x.ipynb": RANDOM})), "cannot be read"),
        (locked(zipped({"x.ipynb": "a"})), "password required"),
        (zipped({}), NOTHING),
        (zipped({"../../x.ipynb": "a", "/etc/x.ipynb": "a", "a/../x.ipynb": "a"}), NOTHING),
        (zipped({"x.ipynb": b"\0" * (MAX_BYTES + 1)}), "over 50 MB"),
        (zipped({"y.zip": zipped({"z.zip": zipped({"q.zip": zipped({})})})}), "3 deep"),
        (zipped({f"{n}.zip": zipped({"x.txt": ""}) for n in range(12)}), "more than 10 zips"),
        (zipped({"x.ipynb": "a", "x-1.ipynb": "b"}), "several notebooks"),
        (zipped({"a.ipynb": "a", "b.ipynb": "b"}), "several notebooks"),
    ],
    ids=lambda value: value if isinstance(value, str) else "zip",
)
def test_a_zip_that_gives_no_notebook_is_that_students_row(tmp_path, content, problem):
    (told,) = of_ann(tmp_path, content)
    assert problem in told


def test_a_link_in_a_zip_is_not_followed(tmp_path):
    assert "link" in of_ann(tmp_path, zip_with_link(tmp_path))[0]


def test_a_zip_in_which_a_member_is_larger_than_it_says_is_a_row(tmp_path):
    content = zipped({"x.ipynb": b"a" * 1000})
    for signature, place in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        at = content.index(signature) + place
        content = content[:at] + struct.pack("<I", 10) + content[at + 4 :]
    assert "cannot be read" in of_ann(tmp_path, content)[0]


def test_attempts_that_come_at_once_have_a_bound(tmp_path, monkeypatch):
    files = {f"ann/x-{n}.ipynb": "a" * 100 for n in range(4)}
    place = delivered(tmp_path, files | {"bob/x.ipynb": "b"})
    assert len(collected(place)["ann"]) == 4
    for name, limit in (("MAX_ATTEMPTS", 3), ("MAX_ATTEMPTS_BYTES", 399)):
        with monkeypatch.context() as patch:
            patch.setattr(choose, name, limit)
            found = collected(place)
        assert found["bob"] == [b"b"]
        assert "4 notebooks with 0 MB were handed in at once" in found["ann"][0]


def test_a_zip_of_very_many_files_is_told_before_its_table_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(limits, "MAX_OWN_ENTRIES", 100)
    content = zipped({f"{n}.txt": "" for n in range(101)} | {"x.ipynb": "a"})
    monkeypatch.setattr(zipfile.ZipFile, "_RealGetContents", lambda self: pytest.fail("was read"))
    assert "more than 100 files" in of_ann(tmp_path, content)[0]


def test_other_archives_are_told_and_not_lost(tmp_path):
    files = {"ann.rar": "Rar!", "bob.tar.gz": "x", "cy.ipynb": "c", "readme.txt": "for the TA"}
    found = collected(delivered(tmp_path, files))
    assert set(found) == {"ann", "bob.tar", "cy"}
    assert found["ann"] == [f"{NOTHING}, only ann.rar"]


@pytest.mark.parametrize("claims_utf8", [True, False])
def test_names_in_any_script_also_where_the_zip_does_not_say_utf8(tmp_path, claims_utf8):
    name = "王小明"
    stand_in = "N" * len(name.encode())
    path = tmp_path / "in.zip"
    content = zipped({f"{stand_in}.ipynb": "a", "bob.ipynb": "b"})
    content = content.replace(stand_in.encode(), name.encode())
    if claims_utf8:
        content = zipped({f"{name}.ipynb": "a", "bob.ipynb": "b"})
    path.write_bytes(content)
    assert collected(path) == {name: [b"a"], "bob": [b"b"]}


def test_a_folder_that_is_a_link_is_a_row_where_a_student_has_one(tmp_path):
    place = delivered(tmp_path / "in", {f"bob/{LAB}/x.ipynb": "b", "ann/notes.txt": "n"})
    (place / "ann" / LAB).symlink_to(place / "bob" / LAB)
    found = collected(place)
    assert "a link or a device" in found["ann"][0]
    assert found["bob"] == [b"b"]


def test_a_file_that_becomes_a_link_after_it_was_listed_is_not_followed(tmp_path):
    place = delivered(tmp_path / "in", {"ann.ipynb": "a"})
    (tmp_path / "secret").write_text("secret")
    with ExitStack() as opened:
        (file,) = limits.files_at(place, opened)
        (place / "ann.ipynb").unlink()
        (place / "ann.ipynb").symlink_to(tmp_path / "secret")
        with pytest.raises(OSError, match="symbolic links"):
            file.read()


@pytest.mark.parametrize("kind", ["truncated", "damaged table", "no zip"])
def test_a_damaged_delivery_is_a_sentence(tmp_path, kind):
    content = zipped({f"{n}.ipynb": "a" * 100 for n in range(5)})
    table = content.index(b"PK\x01\x02")
    broken = {
        "truncated": content[:-30],
        "damaged table": content[:table] + b"PK\x01\x02" + b"\xff" * 60 + content[table + 64 :],
        "no zip": b"hello",
    }
    (tmp_path / "in.zip").write_bytes(broken[kind])
    with pytest.raises(NoSubmissions, match=r"in\.zip"):
        collect(tmp_path / "in.zip", LAB)


def test_people_whose_names_look_the_same_are_told_and_neighbours_are_not_harmed(tmp_path):
    files = {"a\u2028b.ipynb": "1", "a\u2029b.ipynb": "2", "cy.ipynb": "c"}
    found = collected(delivered(tmp_path, files))
    assert "2 people are called the same" in found["a?b"][0]
    assert found["cy"] == [b"c"]


@pytest.mark.parametrize("name", ["", ".", "..", "...", " ", "a/b", "..\\x", "x" * 300, "é" * 80])
def test_no_name_is_empty_or_a_path_or_long(name):
    safe = safe_name(name)
    assert safe.strip(" .")
    assert not set("/\\") & set(safe)
    assert len(safe.encode()) <= 100


parts = st.text("ab1_-. é王/+\\", min_size=1, max_size=12)
names = st.builds("".join, st.lists(parts | st.sampled_from([
    f"{LAB}/", LAB, ".ipynb", ".py", ".zip", "_12_34_", "_LATE", "_12_assignsubmission_file/",
    "attempt_2", f"+{LAB}+2026-10-15 15:58:23 UTC/",
]), min_size=1, max_size=5))  # fmt: skip


@given(st.dictionaries(names, st.sampled_from([b"a", b"b", ZIP]), max_size=6))
def test_any_tree_gives_rows_that_are_told_apart_and_the_same_again(tmp_path_factory, files):
    place = tmp_path_factory.getbasetemp() / "any.zip"
    place.write_bytes(zipped(files))
    try:
        found = collect(place, LAB)
    except NoSubmissions:
        return
    keys = [(each.student, each.attempt) for each in found]
    assert keys == sorted(set(keys))
    assert all(each.problem or each.content in (b"a", b"b", b"z", ZIP) for each in found)
    assert found == collect(place, LAB)


LAYOUTS = (
    "{name}/{lab}/{lab}.ipynb", "{name}/work.ipynb", "{name}/hand-in/x.zip", "{name}.ipynb",
    "{name}_{lab}.py", "{name}.zip", "{name}_LATE_{n}_7{n}_x.ipynb", "{name}_{n}_7{n}_x y.zip",
    "{name}_{n}_assignsubmission_file_/x.ipynb", "{name}_{n}_assignsubmission_file_x.ipynb",
    "{name}+{lab}+2026-10-15 15:58:23 UTC/{lab}.ipynb",
)  # fmt: skip
people = st.text("abcéßД王小明'", min_size=1, max_size=8).filter(lambda name: name.strip("'"))


@given(
    st.lists(people, min_size=2, max_size=6, unique=True),
    st.lists(st.sampled_from(LAYOUTS), min_size=6, max_size=6),
    st.sampled_from(["", "export/", "export/submitted/"]),
)
def test_whoever_hands_one_file_in_by_any_way_has_one_row_with_it(
    tmp_path_factory, students, layouts, folder
):
    files, contents = {}, {}
    for n, (name, layout) in enumerate(zip(students, layouts, strict=False)):
        contents[name] = [b"{%d}" % n]
        layout = layout.replace(".py", ".ipynb") if folder else layout
        path = layout.format(name=name, lab=LAB, n=n + 10)
        inside = zipped({"x.ipynb": contents[name][0]})
        files[folder + path] = inside if path.endswith(".zip") else contents[name][0]
    place = tmp_path_factory.getbasetemp() / "class.zip"
    place.write_bytes(zipped(files))
    assert collected(place) == contents


def seconds_to_collect(tmp_path, n_students):
    files = {f"s{n}_{n}_{n}_x.ipynb": b"{}" for n in range(n_students)}
    place = tmp_path / f"{n_students}.zip"
    place.write_bytes(zipped(files))
    started = time.process_time()
    assert len(collect(place, LAB)) == n_students
    return time.process_time() - started


def test_the_time_is_linear_in_the_number_of_files(tmp_path):
    small = min(seconds_to_collect(tmp_path, 300) for _ in range(3))
    large = min(seconds_to_collect(tmp_path, 1200) for _ in range(2))
    assert large < 4 * small * 2


def test_one_persons_very_many_files_cost_linear_time(tmp_path):
    order = list(range(4000))
    random.Random(0).shuffle(order)
    place = tmp_path / "in.zip"
    place.write_bytes(zipped({f"ann_1_{n}_{n}.txt": b"" for n in order} | {"ann_1_9999_x.py": "a"}))
    started = time.process_time()
    assert collected(place) == {"ann": [b"a"]}
    assert time.process_time() - started < 5
