"""Marks by hand where the autograding failed, beside the whole notebook, without a name."""

import html
import json
import re
from dataclasses import replace

import pytest
from desk_server import answers_address, fields, served, signed_in
from desk_store import HOSTILE, LAB, is_harmless
from instances import some_of
from recorded import find_lab, record, result_of, without_mark

from autograder.desk.answers import Answers
from autograder.desk.tables import DeskTables
from autograder.record.marks import marks_of

PARTS = [cell.name for cell in find_lab(LAB).cells if cell.points]
UNDECIDED = "longest_sequence"


def notebook(*sources):
    cells = [{"cell_type": "code", "source": source, "outputs": []} for source in sources]
    return json.dumps({"cells": cells, "nbformat": 4}).encode()


def undecided(student):
    result = result_of(student)
    checks = [
        replace(each, status="undecided", passed=False) if each.exercise == UNDECIDED else each
        for each in result.checks
    ]
    return replace(result, checks=checks, status="partly", problem="the time was over")


@pytest.fixture
def out(tmp_path):
    record(tmp_path, [without_mark("ada_lovelace")], submitted=notebook("x = 'by ada_lovelace'"))
    record(tmp_path, [undecided("bo")], submitted=notebook("def longest_sequence(): ..."))
    record(tmp_path, [result_of("cy")], answers={"growth": "Twice."}, submitted=notebook("y = 7"))
    return tmp_path


@pytest.fixture
def served_out(out):
    with served(out, "bea", "carl", readers=["lee"]) as (origin, people):
        yield origin, people


@pytest.fixture
def bea(served_out):
    with signed_in(served_out[0], served_out[1]["bea"]) as client:
        yield client


def address(out, student):
    answers = Answers(out, DeskTables(out / "course" / "gradebook.db").secret())
    return f"/notebook/{answers.submission_id(LAB, student)}"


def mark_of(out, student):
    return next(mark for mark in marks_of(out) if mark.student == student)


def hidden(page):
    form = page.text.partition('id="hand"')[2].partition("</form>")[0]
    return dict(re.findall(r'type="hidden" name="([\w-]+)" value="([^"]*)"', form))


def test_a_file_that_could_not_be_graded_is_marked_part_by_part_and_undone(bea, out):
    assert "2 submissions need marks by hand" in bea.get("/").text
    rows = bea.get("/failed").text
    assert f'href="{address(out, "ada_lovelace")}"' in rows
    assert address(out, "cy") not in rows
    page = bea.get(address(out, "ada_lovelace"))
    assert [name for name in PARTS if f'name="points-{name}"' in page.text] == PARTS
    assert "x = &#39;by [student]&#39;" in page.text
    assert "ada_lovelace" not in page.text + rows + str(page.url)
    points = {f"points-{name}": "0.25" for name in PARTS}
    done = bea.post(page.url, data=hidden(page) | points | {"comment-growth": "Read by hand."})
    assert str(done.url.path) == address(out, "bo")  # the next one that waits
    mark = mark_of(out, "ada_lovelace")
    assert (mark.total, mark.waits_for) == (0.25 * len(PARTS), ())
    assert [each.comment for each in mark.hand if each.comment] == ["Read by hand."]
    assert "has 0.25" in bea.get(page.url).text
    undone = bea.post("/undo", data=fields(bea.get(answers_address()), "undo"))
    assert undone.url.path == address(out, "ada_lovelace")
    assert mark_of(out, "ada_lovelace").total is None


def test_a_part_that_is_left_empty_still_waits(bea, out):
    page = bea.get(address(out, "ada_lovelace"))
    done = bea.post(page.url, data=hidden(page) | {"points-growth": "1"})
    assert done.url.path == page.url.path
    mark = mark_of(out, "ada_lovelace")
    assert (mark.total, mark.by_hand, len(mark.waits_for)) == (None, 1.0, len(PARTS) - 1)


def test_what_no_check_decided_is_one_part_and_the_rest_keeps_its_points(bea, out):
    page = bea.get(address(out, "bo"))
    assert [name for name in PARTS if f'name="points-{name}"' in page.text] == [UNDECIDED]
    assert "The time was over." in page.text
    bea.post(page.url, data=hidden(page) | {f"points-{UNDECIDED}": "0,5"}).raise_for_status()
    mark = mark_of(out, "bo")
    assert (mark.by_hand, UNDECIDED in mark.waits_for) == (0.5, False)
    rest = [each.points for each in undecided("bo").checks if each.exercise != UNDECIDED]
    assert mark.by_checks == pytest.approx(sum(rest))
    assert f'{address(out, "bo")}">' in bea.get("/failed").text
    assert "all marked" in bea.get("/failed").text


def test_a_notebook_that_was_graded_is_shown_and_asks_for_nothing(bea, out):
    page = bea.get(answers_address())
    link = html.unescape(re.search(r'id="whole" href="([^"]*)"', page.text)[1])
    shown = bea.get(link)
    assert "y = 7" in shown.text + bea.get(address(out, "cy")).text
    assert 'id="hand"' not in bea.get(address(out, "cy")).text
    assert f'id="back" href="{page.url.path}"' in shown.text
    form = {"csrf": fields(page)["csrf"], "request": "r", "points-growth": "1", "seen-growth": ""}
    assert bea.post(address(out, "cy"), data=form).status_code == 422
    assert mark_of(out, "cy").by_hand == 0


@pytest.mark.parametrize(
    ("points", "sentence"),
    [("", "at least one part"), ("99", "at most."), ("-1", "from 0 on"), ("nan", "from 0 on")],
)
def test_what_cannot_be_given_is_refused_and_what_was_typed_stays(bea, out, points, sentence):
    page = bea.get(address(out, "ada_lovelace"))
    typed = {"points-n_params": points, "comment-growth": "Kept."}
    refused = bea.post(page.url, data=hidden(page) | typed)
    assert refused.status_code == 422
    assert sentence in refused.text
    assert "Kept.</textarea>" in refused.text
    field = refused.text.partition('id="points-n_params"')[2].partition(">")[0]
    assert f'value="{points}"' in field
    assert mark_of(out, "ada_lovelace").by_hand == 0


def test_an_undecided_exercise_is_read_again_if_code_that_it_may_call_changed(bea, out):
    code = "def longest_sequence(): return room()"
    page = bea.get(address(out, "bo"))
    record(out, [undecided("bo")], submitted=notebook(code, "def room(): return 1"))
    late = bea.post(page.url, data=hidden(page) | {f"points-{UNDECIDED}": "0.5"})
    assert late.status_code == 409 and "another text" in late.text
    bea.post(page.url, data=hidden(late) | {f"points-{UNDECIDED}": "0.5"}).raise_for_status()
    assert f"check_{UNDECIDED}" not in mark_of(out, "bo").waits_for
    record(out, [undecided("bo")], submitted=notebook(code, "def room(): return 1"))
    assert f"check_{UNDECIDED}" not in mark_of(out, "bo").waits_for
    record(out, [undecided("bo")], submitted=notebook(code, "def room(): return 2"))
    assert f"check_{UNDECIDED}" in mark_of(out, "bo").waits_for


def test_a_file_or_a_mark_that_changed_meanwhile_is_read_first(bea, out, served_out):
    page = bea.get(address(out, "ada_lovelace"))
    record(out, [without_mark("ada_lovelace")], submitted=notebook("x = 'another file'"))
    form = hidden(page) | {"points-growth": "0.5"}
    late = bea.post(page.url, data=form)
    assert late.status_code == 409
    assert "another text after you opened this page" in late.text
    assert "another file" in late.text
    assert 'value="0.5"' in late.text
    with signed_in(served_out[0], served_out[1]["carl"]) as carl:
        other = carl.get(page.url)
        assert "bea has this notebook open, too." in other.text
        carl.post(page.url, data=hidden(other) | {"points-growth": "0.25"}).raise_for_status()
    late = bea.post(page.url, data=hidden(late) | {"points-growth": "0.5"})
    assert late.status_code == 409
    assert "carl changed this answer at" in late.text
    assert mark_of(out, "ada_lovelace").by_hand == 0.25
    sent = hidden(late) | {"points-growth": "0.75"}
    for _ in range(2):  # one form that is sent twice counts once
        assert bea.post(page.url, data=sent).status_code == 200
    assert mark_of(out, "ada_lovelace").by_hand == 0.75


def test_it_was_graded_after_all_and_the_form_gives_nothing(bea, out):
    page = bea.get(address(out, "ada_lovelace"))
    record(out, [result_of("ada_lovelace")])
    assert bea.post(page.url, data=hidden(page) | {"points-growth": "1"}).status_code == 422
    assert mark_of(out, "ada_lovelace").by_hand == 0


@pytest.mark.parametrize("name", some_of(HOSTILE, "html", "links", "right to left", "null"))
def test_a_hostile_notebook_runs_and_loads_nothing(bea, out, name):
    text = HOSTILE[name]
    outputs = [{"data": {"text/html": text, "text/plain": [text]}}, {"text": text}, {"data": 3},
               {"data": {"image/png": text}}, 7]  # fmt: skip
    prose = {"cell_type": "markdown", "source": text, "attachments": {text: {"image/png": text}}}
    code = {"cell_type": "code", "source": [text], "outputs": outputs, "id": text}
    cells = [prose, code, None]
    record(out, [without_mark("di")], submitted=json.dumps({"cells": cells}).encode())
    shown = bea.get(address(out, "di")).text
    shown = re.sub(r' id="cell-[^"]*"| dir="auto"', "", shown)
    assert is_harmless(shown.partition("checked them.")[2].partition("</main>")[0])


def test_of_two_scripts_that_were_handed_in_each_is_read_and_marked_alone(bea, out):
    script = without_mark("ada_lovelace", file_name="lab.py")
    record(out, [script], submitted=b"x = 'the first script'")
    page = bea.get(address(out, "ada_lovelace"))
    assert "the first script" in page.text
    record(out, [script], submitted=b"x = 'the second script'")
    form = hidden(page) | {"points-growth": "0.5"}
    late = bea.post(page.url, data=form)
    assert (late.status_code, "the second script" in late.text) == (409, True)
    bea.post(page.url, data=hidden(late) | {"points-growth": "0.5"}).raise_for_status()
    for content, waits in ((b"x = 'the second script'", False), (b"x = 3", True)):
        record(out, [script], submitted=content)
        assert ("growth" in mark_of(out, "ada_lovelace").waits_for) is waits
    record(out, [without_mark("ada_lovelace")], submitted=notebook("x = 'by ada_lovelace'"))
    assert "by [student]" in bea.get(address(out, "ada_lovelace")).text


@pytest.mark.parametrize(
    ("content", "sentence"),
    [(b"", "The file is empty"), (b"\0\0\0", "file is not text"), (b"{", "<pre>{</pre>")],
)
def test_what_is_no_notebook_is_shown_as_text_with_the_reason(bea, out, content, sentence):
    record(out, [without_mark("eve")], submitted=content)
    page = bea.get(address(out, "eve"))
    assert page.status_code == 200
    assert sentence in page.text


def test_a_long_notebook_is_cut_with_a_sentence(bea, out):
    record(out, [without_mark("eve")], submitted=notebook(*map(str, range(500))))
    assert "100 more cells are not shown." in bea.get(address(out, "eve")).text


def test_readers_and_unknown_names_see_none_of_it(bea, out, served_out):
    with signed_in(served_out[0], served_out[1]["lee"]) as lee:
        assert lee.get("/failed").status_code == 403
        assert lee.get(address(out, "cy")).status_code == 403
    assert bea.get("/notebook/0123456789abcdef").status_code == 404
    assert bea.get("/notebook/..%2f..%2fseed").status_code == 404


def test_of_a_class_that_was_graded_whole_the_page_says_so(tmp_path):
    record(tmp_path, [result_of("one")])
    with served(tmp_path, "bea") as (origin, people), signed_in(origin, people["bea"]) as client:
        assert "need marks by hand" not in client.get("/").text
        assert "Every submission was judged." in client.get("/failed").text
