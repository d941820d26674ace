"""nbgrader's own formgrader on what we recorded: students, marks, and answers to be read."""

import pytest

from autograder.builder.source import find_lab
from autograder.cheats import sample_class
from autograder.demo import grade_class
from autograder.grade import Run

LAB = "01_memory"
STUDENTS = ("ada", "carol", "ida")


@pytest.fixture(scope="module")
def course(tmp_path_factory):
    out = tmp_path_factory.mktemp("formgrader")
    samples = [s for s in sample_class() if s.lab == LAB and s.student in STUDENTS]
    grade_class(samples, out, Run(seed=0))
    return out / "course"


@pytest.fixture(scope="module")
def address(jupyter, course):
    with jupyter(course, JUPYTER_CONFIG_DIR=str(course / "config")) as address:
        yield address


def rows(page, url):
    page.goto(url)
    page.wait_for_selector("table tbody tr", timeout=60_000)
    page.wait_for_timeout(500)
    return page.locator("table tbody tr").all_inner_texts()


def test_formgrader_shows_students_marks_and_written_answers(address, browser, screenshots):
    page = browser.new_page(viewport={"width": 1200, "height": 800})
    text = "\n".join(rows(page, f"{address}/formgrader/manage_submissions/{LAB}"))
    for student in STUDENTS:
        assert student in text
    assert "10 / 12" in text
    assert "7 / 12" in text
    assert "needs manual grading" in text
    page.screenshot(path=screenshots / "formgrader.png")
    answers = []
    for i in range(len(STUDENTS)):  # listed without names, in no particular order
        rows(page, f"{address}/formgrader/gradebook/{LAB}/{LAB}")
        page.locator("table tbody tr a.name-hidden").nth(i).click()
        page.wait_for_selector("input.score", timeout=60_000)
        answers.append(page.content())
        assert page.locator("input.score").count() == len(find_lab(LAB).marked) + 2
    assert sum("Marking: a third for linear" in text for text in answers) == 2
    page.screenshot(path=screenshots / "formgrader_answer.png")
    page.close()
