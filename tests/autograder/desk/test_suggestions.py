"""What a judge model suggests: with a sentence of the answer, without names, and never a mark."""

import json

import pytest
from desk_server import answers_address, signed_in
from desk_store import LAB, open_store
from judge_server import fails, judge_server, judges, says
from recorded import record, result_of
from typer.testing import CliRunner

from autograder.builder.source import find_lab
from autograder.cli import app
from autograder.desk.rubric import questions_of
from autograder.desk.states import AnswerId, CurrentItem, State
from autograder.desk.suggestions import read_reply, without_names
from autograder.record.gradebook import name_students

TEXT = "The cache is linear in the batch. I asked Ada Adler and Bo (bo@x.org). It holds 8 tokens."
ITEMS = [
    CurrentItem(7, "Linear.", 0.5),
    CurrentItem(8, "Many.", 0.5, "how"),
    CurrentItem(9, "Few.", 0.25, "how"),
]
QUOTE = "The cache is linear in the batch."


@pytest.fixture(scope="module")
def out(tmp_path_factory):
    out = tmp_path_factory.mktemp("suggestions")
    record(out, [result_of(name) for name in ("ada", "bo")], answers={"growth": TEXT})
    record(out, [result_of("cy")])
    name_students(out / "course", {"ada": ("Ada", "Adler"), "bo": ("Bo", "Brandt")})
    return out


@pytest.fixture
def server():
    with judge_server() as server:
        server.then = judges(lambda asked: f'[{{"item": 1, "quote": "{QUOTE}"}}]')
        yield server


def suggest(out, server, *more, answer="y\n"):
    where = ["--judge", server.url, "--judge-model", "m", "--judge-price", "1", "2"]
    return CliRunner().invoke(app, ["suggest", str(out), LAB, *where, *more], input=answer)


@pytest.mark.parametrize(
    ("reply", "found"),
    [
        ([{"item": 1, "quote": QUOTE}], {7: QUOTE}),
        ([{"item": 1, "quote": "The cache  is\nlinear"}], {7: "The cache is linear"}),
        ([{"item": 1, "quote": "It is quadratic."}], {}),
        ([{"item": 1, "quote": "."}, {"item": 4, "quote": QUOTE}, 5, {"item": "1"}], {}),
        ([{"item": 2, "quote": QUOTE}, {"item": 3, "quote": QUOTE}], {8: QUOTE}),
        ({"item": 1}, None),
    ],
)
def test_of_a_reply_only_items_with_a_sentence_of_the_answer_count(reply, found):
    assert read_reply(f"<think>[1]</think> So: {json.dumps(reply)}", ITEMS, TEXT) == found
    assert read_reply("none", ITEMS, TEXT) is None
    assert read_reply("[" * 100_000 + "]", ITEMS, TEXT) is None


def test_names_and_addresses_are_taken_out_and_words_stay():
    names = [("ada", "Ada Adler"), ("bo", "Bo Cache")]
    text = without_names(TEXT, "ada", names)
    assert text == TEXT.replace("Ada Adler", "[name]").replace("bo@x.org", "[address]").replace(
        "Bo ", "[name] "
    )
    assert "Adler" not in without_names("adler, Bo Cache", "ada", names)
    assert without_names("The cache of Adler", "bo", names) == "The [name] of Adler"


def test_the_cost_is_told_first_and_without_a_yes_nobody_is_asked(out, server):
    done = suggest(out, server, answer="n\n")
    assert "1 questions to the judge" in done.output
    assert "about $" in done.output or "under $0.01" in done.output
    assert done.exit_code == 1
    assert server.requests == []


def test_where_nobody_can_say_yes_a_sentence_says_how_to_accept_the_cost(out, server):
    done = suggest(out, server, answer="")
    assert done.exit_code == 2
    assert "has no terminal: --yes accepts the cost" in done.stderr
    assert "Aborted" not in done.output
    assert server.requests == []


def test_a_person_sees_the_suggestion_with_its_sentence_and_no_mark_is_given(out, server, desk):
    server.plan = [says("I cannot say."), fails(500)]
    done = suggest(out, server)
    assert done.exit_code == 0, done.output
    assert "Texts with suggestions: 1; without a clear reply: 0." in done.output
    sent = json.dumps([each["body"] for each in server.requests])
    assert "linear in the batch" in sent
    for name in ("Ada", "Adler", "bo@x.org", '"ada"'):
        assert name not in sent
    store = open_store(out, questions_of(find_lab(LAB)))
    assert set(store.states(LAB, "growth").values()) == {State()}
    with signed_in(desk[0], desk[1]["bea"]) as bea:
        page = bea.get(answers_address())
        if "Suggested" not in page.text:  # the blank answer comes first
            page = bea.get(f"{answers_address()}?after={page.url.path[-16:]}")
        assert f"Suggested: “{QUOTE}”" in page.text
        assert "m suggests 1 item." in page.text
        assert " checked" not in page.text.partition('name="item"')[2].partition("</fieldset>")[0]
    assert "has no written answer that m has not read" in suggest(out, server).output


def test_the_first_page_says_for_how_many_items_judge_and_people_chose_alike(out, server, desk):
    suggest(out, server)
    store = open_store(out, questions_of(find_lab(LAB)))
    first, second = store.items(LAB, "growth")[:2]
    by_hand = {"ada": (first.id,), "bo": (first.id, second.id)}
    for key, chosen in by_hand.items():
        given = {AnswerId(LAB, "growth", key): State(0.5, "", chosen, False)}
        store.give(given, "bea", f"r-{key}", {})
    with signed_in(desk[0], desk[1]["bea"]) as bea:
        page = bea.get("/").text
    assert page.count("The judge chose as people did for 7 of 8 items.") == 1
    assert page.count("The judge chose") == 1


def test_a_judge_that_fails_is_named_and_what_it_said_is_kept(tmp_path, server):
    record(tmp_path, [result_of("ada")], answers={"growth": TEXT})
    server.then = fails(401)
    done = suggest(tmp_path, server)
    assert done.exit_code == 2, done.output
    assert "the key is missing or wrong" in done.output


def test_a_key_that_is_not_set_is_said_before_anything_is_asked(out, server):
    n_asked = len(server.requests)
    done = suggest(out, server, "--judge-key-env", "NO_SUCH_KEY")
    assert done.exit_code == 2
    assert "the environment variable NO_SUCH_KEY is not set" in done.output
    assert len(server.requests) == n_asked
