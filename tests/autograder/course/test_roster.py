"""Class lists of every platform, and the one person behind a submission's student."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from autograder.course.person import letters_of
from autograder.course.roster import Person, Roster, RosterError, canvas_name, read_roster

CANVAS = """\ufeffStudent,ID,SIS User ID,SIS Login ID,Section,Lab 4 (99)
,,,,,Manual Posting
    Points Possible,,,,,15.00
"Lee, Ann",1001,B001,ann@ntu.edu,A,
"Lee, Ann",1002,B002,ann2@ntu.edu,B,
"O'Neil-Böhm, José",1003,B003,jose@ntu.edu,A,
王小明,1004,B004,wang@ntu.edu,A,
"Student, Test",1005,,f00f,A,
"""
MOODLE = """Identifier,Full name,ID number,Email address,Grade,Last modified (submission)
Participant 501,Ann Lee,B001,ann@ntu.edu,-,"Thursday, 15 October 2026, 11:59 PM"
Participant 502,Bob Ray,B002,bob@ntu.edu,-,-
"""
GROUPS = """name,canvas_user_id,user_id,login_id,sections,group_name,canvas_group_id,group_id
"Lovelace, Ada",101,B1,ada@x.edu,CS 461,Tide Clock #1,404,
"Babbage, Charles",102,B2,charles@x.edu,CS 461,Tide Clock #1,404,
"Hopper, Grace",103,B3,grace@x.edu,CS 461,,,
"""
GRADESCOPE = """First Name,Last Name,SID,Email,Sections,Submission Time
Ann,Lee,0012,ann@x.edu,A,2026-10-15 16:19:05 -0700
"""
CHINESE = "學號;姓名;信箱;組別\nB001;王小明;wang@ntu.edu;第一組\nB002;李大華;li@ntu.edu;第一組\n"


def roster(tmp_path, text, encoding="utf-8"):
    path = tmp_path / "class.csv"
    path.write_bytes(text.encode(encoding))
    return read_roster(path)


def names(people):
    return [person.name for person in people]


def test_canvas_gradebook(tmp_path):
    found = roster(tmp_path, CANVAS)
    assert found.kind == "canvas"
    assert [person.lms_id for person in found.people] == ["1001", "1002", "1003", "1004"]
    ann = found.people[0]
    assert (ann.name, ann.student_id, ann.login, ann.section) == (
        "Lee, Ann", "B001", "ann@ntu.edu", "A",
    )  # fmt: skip
    assert ann.row["Lab 4 (99)"] == ""
    assert [row["Student"].strip() for row in found.extra_rows] == ["", "Points Possible"]
    assert found.columns[0] == "Student"


def test_canvas_gradebook_with_names_in_two_columns(tmp_path):
    found = roster(
        tmp_path,
        "LastName,FirstName,ID,SIS User ID,SIS Login ID,Section,Lab 4 (99)\n"
        "    Points Possible,,,,,,15\nLee,Ann,1001,B001,ann@ntu.edu,A,\nStudent,Test,9,,,A,\n",
    )
    assert (found.kind, [person.name for person in found.people]) == ("canvas", ["Lee, Ann"])
    assert found.find("leeann").lms_id == "1001"
    assert found.extra_rows[0]["Lab 4 (99)"] == "15"


def test_moodle_worksheet_tells_the_time_of_submission(tmp_path):
    found = roster(tmp_path, MOODLE)
    assert found.kind == "moodle"
    ann, bob = found.people
    assert (ann.lms_id, ann.submitted_at) == ("501", "2026-10-15T23:59:00")
    assert (bob.lms_id, bob.submitted_at) == ("502", "")
    for student in ("Ann Lee", "Participant 501", "Ann Lee 501", "b001"):
        assert found.find(student) is ann
    assert ann.row["Identifier"] == "Participant 501"


def test_gradescope_roster_keeps_zeros_and_both_orders_of_the_name(tmp_path):
    found = roster(tmp_path, GRADESCOPE)
    (ann,) = found.people
    assert (found.kind, ann.student_id) == ("gradescope", "0012")
    assert ann.submitted_at == "2026-10-15T16:19:05-07:00"
    for student in ("0012", "ann@x.edu", "Ann Lee", "leeann", "Lee, Ann", "ANN"):
        assert found.find(student) is ann
    with pytest.raises(RosterError, match="nobody"):
        found.find("12")


def test_groups_and_their_members(tmp_path):
    found = roster(tmp_path, GROUPS)
    assert names(found.members("tideclock1")) == ["Lovelace, Ada", "Babbage, Charles"]
    assert found.members("") == []
    assert found.people[0].lms_id == "101"


@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
@pytest.mark.parametrize("delimiter", [",", ";", "\t"])
def test_encodings_and_delimiters_that_spreadsheets_write(tmp_path, encoding, delimiter):
    found = roster(tmp_path, CHINESE.replace(";", delimiter).replace("\n", "\r\n"), encoding)
    assert names(found.people) == ["王小明", "李大華"]
    assert found.find("王小明").student_id == "B001"
    assert len(found.members("第一組")) == 2


def test_canvas_file_names_tell_two_people_of_one_name_apart(tmp_path):
    found = roster(tmp_path, CANVAS)
    assert found.find("oneilböhmjosé").student_id == "B003"
    assert found.find("王小明").student_id == "B004"
    with pytest.raises(RosterError, match=r"2 people of class\.csv: Lee, Ann B001, Lee, Ann B002"):
        found.find("leeann")
    assert found.find("leeann 1002").student_id == "B002"
    assert found.find("leeann", "leeann_LATE_1002_77_lab.ipynb").student_id == "B002"
    assert found.find("leeann", "leeann_1001_77_lab.zip: lab.ipynb").student_id == "B001"


@pytest.mark.parametrize("file_name", ["bob_1002_77_x.ipynb", "1002.ipynb"])
def test_a_number_that_belongs_to_another_name_decides_nothing(tmp_path, file_name):
    with pytest.raises(RosterError, match="2 people"):
        roster(tmp_path, CANVAS).find("leeann", file_name)


@pytest.mark.parametrize("student", ["wangwei", "wangwei 111"])
def test_a_mark_never_goes_to_a_namesake_of_another_number(tmp_path, student):
    found = roster(tmp_path, 'Student,ID,SIS User ID,Section\n"Wei, Wang",222,B1,A\n')
    with pytest.raises(RosterError, match=f"nobody who could be '{student}', number 111"):
        found.find(student, "wangwei_111_5_x.ipynb")
    assert found.find("wangwei", "wangwei_222_5_x.ipynb").student_id == "B1"
    assert found.find("wangwei").student_id == "B1"
    with pytest.raises(RosterError, match="nobody"):
        roster(tmp_path, CANVAS).find("leeann", "leeann_9_77_x.ipynb")


def test_moodles_numbers_of_another_assignment_leave_the_name_to_decide(tmp_path):
    assert roster(tmp_path, MOODLE).find("Ann Lee 77").lms_id == "501"


def test_groups_go_by_exact_names_and_by_letters_only_if_one_fits(tmp_path):
    table = "name,group\nAnn,Team 1\nBob,Team-1\nCy,team2\nDan,Team 2\nEve,Team #3\n"
    found = roster(tmp_path, table)
    assert names(found.members("Team 1")) == ["Ann"]
    assert names(found.members("Team-1")) == ["Bob"]
    assert names(found.members("Team 2")) == ["Dan"]
    assert names(found.members("team3")) == ["Eve"]
    assert found.members("team1") == []
    assert found.members("team2") == []  # Canvas writes both so


def test_a_number_never_overrules_the_name(tmp_path):
    found = roster(tmp_path, MOODLE)
    assert found.find("Bob Ray 501").name == "Bob Ray"
    with pytest.raises(RosterError, match="nobody"):
        found.find("Eve 501")


def test_ids_are_compared_exactly_and_names_by_their_letters(tmp_path):
    found = roster(tmp_path, "name,student id\nAnn,1-23\nBob,12-3\n")
    assert found.find("1-23").name == "Ann"
    with pytest.raises(RosterError, match="nobody"):
        found.find("123")
    assert found.find(" ANN ").student_id == "1-23"


def test_one_persons_id_that_is_anothers_name_is_told(tmp_path):
    found = roster(tmp_path, "name,username\nAnn,bob\nBob,b7\n")
    with pytest.raises(RosterError, match="2 people"):
        found.find("bob")


def test_a_line_that_is_there_twice_is_one_person_but_a_mere_name_may_be_two(tmp_path):
    twice = roster(tmp_path, "name,id,section\nAnn,1,A\nAnn,1,B\n")
    assert twice.find("Ann").student_id == "1"
    with pytest.raises(RosterError, match="2 people"):
        roster(tmp_path, "name\nAnn\nAnn\n").find("Ann")


def test_composed_and_decomposed_letters_are_the_same_name_and_marks_tell_names_apart(tmp_path):
    found = roster(tmp_path, "name\nJose\u0301\nका\n")
    assert found.find("josé").name == "Jose\u0301"
    with pytest.raises(RosterError, match="nobody"):
        found.find("कि")


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "has no column for a name"),
        (b"colour,shape\nred,round\n", "has no column for a name"),
        (b"name,id\n,,\n\n", "names nobody"),
        ("姓名\n王小明\n".encode("cp950"), "not UTF-8"),
        (b"name\n" + b"x" * 200_000, "no CSV file"),
        (b"\xff\xfen", "not UTF-8"),
    ],
)
def test_what_is_no_class_list_is_a_sentence(tmp_path, content, reason):
    path = tmp_path / "class.csv"
    path.write_bytes(content)
    with pytest.raises(RosterError, match=reason):
        read_roster(path)


def test_a_missing_class_list_is_a_sentence(tmp_path):
    with pytest.raises(RosterError, match="cannot be read"):
        read_roster(tmp_path / "none.csv")


@given(st.binary(max_size=300))
def test_any_bytes_are_a_class_list_or_a_sentence(tmp_path_factory, content):
    path = tmp_path_factory.getbasetemp() / "any.csv"
    path.write_bytes(b"name,id,email\n" + content)
    try:
        found = read_roster(path)
    except RosterError as refusal:
        assert str(path) in str(refusal)
    else:
        assert all(set(person.row) == {"name", "id", "email"} for person in found.people)


parts = st.text("abXА'-王の\u0301é", min_size=1, max_size=4).filter(letters_of)


@given(st.lists(st.tuples(parts, parts), min_size=1, max_size=6))
def test_a_canvas_name_finds_its_person_or_tells_who_else_it_could_be(pairs):
    people = [Person(name=f"{last}, {first}") for last, first in pairs]
    roster = Roster(people, ["name"], "table")
    for person in people:
        file_name = canvas_name(person.name)
        others = [other for other in people if other is not person]
        alike = [other for other in others if person.spellings() & other.spellings()]
        try:
            assert roster.find(file_name) is person
        except RosterError as refusal:
            assert alike
            assert "could be" in str(refusal)


@pytest.mark.parametrize(
    ("name", "parts"),
    [
        ("Adler, Ada", ("Ada", "Adler")),
        ("Ada Maria Adler", ("Ada Maria", "Adler")),
        ("\u738b\u5c0f\u660e", ("", "\u738b\u5c0f\u660e")),
        ("", ("", "")),
    ],
)
def test_a_name_has_a_first_and_a_last_part(name, parts):
    assert Person(name).first_and_last == parts
