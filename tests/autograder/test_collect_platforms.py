"""Exports of Canvas, Moodle, Gradescope and nbgrader: who, when, which attempt, for which group."""

import pytest
from deliveries import LAB, both, collected, delivered, zipped

from autograder.collect import NoSubmissions, collect
from autograder.course.roster import read_roster


def roster_of(tmp_path, text):
    path = tmp_path / "class.csv"
    path.write_text(text, encoding="utf-8")
    return read_roster(path)


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


MOODLE = {
    "Ann Lee_12_assignsubmission_file/sub/04_kv_cache.ipynb": "a",
    "Ann Lee_12_assignsubmission_onlinetext/onlinetext.html": "hello",
    "王小明_13_assignsubmission_file_/x.ipynb": "b",
    "Bob Ray_14_assignsubmission_file_my lab.ipynb": "c",
    "Cy Oh_15_assignsubmission_onlinetext_onlinetext.html": "d",
    "Dan O'Hara_16_assignsubmission_file/work.zip": zipped({"lab/x.ipynb": "e"}),
}


def test_moodle_in_folders_and_flat(tmp_path):
    for place in both(tmp_path, MOODLE):
        found = collected(place)
        assert "only Cy Oh_15" in found.pop("Cy Oh")[0]
        assert found == {
            "Ann Lee": [b"a"], "王小明": [b"b"], "Bob Ray": [b"c"], "Dan O'Hara": [b"e"],
        }  # fmt: skip


def test_moodle_numbers_tell_the_blind_and_the_namesakes_apart(tmp_path):
    files = {
        "Participant_7_assignsubmission_file/x.ipynb": "a",
        "Teilnehmer_8_assignsubmission_file/x.ipynb": "b",
        "Teilnehmer_9_assignsubmission_file/x.ipynb": "c",
    }
    for place in both(tmp_path, files):
        assert collected(place) == {
            "Participant 7": [b"a"], "Teilnehmer 8": [b"b"], "Teilnehmer 9": [b"c"],
        }  # fmt: skip


WORKSHEET = """Identifier,Full name,Email address,Groups,Last modified (submission)
Participant 12,Ann Lee,ann@x,Team A,"Thursday, 15 October 2026, 11:59 PM"
Participant 13,Bob Ray,bob@x,Team A,"Friday, 16 October 2026, 12:01 AM"
Participant 14,Cy Oh,cy@x,,-
"""


def test_moodles_worksheet_gives_the_time_of_the_latest_attempt(tmp_path):
    names = ("Ann Lee_12_assignsubmission_file/x.ipynb", "Cy Oh_14_assignsubmission_file/x.ipynb")
    exports = {
        "1.zip": zipped({names[0]: "old", names[1]: "c"}),
        "2.zip": zipped({names[0]: "new", names[1]: "c"}),
    }
    found = collect(delivered(tmp_path / "in", exports), LAB, roster_of(tmp_path, WORKSHEET))
    assert [(each.student, each.content, each.attempt, each.submitted_at) for each in found] == [
        ("Ann Lee", b"old", 1, ""),
        ("Ann Lee", b"new", 2, "2026-10-15T23:59:00"),
        ("Cy Oh", b"c", 1, ""),
    ]


def test_a_moodle_team_is_its_members(tmp_path):
    files = {"Team A_13_assignsubmission_file/x.ipynb": "t"}
    for place in both(tmp_path, files):
        assert collected(place) == {"Team A": [b"t"]}
        ann, bob = collect(place, LAB, roster_of(tmp_path, WORKSHEET))
        assert (ann.student, ann.group, ann.submitted_at) == (
            "Ann Lee", "Team A", "2026-10-15T23:59:00",
        )  # fmt: skip
        assert (bob.student, bob.content, bob.submitted_at) == (
            "Bob Ray", b"t", "2026-10-16T00:01:00",
        )  # fmt: skip


def test_a_teams_time_is_that_of_its_latest_export(tmp_path):
    name = "Team A_12_assignsubmission_file/x.ipynb"
    exports = {"1.zip": zipped({name: "old"}), "2.zip": zipped({name: "new"})}
    found = collect(delivered(tmp_path / "in", exports), LAB, roster_of(tmp_path, WORKSHEET))
    times = {(each.student, each.content): each.submitted_at for each in found}
    assert times["Bob Ray", b"old"] == ""
    assert times["Bob Ray", b"new"] == "2026-10-16T00:01:00"


def test_times_of_another_assignments_worksheet_are_not_taken(tmp_path):
    files = {
        "Ann Lee_12_assignsubmission_file/x.ipynb": "a",
        "Cy Oh_99_assignsubmission_file/x.ipynb": "c",
    }
    times = WORKSHEET.replace(",-", ',"Friday, 16 October 2026, 12:05 AM"')
    found = collect(delivered(tmp_path / "in", files), LAB, roster_of(tmp_path, times))
    assert [(each.student, each.submitted_at) for each in found] == [
        ("Ann Lee", "2026-10-15T23:59:00"),
        ("Cy Oh", ""),
    ]


def test_numbers_of_another_assignments_worksheet_make_no_member_somebody_else(tmp_path):
    files = {
        "Team A_99_assignsubmission_file/x.ipynb": "t",
        "Eve_12_assignsubmission_file/x.ipynb": "e",
    }
    found = collect(delivered(tmp_path / "in", files), LAB, roster_of(tmp_path, WORKSHEET))
    assert {each.student: each.content for each in found} == {
        "Ann Lee": b"t", "Bob Ray": b"t", "Eve": b"e",
    }  # fmt: skip
    assert {each.submitted_at for each in found} == {""}


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


def test_a_group_whose_name_fits_two_is_nobodys(tmp_path):
    table = "name,group\nAnn,Team 1\nBob,Team-1\n"
    files = {"team1_12_34_x.ipynb": "t", "ohcy_14_35_x.ipynb": "c"}
    found = collected(delivered(tmp_path / "canvas", files), roster_of(tmp_path, table))
    assert found == {"team1": [b"t"], "ohcy": [b"c"]}
    files = {"Team-1_99_assignsubmission_file/x.ipynb": "t"}
    found = collected(delivered(tmp_path / "moodle", files), roster_of(tmp_path, table))
    assert found == {"Bob": [b"t"]}


def test_a_member_of_no_name_goes_by_an_id(tmp_path):
    table = "name,student id,login,email,group\n,7,,,G\n,,eve,,G\n,,,flo@x,G\nAnn,1,,,G\n"
    files = {"G_99_assignsubmission_file/x.ipynb": "t"}
    found = collected(delivered(tmp_path / "in", files), roster_of(tmp_path, table))
    assert set(found) == {"7", "eve", "flo@x", "Ann"}


def test_two_people_of_the_roster_behind_one_name_are_told(tmp_path):
    table = "name,student id,group\nAnn Lee,1,Team A\nAnn Lee,2,Team B\nBob,3,Team B\n"
    files = {f"Team {n}_9{i}_assignsubmission_file/x.ipynb": n for i, n in enumerate("AB")}
    found = collected(delivered(tmp_path / "in", files), roster_of(tmp_path, table))
    assert found["Bob"] == [b"B"]
    assert found["Ann Lee"] == ["2 people of the roster are called the same here: give them ids"]


def test_a_time_that_a_student_uploads_is_no_time(tmp_path):
    early = "2026-01-01 00:00:00 UTC"
    files = {
        "Ann Lee_12_assignsubmission_file/x.ipynb": "a",
        f"Ann Lee_12_assignsubmission_file/{LAB}/timestamp.txt": early,
        "Bob Ray_13_assignsubmission_file/b.zip": zipped(
            {f"{LAB}/x.ipynb": "b", f"{LAB}/timestamp.txt": early}
        ),
    }
    assert {each.submitted_at for each in collect(delivered(tmp_path, files), LAB)} == {""}


METADATA = """---
submission_1:
  :submitters:
  - :name: Ann Lee
    :sid: 0012
    :email: ann@x
  - :name: Bob Ray
    :sid:
    :email: bob@x
  :created_at: 2026-10-15 16:19:05.123456000 Z
  :history:
  - :id: 5
    :created_at: &1 2026-10-14 16:19:05.000000000 Z
    :results: !ruby/hash:ActiveSupport::HashWithIndifferentAccess
      tests: []
submission_2:
  :submitters:
  - :name: Cy Oh
    :sid: '7'
  :created_at: 2026-10-15 09:00:00 -07:00
submission_3:
  :submitters:
  - :name: Dan
"""
GRADESCOPE = {
    "assignment_9_export/submission_metadata.yml": METADATA,
    "assignment_9_export/submission_1/x.ipynb": "g",
    "assignment_9_export/submission_2/sub/04_kv_cache.ipynb": "c",
    "assignment_9_export/submission_4/x.ipynb": "?",
}


def test_gradescope_tells_people_groups_times_and_earlier_attempts(tmp_path):
    for place in both(tmp_path, GRADESCOPE):
        found = {each.student: each for each in collect(place, LAB)}
        assert set(found) == {"0012", "bob@x", "7", "Dan", "submission_4"}
        assert {each.marked_late for each in found.values()} == {None}
        for name in ("0012", "bob@x"):
            each = found[name]
            assert (each.content, each.group, each.attempt) == (b"g", "Ann Lee, Bob Ray", 2)
            assert each.submitted_at == "2026-10-15T16:19:05.123456+00:00"
        assert (found["7"].content, found["7"].group, found["7"].attempt) == (b"c", "", 1)
        assert found["7"].submitted_at == "2026-10-15T09:00:00-07:00"
        assert found["Dan"].problem == "no .ipynb or .py file was handed in"
        assert found["submission_4"].content == b"?"


def test_gradescope_exports_made_over_time(tmp_path):
    def export(day, earlier):
        history = "".join("\n  - :id: 1" for _ in range(earlier)) or " []"
        return zipped({
            "submission_metadata.yml": f"submission_{day}:\n  :submitters:\n  - :sid: '7'\n"
            f"  :created_at: 2026-10-{day} 09:00:00 Z\n  :history:{history}\n",
            f"submission_{day}/x.ipynb": f"of day {day}",
        })  # fmt: skip

    exports = {"b.zip": export(12, 0), "a.zip": export(14, 2), "c.zip": export(14, 2)}
    first, third = collect(delivered(tmp_path, exports), LAB)
    assert (first.attempt, first.content) == (1, b"of day 12")
    assert (third.attempt, third.content) == (3, b"of day 14")


TABLES = [
    "a: [",
    "- 1",
    "\0",
    "a: &a [*a]",
    "? [a]\n: b",
    "- " * 3000,
    "[" * 300_000,
    "%YAML 9\n---",
]


@pytest.mark.parametrize("table", TABLES, ids=lambda table: table[:9])
def test_a_damaged_table_of_gradescope_is_a_sentence(tmp_path, table):
    files = {"submission_metadata.yml": table, "submission_1/x.ipynb": "a"}
    with pytest.raises(NoSubmissions, match=r"submission_metadata\.yml.*export"):
        collect(delivered(tmp_path, files), LAB)


def test_a_table_that_names_no_folder_of_an_export_is_nobodys(tmp_path):
    table = "ann.ipynb:\n  :submitters:\n  - :sid: eve\n"
    files = {"submission_metadata.yml": table, "ann.ipynb": "a", "bob.ipynb": "b"}
    assert collected(delivered(tmp_path, files)) == {"ann": [b"a"], "bob": [b"b"]}


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
