"""Exports of Moodle, with worksheet and teams; and groups that a roster names."""

from deliveries import LAB, both, collected, delivered, roster_of, zipped

from autograder.intake.collect import collect

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
