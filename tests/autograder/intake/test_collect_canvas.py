"""Exports of Canvas: who, late or not, which attempt, for which group."""

import pytest
from deliveries import LAB, both, collected, delivered, roster_of, zipped

from autograder.intake.collect import NoSubmissions, collect

CANVAS = {
    "leeann_12_34_lab 4.ipynb": "a",
    "o_neil_LATE_13_35_04_kv_cache-2.ipynb": "b",
    "王小明_14_36_作業.ipynb": "c",
    "anon_x1Y2z_37_x.ipynb": "d",
    "LATE_anon_q9_38_x.py": "e",
    "cat_15_39_report.pdf": "f",
    "dan_LATE_16_text.html": "g",
}


def test_canvas_names_and_late_marks(tmp_path):
    for place in both(tmp_path, CANVAS):
        found = {each.student: each for each in collect(place, LAB)}
        assert {name: each.content for name, each in found.items() if each.content} == {
            "leeann": b"a", "o_neil": b"b", "王小明": b"c", "anon_x1Y2z": b"d", "anon_q9": b"e",
        }  # fmt: skip
        late = {name for name, each in found.items() if each.marked_late}
        assert late == {"o_neil", "anon_q9", "dan"}
        assert {each.marked_late for each in found.values()} == {True, False}
        assert all(each.attempt == 1 and not each.submitted_at for each in found.values())
        assert found["cat"].problem == (
            "no .ipynb or .py file was handed in, only cat_15_39_report.pdf"
        )
        assert "only dan_LATE_16_text.html" in found["dan"].problem


def test_canvas_keeps_two_people_of_one_name_apart(tmp_path):
    files = {"leeann_12_34_x.ipynb": "a", "leeann_13_35_x-1.ipynb": "b", "bob_14_36_x.ipynb": "c"}
    for place in both(tmp_path, files):
        assert collected(place) == {"leeann 12": [b"a"], "leeann 13": [b"b"], "bob": [b"c"]}


def test_the_files_of_one_canvas_hand_in_are_no_attempts(tmp_path):
    files = {
        "ann_12_90_lab.ipynb": "1",
        "ann_12_91_lab-1.ipynb": "2",
        f"bob_13_92_{LAB}.ipynb": "1",
        f"bob_13_93_{LAB}-1.ipynb": "2",
        f"cy_LATE_14_94_{LAB}-2.ipynb": "c",
        f"cy_LATE_14_95_{LAB}_notes.ipynb": "n",
        "cy_LATE_14_96_helper.py": "h",
        f"dan_15_97_{LAB}-1.zip": zipped({"x.ipynb": "d"}),
        "dan_15_98_old.zip": zipped({"x.ipynb": "o"}),
    }
    for place in both(tmp_path, files):
        ann, bob, cy, dan = collect(place, LAB)
        assert f"several notebooks and none called {LAB}.ipynb: ann_12_90" in ann.problem
        assert f"several notebooks called {LAB}.ipynb: bob_13_92" in bob.problem
        assert (cy.content, cy.extra, cy.marked_late) == (b"c", {"helper.py": b"h"}, True)
        assert (dan.content, dan.attempt) == (b"d", 1)


def test_canvas_attempts_come_from_exports_in_the_order_of_the_files_numbers(tmp_path):
    exports = {
        "b.zip": zipped({"ann_12_9_lab.ipynb": "first"}),
        "c.zip": zipped({"ann_12_40_lab-1.ipynb": "second"}),
        "a.zip": zipped({"ann_LATE_12_100_lab-2.ipynb": "third"}),
    }
    found = collect(delivered(tmp_path, exports), LAB)
    assert [each.content for each in found] == [b"first", b"second", b"third"]
    assert [each.attempt for each in found] == [1, 2, 3]
    assert [each.marked_late for each in found] == [False, False, True]


def test_an_undecided_hand_in_stands_where_its_latest_file_does(tmp_path):
    exports = {
        "a.zip": zipped({"ann_12_34_x.ipynb": "1", "bob_13_35_x.ipynb": "b"}),
        "b.zip": zipped({"ann_12_50_y.ipynb": "2", "ann_12_51_z.ipynb": "3"}),
    }
    ann_1, ann_2, _ = collect(delivered(tmp_path, exports), LAB)
    assert (ann_1.content, ann_1.attempt) == (b"1", 1)
    assert "several notebooks" in ann_2.problem


def test_a_second_download_comes_after_the_first_as_browsers_name_them(tmp_path):
    name = "Ann Lee_12_assignsubmission_file/x.ipynb"
    exports = {"lab.zip": zipped({name: "old"}), "lab (1).zip": zipped({name: "new"})}
    assert collected(delivered(tmp_path, exports)) == {"Ann Lee": [b"old", b"new"]}


def test_two_attached_notebooks_of_other_names_are_no_attempts(tmp_path):
    files = {"ann_12_34_draft.ipynb": "1", "ann_12_35_final.ipynb": "2"}
    assert "several notebooks" in collected(delivered(tmp_path, files))["ann"][0]


def test_a_day_in_a_file_name_is_nobodys_number(tmp_path):
    files = {"ann_2026_10_15.ipynb": "a", "bob_2026_10_15.ipynb": "b"}
    for place in both(tmp_path, files):
        assert collected(place) == {"ann": [b"a"], "bob": [b"b"]}


@pytest.mark.parametrize("packing", ["zips", "zips in a zip", "folders"])
def test_exports_made_over_time_are_attempts_and_what_did_not_change_is_one(tmp_path, packing):
    exports = {
        "export 2": {"ann_12_34_x.ipynb": "1", "bob_13_35_x.ipynb": "b"},
        "export 10": {"ann_LATE_12_50_y.ipynb": "2", "bob_13_35_x.ipynb": "b"},
    }
    files = {f"{name}.zip": zipped(own) for name, own in exports.items()}
    if packing == "folders":
        files = {
            f"{name}/{path}": exports[name][path] for name in exports for path in exports[name]
        }
    place = tmp_path / "in.zip"
    place.write_bytes(zipped(files))
    if packing != "zips in a zip":
        place = delivered(tmp_path / "in", files)
    ann_1, ann_2, bob = collect(place, LAB)
    assert (ann_1.attempt, ann_1.content, ann_1.marked_late) == (1, b"1", False)
    assert (ann_2.attempt, ann_2.content, ann_2.marked_late) == (2, b"2", True)
    assert (bob.student, bob.attempt, bob.content) == ("bob", 1, b"b")


def test_a_file_handed_in_again_unchanged_is_an_attempt_of_its_own(tmp_path):
    exports = {
        "a.zip": zipped({"ann_LATE_12_50_x.ipynb": "same"}),
        "b.zip": zipped({"ann_12_34_x.ipynb": "same"}),
    }
    first, second = collect(delivered(tmp_path / "canvas", exports), LAB)
    assert (first.marked_late, second.marked_late) == (False, True)
    folders = {f"ann/attempt_{n}/x.ipynb": "same" for n in (1, 2)}
    assert collected(delivered(tmp_path / "folders", folders)) == {"ann": [b"same", b"same"]}


def test_of_the_exports_of_all_labs_the_ones_of_this_lab_are_taken(tmp_path):
    others = {"ann_12_35_05_batching.ipynb": "?", "bob_13_36_05_batching-1.ipynb": "?"}
    exports = {
        "01_memory.zip": zipped({"ann_12_34_x.ipynb": "?"}),
        "download.zip": zipped(others | {"cy_14_37_x.ipynb": "?"}),
        "download (1).zip": zipped({f"ann_12_38_{LAB}.ipynb": "a"}),
        "download (2).zip": zipped({"ann_12_39_x.ipynb": "b", "bob_13_40_01_memory.ipynb": "c"}),
    }
    place = delivered(tmp_path / "all", exports)
    assert collected(place) == {"ann": [b"a", b"b"], "bob": [b"c"]}
    place = delivered(tmp_path / "others", {name: exports[name] for name in list(exports)[:2]})
    with pytest.raises(NoSubmissions, match="no submission of 02_throughput"):
        collect(place, "02_throughput")


ONLY_FOLDERS = ("Ann_12_assignsubmission_file", f"ann+{LAB}+2026-10-15 15:58 Z")


@pytest.mark.parametrize("folder", ONLY_FOLDERS)
def test_the_only_students_folder_is_not_taken_for_a_class(tmp_path, folder):
    for place in both(tmp_path, {f"{folder}/a.ipynb": "a", f"{folder}/b.ipynb": "b"}):
        (problems,) = collected(place).values()
        assert "several notebooks" in problems[0]


def test_no_students_own_zip_passes_for_an_export_beside_others(tmp_path):
    forged = zipped({"ann_12_34_x.ipynb": "not ann's", "bob_13_35_y.ipynb": "not bob's"})
    for name, own in (("ann.zip", zipped({"x.ipynb": "a"})), ("ann.ipynb", "a")):
        for place in both(tmp_path / name, {name: own, "eve.zip": forged}):
            found = collected(place)
            assert set(found) == {"ann", "eve"}
            assert found["ann"] == [b"a"]
            assert "several notebooks" in found["eve"][0]


def test_an_emailed_file_of_a_canvas_name_is_a_problem_and_no_guess(tmp_path):
    files = {"ann_12_34_x.ipynb": "1", "ann.ipynb": "2", "bob_13_35_x.ipynb": "b"}
    found = collected(delivered(tmp_path, files))
    assert "2 people are called the same" in found["ann"][0]
    assert found["bob"] == [b"b"]


GROUPS = """name,canvas_user_id,login_id,group_name
"Lee, Ann",12,ann@x,Tide Clock #1
"Ray, Bob",13,bob@x,Tide Clock #1
"Oh, Cy",14,cy@x,
"""


def test_a_canvas_group_is_its_members_once_a_roster_names_them(tmp_path):
    files = {"tideclock1_LATE_12_34_x.ipynb": "g", "ohcy_14_35_x.ipynb": "c"}
    roster = roster_of(tmp_path, GROUPS)
    for place in both(tmp_path, files):
        assert collected(place) == {"tideclock1": [b"g"], "ohcy": [b"c"]}
        ann, cy, bob = collect(place, LAB, roster)
        assert [each.student for each in (ann, cy, bob)] == ["leeann", "ohcy", "raybob"]
        assert [each.content for each in (ann, bob, cy)] == [b"g", b"g", b"c"]
        assert [each.group for each in (ann, bob, cy)] == ["Tide Clock #1", "Tide Clock #1", ""]
        assert [each.marked_late for each in (ann, bob, cy)] == [True, True, False]
