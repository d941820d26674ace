"""Marks: checks and people together, late work, bonus, and what still waits for somebody."""

import csv
import math
import shutil
from dataclasses import replace
from decimal import Decimal
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from recorded import LAB, by_hand, record, result_of, without_mark
from typer.testing import CliRunner

from autograder.builder.source import find_lab
from autograder.cli import app
from autograder.grading.grade import Grading, GradingSettings, grade
from autograder.record.database import GradebookError
from autograder.record.log import ResultLog, read_results
from autograder.record.marks import as_points, marks_of, no_formula, write_marks
from autograder.record.results import ERROR

WRITTEN = ("growth", "training_or_generation")
NOWHERE = Path("no-such-folder")
CLASS = [
    result_of("ada"),
    result_of("bo", late="Two hours late: a tenth is taken off.", late_factor=0.9),
    result_of("cy", fails=("kv_table",), late="Refused: a day late.", late_factor=0.0),
    without_mark("di"),
    without_mark("ed", status=ERROR, late_factor=0.0),
    without_mark("flo"),
    result_of("=gil", group="@team", attempt=2, n_attempts=3),
    result_of("hal", fails=("largest_model",)),
    result_of("ivy"),
    *(result_of(student, group="red") for student in ("kim", "lou", "max")),
]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    """A class as a TA left it after an hour in formgrader."""
    out = tmp_path_factory.mktemp("marks") / "out"
    record(out, CLASS)
    for student in ("ada", "bo", "hal", "ivy"):
        by_hand(out, student, "growth", 0.75, comment="Why quadratic?")
    by_hand(out, "ada", "training_or_generation", 1.0, bonus=5.0)
    by_hand(out, "bo", "training_or_generation", 0.25)
    by_hand(out, "hal", "training_or_generation", 0.0)
    by_hand(out, "hal", "check_largest_model", 0.25)
    for name in {check.exercise for check in CLASS[0].checks}:
        by_hand(out, "di", f"check_{name}", 0.5)
    for name in WRITTEN:
        by_hand(out, "di", name, 1.0)
    by_hand(out, "flo", "growth", 1.0)
    by_hand(out, "kim", "growth", 0.5)
    by_hand(out, "kim", "training_or_generation", 1.0)
    by_hand(out, "lou", "training_or_generation", 0.75)
    return out


@pytest.fixture(scope="module")
def marks(recorded):
    return {mark.student: mark for mark in marks_of(recorded)}


def mark_of(out, student):
    return next(mark for mark in marks_of(out) if mark.student == student)


def test_a_total_is_the_checks_and_what_people_gave(marks):
    mark = marks["ada"]
    assert (mark.by_checks, mark.by_hand, mark.of) == (10.0, 1.75, 12.0)
    assert mark.waits_for == ()


def test_extra_credit_counts_up_to_the_bonus_of_the_policy_and_the_rest_is_told(
    marks, recorded, tmp_path
):
    assert marks["ada"].bonus == 3.0
    assert marks["ada"].total == 14.75
    assert "Of 5.0 bonus points 3.0 count." in marks["ada"].remark
    out = tmp_path / "out"
    shutil.copytree(recorded, out)
    (out / "policy.toml").write_text("bonus_at_most = 0")
    assert mark_of(out, "ada").total == 11.75


def test_lateness_takes_its_share_of_all_points(marks):
    assert marks["bo"].total == 9.9  # 0.9 * (10 + 1)
    assert "a tenth is taken off" in marks["bo"].remark


def test_refused_work_has_no_points_and_says_why(marks):
    assert marks["cy"].total == 0.0
    assert marks["cy"].remark == "Refused: a day late."


def test_a_file_that_could_not_be_graded_has_no_total_until_everything_is_marked_by_hand(marks):
    assert marks["di"].total == 0.5 * 11 + 2
    assert (marks["ed"].total, marks["ed"].waits_for) == (None, ("everything",))
    assert marks["flo"].total is None
    assert len(marks["flo"].waits_for) == 12


def test_an_answer_that_nobody_has_read_leaves_the_total_open(marks):
    assert marks["ivy"].total is None
    assert marks["ivy"].waits_for == ("training_or_generation",)
    assert marks["ivy"].by_hand == 0.75


def test_points_by_hand_replace_those_of_the_checks(marks):
    mark = marks["hal"]
    assert (mark.by_checks, mark.by_hand, mark.total) == (9.5, 1.0, 10.5)


def test_what_one_member_of_a_group_was_given_counts_for_all_unless_marks_differ(marks):
    assert [marks[name].by_hand for name in ("kim", "lou", "max")] == [1.5, 1.25, 0.5]
    assert [marks[name].total for name in ("kim", "lou", "max")] == [11.5, 11.25, None]
    assert marks["max"].waits_for == ("training_or_generation",)


def test_marks_are_shared_only_between_files_that_are_the_same_to_the_byte(recorded, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(recorded, out)
    record(out, [result_of("max", group="red")], submitted=b"of my own")
    assert (mark_of(out, "max").by_hand, mark_of(out, "max").waits_for) == (0.0, WRITTEN)
    assert mark_of(out, "lou").by_hand == 1.25
    (out / "course" / "submitted" / "lou" / LAB / f"{LAB}.ipynb").unlink()
    assert mark_of(out, "lou").by_hand == 0.75


def test_comments_travel_with_the_marks(marks):
    assert {mark.comment for mark in marks["bo"].hand if mark.name == "growth"} == {
        "Why quadratic?"
    }


def test_marks_by_hand_survive_a_regrade_and_wait_only_if_the_answer_changed(recorded, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(recorded, out)
    again = [result_of("ada", fails=("training",)), result_of("bo", late_factor=0.9)]
    record(out, again[:1])
    record(out, again[1:], answers={"growth": "It grows with the square."})
    marks = {mark.student: mark for mark in marks_of(out)}
    assert (marks["ada"].by_hand, marks["ada"].total) == (1.75, 9.5 + 1.75 + 3)
    assert marks["bo"].waits_for == ("growth",)
    assert marks["bo"].total is None
    assert marks["bo"].by_hand == 1.0
    record(out, again[1:], answers={"growth": "It grows with the square."})
    assert mark_of(out, "bo").waits_for == ("growth",)
    by_hand(out, "bo", "growth", 1.0)
    assert mark_of(out, "bo").total == 10.13  # 0.9 * 11.25, the half goes up


def test_a_check_that_is_not_decided_leaves_the_total_open_until_a_person_decides(tmp_path):
    row = result_of("ann")
    first = replace(row.checks[0], passed=False, status="undecided")
    record(tmp_path, [replace(row, checks=[first, *row.checks[1:]])])
    for name in WRITTEN:
        by_hand(tmp_path, "ann", name, 1.0)
    assert mark_of(tmp_path, "ann").waits_for == (first.exercise,)
    assert mark_of(tmp_path, "ann").total is None
    by_hand(tmp_path, "ann", f"check_{first.exercise}", 0.25)
    assert mark_of(tmp_path, "ann").waits_for == ()


def test_a_report_shows_what_hidden_cases_expect_only_when_asked(tmp_path):
    row = result_of("ann", fails=("kv_table",))
    said = {"message": "On a hidden case: the table; expected 61, got 1.", "expected": "61",
            "got": "1", "status": "failed"}  # fmt: skip
    checks = [each if each.passed else replace(each, **said) for each in row.checks]
    record(tmp_path, [replace(row, checks=checks)])
    page = tmp_path / "feedback" / LAB / "ann.html"
    for options, is_shown in (([], False), (["--with-cases"], True), ([], False)):
        done = CliRunner().invoke(app, ["report", str(tmp_path), *options])
        assert done.exit_code == 0, done.output
        assert ("expected 61" in page.read_text()) == is_shown


def test_an_unreadable_file_that_was_handed_in_anew_waits_for_a_hand_again(recorded, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(recorded, out)
    record(out, [without_mark("di")])
    assert mark_of(out, "di").total == 7.5
    record(out, [without_mark("di")], submitted=b"another")
    assert mark_of(out, "di").total is None


def test_the_table_has_a_row_for_everyone_and_no_formula(recorded):
    results = read_results(recorded / "results.jsonl")
    path = write_marks(recorded, results, marks_of(recorded))
    with path.open(encoding="utf-8", newline="") as file:
        rows = {row["student"]: row for row in csv.DictReader(file)}
    assert set(rows) == {result.student.replace("=gil", "'=gil") for result in CLASS}
    assert rows["ada"]["mark"] == "14.75"
    assert rows["ivy"]["mark"] == ""
    assert rows["ivy"]["waits_for"] == "training_or_generation"
    assert rows["'=gil"]["group"] == "'@team"
    assert rows["'=gil"]["attempt"] == "2 of 3"
    assert rows["di"]["remark"] == "No JSON."


def test_without_a_gradebook_all_written_answers_wait(tmp_path):
    log = ResultLog(tmp_path / "results.jsonl")
    log.append(result_of("ada"))
    log.close()
    assert marks_of(tmp_path)[0].waits_for == WRITTEN


def test_a_damaged_gradebook_is_told_in_one_sentence(recorded, tmp_path):
    out = tmp_path / "out"
    shutil.copytree(recorded, out)
    database = out / "course" / "gradebook.db"
    database.write_bytes(b"not a database at all" * 500)
    with pytest.raises(GradebookError, match="restore it from a copy"):
        marks_of(out)


@given(
    st.decimals(min_value=0, max_value=100, places=2),
    st.decimals(min_value="0.01", max_value=1, places=2),
)
def test_a_total_is_rounded_to_the_cent_and_halves_go_up(points, factor):
    check = replace(CLASS[0].checks[0], points=float(points))
    late = replace(CLASS[0], checks=[check], written={}, late_factor=float(factor))
    mark = marks_of(NOWHERE, [late])[0]
    hundredths = points * factor * 100
    assert round(mark.total * 100) == math.floor(hundredths + Decimal("0.5"))


@pytest.mark.parametrize(
    "text", ["=1+1", "+1", "-1", "@x", "\tx", "\rx", "\nx", "＝1", "－1", "＠x"]
)
def test_text_that_a_spreadsheet_would_compute_is_quoted(text):
    assert no_formula(text) == f"'{text}"
    assert no_formula(f"a{text}") == f"a{text}"


@pytest.mark.parametrize(
    ("value", "text"), [(None, ""), (0.0, "0"), (10.0, "10"), (9.35, "9.35"), (100.0, "100")]
)
def test_points_are_written_as_people_write_them(value, text):
    assert as_points(value) == text


def test_whose_marks_by_hand_stay_under_a_name_that_is_not_handed_in_any_more_is_told(
    tmp_path, monkeypatch, caplog
):
    """As when a namesake hands in, and Canvas's numbers become part of both names."""
    out, submissions = tmp_path / "out", tmp_path / "in"
    record(out, [result_of("chenwei"), result_of("bo")])
    by_hand(out, "chenwei", "growth", 0.75)
    for student in ("chenwei_1", "chenwei_2"):
        (submissions / student).mkdir(parents=True)
        (submissions / student / f"{LAB}.ipynb").write_text("{}")
    monkeypatch.setattr(Grading, "record", lambda self, works, pool, log: None)
    grade(find_lab(LAB), submissions, out, GradingSettings())
    absent, kept = (message.message for message in caplog.records[-2:])
    assert absent.endswith("any more: bo, chenwei")
    assert kept.endswith("count for no other name: chenwei")
