"""A mark stands on the text that was read: what is handed in meanwhile is read first."""

from contextlib import closing

import pytest
from desk_server import answers_address, fields, served, signed_in
from recorded import LAB, build_notebook, by_hand, find_lab, record, result_of

from autograder.record.gradebook import CourseBook
from autograder.record.marks import marks_of

STUDENTS = ("ada", "bo", "cy")


@pytest.fixture
def out(tmp_path):
    for student in STUDENTS:
        record(tmp_path, [result_of(student)], answers={"growth": f"The text of {student} alone."})
    return tmp_path


@pytest.fixture
def bea(out):
    with served(out, "bea") as (origin, people), signed_in(origin, people["bea"]) as client:
        yield client


def marked(out):
    return {mark.student: mark.by_hand for mark in marks_of(out) if mark.by_hand}


def hand_in_anew(out, page):
    """The student of a page hands in another text; who it is."""
    (student,) = (each for each in STUDENTS if f"The text of {each} alone." in page.text)
    record(out, [result_of(student)], answers={"growth": "Another text of mine."})
    return student


def test_a_mark_for_a_text_that_was_replaced_is_refused_with_both_texts(bea, out):
    page = bea.get(answers_address())
    student = hand_in_anew(out, page)
    late = bea.post(page.url, data=fields(page) | {"points": "0.5", "comment": "Kept."})
    assert late.status_code == 409
    assert "another text after you opened this page" in late.text
    assert "Your comment was: Kept." in late.text
    now, before = (late.text.index(f"The text {when}") for when in ("now", "that you read"))
    assert now < late.text.index("Another text of mine.") < before
    assert before < late.text.index(f"The text of {student} alone.")
    assert marked(out) == {}
    bea.post(late.url, data=fields(late) | {"points": "0.5"}).raise_for_status()
    assert marked(out) == {student: 0.5}


def test_a_form_that_is_sent_again_after_a_new_text_gives_no_mark(bea, out):
    page = bea.get(answers_address())
    form = fields(page) | {"points": "0.5"}
    bea.post(page.url, data=form).raise_for_status()
    assert bea.post(page.url, data=form | {"points": "0.75"}).status_code == 409
    student = hand_in_anew(out, page)
    (mark,) = [each for each in marks_of(out) if each.student == student]
    assert (mark.by_hand, "growth" in mark.waits_for) == (0.5, True)


def test_a_group_in_which_a_text_has_changed_gets_no_common_mark(bea, out):
    page = bea.get(answers_address("training_or_generation"))
    assert "2 more in this group (left blank)" in page.text
    record(out, [result_of("bo")], answers={"training_or_generation": "It has a text now."})
    form = fields(page) | {"points": "0.25", "together": "1"}
    late = bea.post(page.url, data=form)
    assert late.status_code == 409
    assert "an answer in it has changed" in late.text or "another text" in late.text
    assert marked(out) == {}


def with_cells(out, *changes):
    """Grade ada's notebook after each change of its cells, by name, with a mark by hand between."""
    for change in changes:
        cells = build_notebook(find_lab(LAB), "student").cells
        named = {cell.metadata.get("nbgrader", {}).get("grade_id"): cell for cell in cells}
        named["growth"].source = "As the figure shows. ![plot](attachment:plot.png)"
        change(named)
        with closing(CourseBook(out / "course")) as book:
            book.record(result_of("ada"), cells, b"{}")
        if change is changes[0]:
            by_hand(out, "ada", "growth", 0.5)
    (mark,) = [each for each in marks_of(out) if each.student == "ada"]
    assert mark.by_hand == 0.5
    return "growth" in mark.waits_for


def picture(data):
    def change(named):
        named["growth"].attachments = {"plot.png": {"image/png": data}}

    return change


def code(source, name="longest_on_l40s"):
    def change(named):
        named[name].source = source

    return change


def test_a_mark_stands_on_the_picture_and_the_code_that_were_read(out):
    assert not with_cells(out, picture("aaaa"), picture("aaaa"))
    assert with_cells(out, picture("aaaa"), picture("bbbb"))
    assert with_cells(out, code("longest_on_l40s = 1"), code("longest_on_l40s = 2"))
    assert not with_cells(out, code("kv_table = 1", "kv_table"), code("kv_table = 2", "kv_table"))
