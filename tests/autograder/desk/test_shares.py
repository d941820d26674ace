"""Questions that are given to people: each sees its own slice, and all slices are the class."""

import pytest
from desk_server import answers_address, fields, made_up_class, signed_in
from desk_store import LAB

from autograder.desk.answers import Answers
from autograder.desk.shares import Shares
from autograder.desk.tables import DeskTables

N = 24
NAME = (LAB, "growth")


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    out = tmp_path_factory.mktemp("shares")
    made_up_class(out, N)
    return out


@pytest.fixture
def sheet(out):
    tables = DeskTables(out / "course" / "gradebook.db")
    return Answers(out, tables.secret()).sheet(*NAME)


@pytest.fixture
def shares(out):
    shares = Shares(DeskTables(out / "course" / "gradebook.db"))
    yield shares
    shares.give({NAME: []})


def test_slices_share_all_answers_and_keep_groups_together(sheet, shares):
    assert shares.of(sheet, "bea") == set(sheet.answers)
    shares.give({NAME: ["carl", "bea", "dan"]})
    slices = [shares.of(sheet, who) for who in ("bea", "carl", "dan")]
    assert set().union(*slices) == set(sheet.answers)
    assert sum(map(len, slices)) == N
    for group in sheet.groups.values():
        assert any(set(group.members) <= each for each in slices)
    assert shares.of(sheet, "eve") == set()


def test_people_are_shown_their_own_answers_alone(bea, desk, sheet, shares):
    form = {"csrf": fields(bea.get("/shares"), "shares")["csrf"]}
    chosen = {"/".join(NAME): ["bea", "carl", "nobody"]}
    assert bea.post("/shares", data=form | chosen).status_code == 200
    assert shares.all()[NAME] == ["bea", "carl"]
    own, seen = shares.of(sheet, "bea"), set()
    assert 0 < len(own) < N
    assert f"bea, carl: 0 of your {len(own)}" in bea.get("/").text
    page = bea.get(answers_address())
    while "/answer/" in page.url.path:
        seen.add(page.url.path[-16:])
        page = bea.post(page.url, data=fields(page) | {"points": "0.5"})
    assert seen == own
    assert f"{len(own)} of your {len(own)}" in page.text
    with signed_in(desk[0], desk[1]["carl"]) as carl:
        assert carl.get(answers_address()).url.path[-16:] in shares.of(sheet, "carl")
