"""Students' questions about marks, and the overview that names nobody."""

import html
import re
from dataclasses import replace

import pytest
from desk_server import answers_address, served, signed_in
from desk_store import LAB, open_store
from recorded import record, result_of
from typer.testing import CliRunner

from autograder.builder.source import find_lab
from autograder.cli import app
from autograder.desk.appeals import Appeals
from autograder.desk.states import AnswerId
from autograder.desk.tables import DeskTables
from autograder.errors import Refusal
from autograder.record.marks import marks_of
from labkit.checks.core import checks_of

STUDENTS = ("annabel", "bertram", "christa", "dietmar")


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    out = tmp_path_factory.mktemp("review")
    for student in STUDENTS:
        fails = {"annabel": (), "dietmar": ("kv_table", "largest_model")}.get(
            student, ("kv_table",)
        )
        record(out, [result_of(student, fails)], answers={"growth": f"{student[0]} times two"})
    return out


def mark_of(out, student):
    return next(mark for mark in marks_of(out) if mark.student == student)


@pytest.mark.parametrize(
    ("exercise", "points"), [("kv_table", "0.5"), ("growth", "1"), ("largest_model", "")]
)
def test_a_question_of_a_student_gets_a_decision_that_the_feedback_page_shows(
    bea, out, exercise, points
):
    form = {"about": f"{LAB}/{exercise}", "student": "bertram", "text": f"Why {exercise}?"}
    before = mark_of(out, "bertram")
    page = bea.get("/appeals")
    page = bea.post("/appeals", data=fields_of_page(page) | form)
    number = page.text.partition('href="/appeal/')[2].partition('"')[0]
    page = bea.get(f"/appeal/{number}")
    assert f"Why {exercise}?" in page.text
    no_reason = bea.post(page.url, data=fields_of_page(page) | {"points": points, "reason": " "})
    assert no_reason.status_code == 409
    too_much = bea.post(page.url, data=fields_of_page(page) | {"points": "9", "reason": "x"})
    assert "at most." in too_much.text
    decision = {"points": points, "reason": f"Because of {exercise}."}
    done = bea.post(page.url, data=fields_of_page(page) | decision)
    assert done.url.path == "/appeals"
    after = mark_of(out, "bertram")
    given = {mark.name.removeprefix("check_"): mark.points for mark in after.hand}
    assert given.get(exercise) == (float(points) if points else None)
    assert (after.waits_for == before.waits_for) or exercise == "growth"
    feedback = (out / "feedback" / LAB / "bertram.html").read_text()
    assert f"Because of {exercise}." in feedback
    done = CliRunner().invoke(app, ["report", str(out)])
    assert done.exit_code == 0, done.output
    assert (out / "feedback" / LAB / "bertram.html").read_text() == feedback


def test_beside_a_question_stands_what_the_command_prints_of_each_failed_check(bea, out):
    asked = {"about": f"{LAB}/largest_model", "student": "dietmar", "text": "Why?"}
    page = bea.get("/appeals")
    page = bea.post("/appeals", data=fields_of_page(page) | asked)
    row = page.text.partition('largest_model</td><td dir="auto">Why?</td>')[0]
    page = bea.get(f"/appeal/{row.rpartition('/appeal/')[2].partition(chr(34))[0]}")
    shown = html.unescape(page.text)
    for check in checks_of(find_lab(LAB).topic)["largest_model"]:
        arguments = ["case", str(out), LAB, "largest_model", check.name, "--student", "dietmar"]
        printed = CliRunner().invoke(app, arguments).stdout.strip()
        assert f'"{check.name}", hidden_case()' in printed
        assert printed in shown


def test_names_are_chosen_from_lists_and_a_refusal_keeps_what_was_typed(bea):
    page = bea.get("/appeals")
    for known in (f'value="{LAB}/largest_model">', f'value="{LAB}/growth">', "<option>dietmar<"):
        assert page.text.count(known) == 1
    about = f"{LAB}/kv_table"
    typed = {"about": about, "student": "dietmr", "text": 'Why "<0>"?'}
    page = bea.post("/appeals", data=fields_of_page(page) | typed)
    assert page.status_code == 422
    assert "dietmr has no mark for kv_table" in page.text
    assert f'value="{about}" selected>' in page.text
    assert f"{typed['text']}</textarea>" in html.unescape(page.text)
    no_text = typed | {"student": "dietmar", "text": " "}
    page = bea.post("/appeals", data=fields_of_page(page) | no_text)
    assert "<option selected>dietmar</option>" in page.text
    page = bea.post("/appeals", data=fields_of_page(page) | typed | {"student": "dietmar"})
    assert f"<td>dietmar</td><td>{LAB}: kv_table</td>" in page.text
    assert " selected" not in page.text


def test_a_decision_that_is_refused_keeps_its_reason_and_its_points(bea):
    asked = {"about": f"{LAB}/kv_table", "student": "annabel", "text": "Mine?"}
    page = bea.get("/appeals")
    page = bea.post("/appeals", data=fields_of_page(page) | asked)
    row = page.text.partition("kv_table</td><td>Mine?</td>")[0]
    page = bea.get(f"/appeal/{row.rpartition('/appeal/')[2].partition(chr(34))[0]}")
    typed = {"points": "9", "reason": "The <unit> is right."}
    refused = bea.post(page.url, data=fields_of_page(page) | typed)
    assert refused.status_code == 409
    assert 'name="points" inputmode="decimal" size="6" value="9">' in refused.text
    assert f"{typed['reason']}</textarea>" in html.unescape(refused.text)
    assert '✓ <strong class="passed">passed</strong>' in refused.text


def fields_of_page(page):
    """The hidden fields of the only form of a page."""

    parts = page.text.split('type="hidden" name="')[1:]
    return {part.partition('"')[0]: part.split('value="')[1].partition('"')[0] for part in parts}


def test_a_table_of_questions_is_read_once_and_its_faults_are_named(out, tmp_path):
    tables = DeskTables(out / "course" / "gradebook.db")
    appeals = Appeals(out, tables, open_store(out))
    table = tmp_path / "appeals.csv"
    table.write_text(f'lab,exercise,student,text\n{LAB},kv_table,christa,"One,\ntwo"\n')
    n_before = len(appeals.all())
    assert (appeals.read(table), appeals.read(table)) == (1, 1)
    assert len(appeals.all()) == n_before + 1
    (asked,) = [each for each in appeals.all() if each.student == "christa"]
    assert AnswerId(LAB, "check_kv_table", "christa") == appeals.state(asked)[0]
    for text, fault in {
        "lab,student\n01_memory,christa\n": "it has no exercise",
        f"lab,exercise,student,text\n{LAB},kv_table,nobody,Why?\n": "nobody has no mark",
        f"lab,exercise,student,text\n{LAB},kv_table,christa,\n": "has no text",
    }.items():
        table.write_text(text)
        with pytest.raises(Refusal, match=fault):
            appeals.read(table)


def test_the_overview_says_where_the_class_is_stuck_and_names_nobody(desk):
    with signed_in(desk[0], desk[1]["lee"]) as lee:
        page = lee.get("/")
        assert page.url.path == "/overview"
        assert "kv_table" in page.text
        assert "25 %" in page.text
        assert not [student for student in STUDENTS if student in page.text]
        for path in (answers_address(), "/appeals", f"/rubric/{LAB}/growth"):
            assert lee.get(path).status_code == 403


def test_the_overview_has_one_row_an_exercise_and_keeps_apart_who_wrote_nothing(tmp_path):
    wrong = {"cause": "the unit is left out", "claim": "The unit is `GB`."}

    def failed(student, **change):
        result = result_of(student, ("kv_table", "peaks"))
        checks = [replace(each, **change) if each.exercise == "kv_table" else each
                  for each in result.checks]  # fmt: skip
        return replace(result, checks=checks)

    record(tmp_path, [failed(f"w{i}", **wrong) for i in range(3)])
    record(tmp_path, [failed("b", status="todo", message="not written yet")])
    with served(tmp_path, "bea") as (origin, people), signed_in(origin, people["bea"]) as client:
        page = client.get("/overview").text
        assert "01_memory: 4 submissions" in page
        assert page.count("<td><code>kv_table</code><br>The unit is <code>GB</code>.</td>") == 1
        row = page.partition("<code>kv_table")[2].partition("</tr>")[0]
        assert re.findall(r"\d+ %", row) == ["0 %", "25 %"]
        row = page.partition("<code>peaks")[2].partition("</tr>")[0]
        assert re.findall(r"\d+ %", row) == ["0 %"]
        assert page.count("<tr><td>") == 2
        assert "3 students: The unit is left out. They miss: The unit is <code>GB</code>." in page


def test_an_exercise_that_nobody_wrote_is_said_to_be_so_and_is_no_mistake(tmp_path):
    unwritten = [
        replace(each, status="todo", message="not written yet", points=0.0, passed=False)
        if each.exercise == "kv_table" else each
        for each in result_of("any").checks
    ]  # fmt: skip
    record(tmp_path, [replace(result_of(f"s{i}"), checks=unwritten) for i in range(3)])
    with served(tmp_path, "bea") as (origin, people), signed_in(origin, people["bea"]) as client:
        page = client.get("/overview").text
    row = page.partition("<code>kv_table")[2].partition("</tr>")[0]
    assert re.findall(r"\d+ %", row)[-1] == "100 %"
    assert "They miss" not in page


@pytest.mark.parametrize(
    ("students", "sentence"),
    [
        (["only"], "Fewer than 3 submissions have a mark."),
        (["學生" * 20, "محمد" * 20, "n" * 80], "All exercises are passed by all students."),
    ],
)
def test_a_small_class_and_odd_names_leave_a_page_that_says_so(tmp_path, students, sentence):
    record(tmp_path, [result_of(student) for student in students])
    with served(tmp_path, "bea") as (origin, people), signed_in(origin, people["bea"]) as client:
        page = client.get("/overview").text
        assert sentence in page
        assert not [student for student in students if student in page]
        appeals = client.get("/appeals").text
        assert all(f"<option>{student}</option>" in appeals for student in students)


def test_the_overview_follows_a_grading_that_goes_on(desk, out):
    with signed_in(desk[0], desk[1]["lee"]) as lee:
        before = lee.get("/overview").text
        record(
            out, [result_of("elsa", ("largest_model",)), result_of("frieda", ("largest_model",))]
        )
        page = lee.get("/overview").text
    assert ("4 submissions" in before, "50 %" in before) == (True, False)
    assert ("6 submissions" in page, "50 %" in page) == (True, True)
