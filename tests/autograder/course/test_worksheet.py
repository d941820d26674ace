"""Moodle's grading worksheet in the languages of its users: people, addresses and times."""

import pytest
from deliveries import LANGUAGES, PEOPLE, as_file, worksheet

from autograder.course.roster import read_roster
from autograder.course.worksheet import is_participant


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_worksheet_tells_numbers_names_addresses_and_times_in_each_language(tmp_path, language):
    lines = worksheet(language)
    found = read_roster(as_file(tmp_path / "ws.csv", lines))
    assert found.kind == "moodle"
    assert [(each.lms_id, each.name, each.email) for each in found.people] == [
        (f"{101 + n}", person, f"p{n}@x.edu") for n, person in enumerate(PEOPLE)
    ]
    assert [each.submitted_at for each in found.people] == ["2026-10-15T23:59:00"] * 2 + [""]
    named = {name: lines[0].index(found.parts[name]) for name in ("grade", "maximum", "is_open")}
    assert named == {"grade": 4, "maximum": 5, "is_open": 6}
    assert found.find(f"{LANGUAGES[language][0].strip()} 102").name == "王小明"


@pytest.mark.parametrize("language", LANGUAGES)
def test_a_blind_worksheet_names_nobody_and_its_numbers_tell_the_times(tmp_path, language):
    found = read_roster(as_file(tmp_path / "ws.csv", worksheet(language, is_blind=True)))
    assert [(each.lms_id, each.name) for each in found.people] == [
        ("101", ""), ("102", ""), ("103", ""),
    ]  # fmt: skip
    word = LANGUAGES[language][0].strip()
    assert is_participant(word)
    (second,) = found.matches(word.replace("/", ""), "102")
    assert second.submitted_at == "2026-10-15T23:59:00"


def test_columns_for_extensions_are_not_taken_for_the_time_of_submission(tmp_path):
    lines = worksheet("a later release")
    lines = [[*line[:4], cell, *line[4:]] for line, cell in zip(
        lines, ("due", *["Friday, October 2, 2026, 11:59 PM"] * 3), strict=True)]  # fmt: skip
    found = read_roster(as_file(tmp_path / "ws.csv", lines))
    assert found.people[0].submitted_at == "2026-10-15T23:59:00"


@pytest.mark.parametrize(
    "text",
    [
        "學號,姓名,成績\nB001,王小明,90\nB002,李大華,90\n",
        "team,name,grade,maximum grade\nTeam 1,Ann,9,10\nTeam 2,Bob,8,10\n",
        "identifier,name\nann@x.edu,Ann\nbob@x.edu,Bob\n",
        "identifier,github_username,github_id,name\nann@x.edu,annlee,77,Ann Lee\n",
    ],
)
def test_a_table_that_only_looks_like_a_worksheet_is_none(tmp_path, text):
    path = tmp_path / "class.csv"
    path.write_text(text, encoding="utf-8")
    found = read_roster(path)
    assert (found.kind == "moodle", found.parts) == (False, {})
