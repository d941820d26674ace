"""The students' page: names, dates and rules come from course.toml, and nothing else does."""

import re
from datetime import UTC, datetime
from zoneinfo import ZoneInfo

import pytest

from autograder import places
from autograder.builder import course_page, source
from autograder.builder.course_page import page_tables
from autograder.builder.readme import COURSE_PAGE, documents
from autograder.builder.source import read_labs, read_term
from autograder.course.policy import Policy
from autograder.errors import Refusal

COURSE = """
title = "A course"
[page]
Staff = "Ann and Bob"
[counts_as]
01_memory = 10
04_kv_cache = 7.5
[policy]
timezone = "Asia/Kathmandu"
attempts = "last"
late = { per_day = 0.1, at_most = 0.5 }
grace_minutes = 10
bonus_at_most = 2
[policy.deadlines]
04_kv_cache = 2026-10-15T23:59:59
[policy.extensions.b12345678]
04_kv_cache = 2026-10-18T23:59:59
"""


@pytest.fixture
def tables(tmp_path, monkeypatch):
    monkeypatch.setattr(places, "COURSE", tmp_path / "course.toml")
    places.COURSE.write_text(COURSE)
    return page_tables()


def test_the_page_shows_people_dates_points_and_rules_of_the_course(tables):
    assert "| Staff | Ann and Bob |" in tables["people"]
    row = next(line for line in tables["labs"].splitlines() if "04_kv_cache" in line)
    assert "2026-10-15 23:59:59 (UTC+05:45)" in row and row.endswith("| 7.5 |")
    assert "| 01_memory | none |" in tables["labs"]
    assert tables["labs"].splitlines()[-1].endswith("| 17.5 |")
    assert "05_batching" not in tables["labs"]  # neither counts nor has a deadline
    assert tables["rules"].splitlines() == [
        "- You may hand in as often as you like; the last one counts.",
        "- Late work loses 10 % of its points for each started day, and 50 % at most.",
        "- A submission is in time until 10 minutes after the deadline.",
        "- A bonus adds at most 2 points to a lab.",
    ]


@pytest.mark.parametrize(
    ("right", "wrong"),
    [('"last"', '"first"'), ("Asia/Kathmandu", "Asia/Nowhere"), ("04_kv_cache = 2", "99_x = 2"),
     ("title", "titel")],
)  # fmt: skip
def test_a_wrong_setting_is_refused_in_a_sentence(tables, right, wrong):
    places.COURSE.write_text(COURSE.replace(right, wrong))
    with pytest.raises(Refusal, match=r"course\.toml has a wrong setting"):
        page_tables()


def test_names_of_students_with_extensions_stay_off_the_page(tables):
    assert "b12345678" not in "".join(tables.values())


def test_a_deadline_with_an_offset_is_shown_in_the_zone_of_the_course():
    moment = datetime(2026, 10, 15, 15, 59, 59, tzinfo=UTC)

    def shown(zone):
        return Policy(ZoneInfo(zone)).shown(moment)

    assert shown("Asia/Taipei") == "2026-10-15 23:59:59 (UTC+08:00)"
    assert shown("America/St_Johns") == "2026-10-15 13:29:59 (UTC-02:30)"


def test_the_marks_page_shares_out_the_points_of_the_homework():
    """The kit's weights; a course may have others."""
    text = (places.REPOSITORY / "docs/marks.md").read_text(encoding="utf-8")
    listed = re.findall(r"^\| .* \| (\d\d_\w+) \| (\d+) \|$", text, re.MULTILINE)
    points = [int(n) for _, n in listed]
    assert [sum(points[:2]), sum(points[2:4]), *points[4:7]] == [25, 25, 20, 30, 10]
    assert all(f"--points {lab}={n}" in text for lab, n in listed)


def test_every_lab_of_the_term_counts():
    assert set(source.read_course().counts_as) == {lab.name for lab in read_term()}


def test_a_course_that_names_no_lab_and_no_date_has_them_all(tables):
    places.COURSE.write_text('title = "A course"')
    assert read_term() == list(read_labs())
    rows = page_tables()["labs"].splitlines()
    named = [
        lab.name for lab in read_labs() if any(f"| {lab.name} | none |" in row for row in rows)
    ]
    assert named == [lab.name for lab in read_labs()]
    assert b"None" not in documents()[COURSE_PAGE]


def test_a_page_that_differs_from_the_course_is_found(tables):
    assert documents()[COURSE_PAGE] != COURSE_PAGE.read_bytes()
    assert b"Ann and Bob" in documents()[COURSE_PAGE]
    assert course_page.page_tables() == tables
