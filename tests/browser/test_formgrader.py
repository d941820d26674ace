"""nbgrader's own formgrader on what we recorded: students, marks, and answers to be read."""

import csv
import subprocess
import sys

import pytest
from desk_server import fields, served, signed_in
from nbgrader.api import Gradebook

from autograder.builder.source import find_lab
from autograder.desk.answers import Answers
from autograder.desk.tables import DeskTables
from autograder.exports import ExportOrder, export
from autograder.grading.grade import GradingSettings, grade
from autograder.grading.regrade import plan_regrade
from tests.sample_class import samples_of
from tests.sample_class.demo import grade_class

LAB = "01_memory"
STUDENTS = ("ada", "carol", "ida")


@pytest.fixture(scope="module")
def course(warm_slots, tmp_path_factory):
    out = tmp_path_factory.mktemp("formgrader")
    grade_class(samples_of(LAB, STUDENTS), out, GradingSettings(seed=0))
    return out / "course"


@pytest.fixture(scope="module")
def address(jupyter, course):
    with jupyter(course, JUPYTER_CONFIG_DIR=str(course / "config")) as address:
        yield address


def rows(page, url):
    page.goto(url)
    page.wait_for_selector("table tbody tr", timeout=60_000)
    page.wait_for_function("!document.body.innerText.includes('Loading, please wait')")
    return page.locator("table tbody tr").all_inner_texts()


def test_formgrader_shows_students_marks_and_written_answers(address, browser, shoot):
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    text = "\n".join(rows(page, f"{address}/formgrader/manage_submissions/{LAB}"))
    for student in STUDENTS:
        assert student in text
    assert "8.5 / 10" in text
    assert "7 / 10" in text
    assert "needs manual grading" in text
    shoot(page, "formgrader.png")
    answers = []
    for i in range(len(STUDENTS)):  # listed without names, in no particular order
        rows(page, f"{address}/formgrader/gradebook/{LAB}/{LAB}")
        page.locator("table tbody tr a.name-hidden").nth(i).click()
        page.wait_for_selector("input.score", timeout=60_000)
        answers.append(page.content())
        assert page.locator("input.score").count() == len(find_lab(LAB).marked) + 2
    assert sum("linear in batch size and in length" in text for text in answers) == 2
    shoot(page, "formgrader_answer.png")
    page.close()


def test_an_answer_is_marked_by_keyboard_without_the_internet(address, browser):
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    outside, errors = [], []
    page.on("request", lambda asked: outside.append(asked.url))
    page.on("pageerror", lambda error: errors.append(str(error)))
    rows(page, f"{address}/formgrader/gradebook/{LAB}/{LAB}")
    page.locator("table tbody tr a.name-hidden").first.click()
    page.wait_for_selector("input.score", timeout=60_000)
    page.wait_for_function("window.MathJax && window.MathJax.loaded")
    assert [url for url in outside if not url.startswith((address, "data:"))] == []
    assert errors == []
    edges = page.evaluate("[...document.images].map(each => each.getBoundingClientRect().right)")
    assert edges
    assert max(edges) <= 1200
    first = page.url
    page.keyboard.press("Control+.")
    page.wait_for_url(lambda url: url.partition("?")[0] != first.partition("?")[0])
    page.close()


def exported(course):
    """The marks that a TA gets for a spreadsheet, by name, and what is told beside them."""
    path = course.parent / "export.csv"
    notes = export(course.parent, ExportOrder("csv"), path)
    with path.open(encoding="utf-8-sig", newline="") as file:
        return {row["name"]: row[f"{LAB} (10)"] for row in csv.DictReader(file)}, "\n".join(notes)


def type_marks(page, address, course, student, marks):
    """Give marks and a comment in formgrader as a person does."""
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}", "labkit") as book:
        submission = book.find_submission_notebook(LAB, LAB, student).id
    page.goto(f"{address}/formgrader/submissions/{submission}/")
    for name, points in marks.items():
        page.wait_for_selector(f"input.score#{name}.needs_manual_grade", timeout=60_000)
        with page.expect_response("**/api/grade/**"):
            page.fill(f"input.score#{name}", points)
            page.press(f"input.score#{name}", "Tab")
    with page.expect_response("**/api/comment/**"):
        page.fill(f"textarea#{name}-comment", "Say what the unknown is.")
        page.press(f"textarea#{name}-comment", "Tab")
    page.locator(f"textarea#{name}-comment").scroll_into_view_if_needed()
    page.wait_for_timeout(500)  # else the picture below is taken before it is painted


def test_a_mark_typed_in_formgrader_is_exported_and_outlives_regrading(
    address, browser, course, shoot
):
    marks, told = exported(course)
    assert marks["ada"] == ""
    assert "to read growth, training_or_generation" in told
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    type_marks(page, address, course, "ada", {"growth": "0.75", "training_or_generation": "0.5"})
    shoot(page, "formgrader_marked.png")
    page.close()
    assert exported(course)[0]["ada"] == "9.75"
    out, memory = course.parent, find_lab(LAB)
    plan_regrade(memory, out / "submissions", out, "kv_table", GradingSettings()).write()
    assert exported(course)[0]["ada"] == "9.75"
    grade(memory, out / "submissions", out, GradingSettings(seed=1))
    assert exported(course)[0]["ada"] == "9.75"
    feedback = (out / "feedback" / LAB / "ada.html").read_text(encoding="utf-8")
    assert "Say what the unknown is." in feedback


def mark_at_desk(out, student, marks):
    """Give points and a comment on the desk's pages, as a person does."""
    answers = Answers(out, DeskTables(out / "course" / "gradebook.db").secret())
    most = {cell.name: cell.points for cell in find_lab(LAB).cells}
    with served(out, "bea") as (origin, people), signed_in(origin, people["bea"]) as bea:
        for question, points in marks.items():
            own = answers.sheet(LAB, question).answers.values()
            (name,) = [each.id for each in own if each.key.student == student]
            page = bea.get(f"/answer/{LAB}/{question}/{name}")
            bea.post(page.url, data=fields(page) | {"points": points, "comment": "Well said."})
            assert f"{points} of {most[question]:g}" in bea.get(page.url).text


def test_a_mark_of_the_desk_agrees_in_formgrader_and_in_every_export(address, browser, course):
    marks = {"growth": "0.75", "training_or_generation": "0.25"}
    mark_at_desk(course.parent, "carol", marks)
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    with Gradebook(f"sqlite:///{course / 'gradebook.db'}", "labkit") as book:
        submission = book.find_submission_notebook(LAB, LAB, "carol").id
    page.goto(f"{address}/formgrader/submissions/{submission}/")
    for name, points in marks.items():
        page.wait_for_selector(f"input.score#{name}", timeout=60_000)
        for box, value in ((name, points), (f"{name}-comment", "Well said.")):  # two requests
            wanted = "([id, value]) => document.getElementById(id).value === value"
            page.wait_for_function(wanted, arg=[box, value])
    page.close()
    command = [sys.executable, "-m", "nbgrader", "export", "--to", "nbgrader.csv"]
    subprocess.run(command, cwd=course, check=True, capture_output=True)
    with (course / "nbgrader.csv").open(newline="") as file:
        (row,) = [row for row in csv.DictReader(file) if row["student_id"] == "carol"]
    assert row["score"] == "8.0"
    assert exported(course)[0]["carol"] == "8"


def test_names_come_from_the_roster(address, browser, course):
    roster = course.parent / "class.csv"
    roster.write_text('Name,ID\n"Adler, Ada",ada\nCarol Chen,carol\n', encoding="utf-8")
    grade(
        find_lab(LAB),
        course.parent / "submissions",
        course.parent,
        GradingSettings(seed=0, roster=roster),
    )
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    shown = "\n".join(rows(page, f"{address}/formgrader/manage_submissions/{LAB}"))
    assert "Adler, Ada" in shown
    assert "Chen, Carol" in shown
    assert "None, None" in shown  # ida is not on the roster
    page.close()
