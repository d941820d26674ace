"""The desk's pages: who may see them, what a form does, and what hostile requests do not."""

import json
import re

import httpx
import pytest
from desk_server import answers_address, fields, items, made_up_class, signed_in
from desk_store import LAB, is_harmless
from recorded import record, result_of, without_mark

from autograder.desk.answers import Answers
from autograder.desk.tables import DeskTables
from autograder.record.marks import marks_of

N = 15


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    out = tmp_path_factory.mktemp("desk")
    made_up_class(out, N)
    record(out, [without_mark("student_x")])
    return out


def names_of(out):
    answers = Answers(out, DeskTables(out / "course" / "gradebook.db").secret())
    return list(answers.sheet(LAB, "growth").answers)


def test_nobody_comes_in_without_a_token_and_other_hosts_are_refused(desk):
    origin = desk[0]
    with httpx.Client(base_url=origin, trust_env=False) as client:
        assert client.get("/").status_code == 403
        assert client.get("/?token=wrong").status_code == 403
        assert client.get(answers_address()).status_code == 403
        assert client.get("/", headers={"host": "evil.example:80"}).status_code == 403
        assert client.get("/", headers={"cookie": b"\xff=[; x=y"}).status_code == 403


def test_a_token_leaves_the_address_and_comes_back_as_a_cookie_only(desk):
    origin, people = desk
    with httpx.Client(base_url=origin, trust_env=False) as client:
        answer = client.get(f"/?token={people['bea'].token}")
    assert (answer.status_code, answer.headers["location"]) == (303, "/")
    assert {"HttpOnly", "SameSite=lax"} <= set(answer.headers["set-cookie"].split("; "))


def test_a_mark_is_given_and_the_next_answer_comes(bea, out):
    page = bea.get(answers_address())
    assert "script-src 'self'" in page.headers["content-security-policy"]
    first, second = items(page)[:2]
    after = bea.post(page.url, data=fields(page) | {"item": [first, second], "comment": "Good."})
    assert after.status_code == 200
    assert after.url != page.url
    given = [mark for mark in marks_of(out) if mark.by_hand]
    assert [(mark.by_hand, mark.hand[0].comment) for mark in given] == [(0.5, "Good.")]
    undone = bea.post("/undo", data=fields(after, "undo"))
    assert undone.url == page.url
    assert [mark for mark in marks_of(out) if mark.by_hand] == []


def test_a_form_without_its_secret_or_of_another_site_or_of_a_reader_is_refused(bea, desk):
    page = bea.get(answers_address())
    form = fields(page) | {"points": "1"}
    assert bea.post(page.url, data=form | {"csrf": "x"}).status_code == 403
    assert bea.post(page.url, data=form, headers={"origin": "http://x.org"}).status_code == 403
    assert bea.post(page.url, data=form | {"comment": "x" * 200_000}).status_code == 413
    with signed_in(desk[0], desk[1]["lee"]) as lee:
        own = {"csrf": desk[1]["lee"].csrf}
        assert lee.post(page.url, data=form | own).status_code == 403


def test_two_people_with_one_answer_open_are_told_and_neither_mark_is_lost(desk, bea):
    with signed_in(desk[0], desk[1]["carl"]) as carl:
        page = bea.get(answers_address())
        assert carl.get(answers_address()).url != page.url
        same = carl.get(page.url)
        assert "bea has this answer open, too." in same.text
        assert bea.post(page.url, data=fields(page) | {"points": "0.75"}).status_code == 200
        late = carl.post(page.url, data=fields(same) | {"points": "0.25", "comment": "<b>Mine"})
    assert late.status_code == 409
    assert "bea changed this answer at" in late.text
    assert "it has 0.75 points now" in late.text
    assert "Your comment was: &lt;b&gt;Mine" in late.text


def test_a_link_of_another_person_asks_before_it_replaces_the_login(desk):
    people = desk[1]
    with signed_in(desk[0], people["bea"]) as client:
        asked = client.get("/", params={"token": people["carl"].token})
        assert "signed in as bea" in asked.text
        assert 'You mark as <strong dir="auto">bea</strong>' in client.get("/").text
        address = f"/?token={people['carl'].token}"
        assert client.post(address, data={"csrf": "x"}).status_code == 403
        client.post(address, data={"csrf": people["bea"].csrf})
        assert 'You mark as <strong dir="auto">carl</strong>' in client.get("/").text
    with signed_in(desk[0], people["lee"]) as reader:
        assert 'You read as <strong dir="auto">lee</strong>' in reader.get("/overview").text


@pytest.mark.parametrize("points", ["", "2", "-1", "nan", "1e9", "x", "\0"])
def test_a_form_that_gives_nothing_or_too_much_is_refused_with_a_sentence(bea, points):
    page = bea.get(answers_address())
    refused = bea.post(page.url, data=fields(page) | {"points": points, "comment": "Kept."})
    assert refused.status_code == 422
    assert "Kept.</textarea>" in refused.text
    assert 'role="alert"' in refused.text


@pytest.mark.parametrize(
    "path",
    [
        "/answer/01_memory/growth/..%2f..%2fseed", "/answer/..%2f..%2f/growth/x",
        "/static/..%2fserver.py", "/static/%2e%2e/server.py", "/next/01_memory/nothing",
        "/next/02_throughput/reflection", "/rubric/x/y",
    ],
)  # fmt: skip
def test_no_path_of_a_request_reaches_the_disk(bea, path):
    assert bea.get(path).status_code == 404


def test_no_page_names_a_student(bea):
    page = bea.get(answers_address())
    for text in (bea.get("/").text, page.text, str(page.url)):
        assert "student0" not in text


def test_a_file_that_could_not_be_read_is_reported_and_no_blank_answer(bea):
    assert f"of {N}</td>" in (home := bea.get("/").text)
    assert '1 file could not be read. Mark it <a href="/failed">by hand</a>.' in home


def test_a_group_is_marked_together_and_what_was_split_off_is_not(bea, out):
    page = bea.get(answers_address("training_or_generation"))
    assert f"{N - 1} more in this group (left blank)" in page.text
    split = bea.post(str(page.url).replace("/answer/", "/split/"), data=fields(page, "split"))
    assert "Put back into its group" in split.text
    assert "more in this group" not in split.text
    after = bea.get(f"{answers_address('training_or_generation')}?after={page.url.path[-16:]}")
    bea.post(after.url, data=fields(after) | {"points": "0", "together": "1"})
    marks = [mark for mark in marks_of(out) if mark.by_checks is not None]
    read = [mark for mark in marks if "training_or_generation" not in mark.waits_for]
    assert len(read) == N - 1


def test_new_points_of_an_item_are_shown_before_they_are_given(bea):
    page = bea.get(answers_address())
    item = items(page)[0]
    bea.post(page.url, data=fields(page) | {"item": item})
    address = f"/item/{LAB}/growth/{item}"
    csrf = {"csrf": fields(page)["csrf"]}
    plan = bea.post(address, data=csrf | {"points": "0.5"})
    assert "1 answer changes." in plan.text
    assert "0.25 → 0.5 points" in plan.text
    form = dict(re.findall(r'name="(\w+)" value="([^"]*)"', plan.text))
    stale = bea.post(address, data=form | {"n_seen": "7"})
    assert stale.status_code == 409
    assert bea.post(address, data=form).url.path == f"/rubric/{LAB}/growth"
    assert "0.5 of 1" in bea.get(page.url).text


def test_tables_and_figures_of_the_students_notebook_are_shown_and_run_nothing(bea, out):
    def cell(*outputs):
        return {"metadata": {"labkit": {"kind": "experiment", "name": "<i>x"}}, "outputs": outputs}

    cells = [
        cell({"data": {"text/plain": ["12 ", "ms"], "text/html": "<script>1</script>"}}, 7),
        cell({"data": {"image/png": "iVBORw0KGgo=\n"}}, {"text": "<b>log"}, {"data": 3}),
        cell({"data": {"image/png": '"onerror="1'}}), None, {"outputs": [1]},
    ]  # fmt: skip
    content = json.dumps({"cells": cells}).encode()
    record(out, [result_of("student000")], answers={"growth": "With a figure."}, submitted=content)
    page = bea.get(f"{answers_address()}")
    pages = [bea.get(f"/outputs/{name}").text for name in names_of(out)]
    (shown,) = [each for each in pages if "12 ms" in each]
    assert 'src="data:image/png;base64,iVBORw0KGgo="' in shown
    assert "&lt;b&gt;log" in shown
    assert is_harmless(shown.partition("checked them.")[2].partition("</main>")[0])
    assert 'href="/outputs/' in page.text
    assert bea.get("/outputs/nobody").status_code == 404
