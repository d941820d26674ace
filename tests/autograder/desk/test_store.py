"""Marks of the desk: in nbgrader's tables, once each, with their history."""

import csv
import html
import os
import random
import signal
import subprocess
import sys
import time
from dataclasses import replace

import desk_store
import pytest
from desk_store import KEYS, LAB, STUDENTS
from nbgrader.api import Gradebook
from nbgrader.plugins import CsvExportPlugin
from recorded import by_hand, record, result_of
from typer.testing import CliRunner

from autograder.builder.source import find_lab
from autograder.cli import app
from autograder.desk.acts import ConflictError, NewTextError
from autograder.desk.rubric import questions_of
from autograder.desk.states import AnswerId, State
from autograder.errors import Refusal
from autograder.exports import ExportOrder, export
from autograder.places import REPOSITORY
from autograder.record.marks import marks_of

ADA, BO = KEYS[:2]
N_KILLS = 12


def open_store(out):
    return desk_store.open_store(out, questions_of(find_lab(LAB)))


@pytest.fixture
def out(tmp_path):
    record(tmp_path, [result_of(student) for student in STUDENTS])
    return tmp_path


@pytest.fixture
def store(out):
    return open_store(out)


def seen_of(store, key, text=""):
    return {key: store.states(key.lab, key.question)[key.student].seen_with(text)}


def give(store, key, points, *items, who="bea", request=None, comment="", see=True):
    seen = seen_of(store, key) if see is True else see
    state = State(points, comment, items, False)
    return store.give({key: state}, who, request or f"{who}-{time.monotonic_ns()}", seen)


def test_a_mark_agrees_in_the_desk_in_nbgrader_and_in_the_exports(out, store):
    for question in ("growth", "training_or_generation"):
        give(store, AnswerId(LAB, question, "ada"), 0.75, comment="Why quadratic?")
    with Gradebook(f"sqlite:///{out / 'course' / 'gradebook.db'}", "labkit") as book:
        grade = book.find_grade("growth", LAB, LAB, "ada")
        assert (grade.score, grade.needs_manual_grade) == (0.75, False)
        assert book.find_comment("growth", LAB, LAB, "ada").comment == "Why quadratic?"
        assert book.find_submission(LAB, "ada").score == pytest.approx(11.5)
        exporter = CsvExportPlugin(to=str(out / "nbgrader.csv"))
        exporter.export(book)
    table = csv.DictReader((out / "nbgrader.csv").read_text().splitlines())
    (row,) = [row for row in table if row["student_id"] == "ada"]
    assert (float(row["score"]), float(row["max_score"])) == (11.5, 12)
    assert {mark.student: mark.total for mark in marks_of(out)}["ada"] == 11.5
    export(out, ExportOrder("csv"), out / "marks-out.csv")
    assert "11.5" in (out / "marks-out.csv").read_text(encoding="utf-8-sig")


def test_a_mark_that_formgrader_gave_is_seen_and_not_overwritten_unseen(out, store):
    seen = seen_of(store, ADA)
    by_hand(out, "ada", "growth", 0.5, comment="From formgrader.")
    state = store.states(LAB, "growth")["ada"]
    assert (state.points, state.comment, state.waits) == (0.5, "From formgrader.", False)
    with pytest.raises(ConflictError, match="Somebody changed this answer in formgrader"):
        give(store, ADA, 1.0, see=seen)
    assert store.states(LAB, "growth")["ada"].points == 0.5


def test_two_people_on_one_answer_are_both_named(store):
    seen = seen_of(store, ADA)
    give(store, ADA, 0.75, who="bea")
    with pytest.raises(ConflictError, match=r"bea changed this answer at .*: it has 0.75 points"):
        give(store, ADA, 0.25, who="carl", see=seen)
    assert [deed.who for deed in store.history(ADA)] == ["bea"]


def test_a_request_that_is_sent_twice_counts_once(store):
    assert give(store, ADA, 0.5, request="one")
    assert not give(store, ADA, 0.5, request="one", see={})
    assert len(store.history(ADA)) == 1


@pytest.mark.parametrize(
    ("key", "points", "comment"), [(ADA, 0.25, ""), (ADA, 0.5, "No."), (BO, 0.5, "")]
)
def test_a_form_that_is_sent_again_with_another_mark_is_no_replay(store, key, points, comment):
    give(store, ADA, 0.5, request="one")
    with pytest.raises(ConflictError, match="sent before, with another mark"):
        give(store, key, points, comment=comment, request="one", see={})
    assert store.states(LAB, "growth")["ada"].points == 0.5
    assert store.states(LAB, "growth")["bo"].points is None


def test_a_mark_for_a_text_that_was_replaced_since_is_not_given(out):
    texts = {ADA: "a"}
    store = desk_store.open_store(out, questions_of(find_lab(LAB)), texts.__getitem__)
    seen = seen_of(store, ADA, "a")
    texts[ADA] = "b"
    with pytest.raises(NewTextError, match="another text after you opened this page"):
        give(store, ADA, 0.5, see=seen)
    assert store.states(LAB, "growth")["ada"] == State()
    assert give(store, ADA, 0.5, see=seen_of(store, ADA, "b"))


def test_undo_takes_back_the_last_act_of_its_author_and_no_other(store):
    give(store, ADA, 0.5, who="bea")
    give(store, ADA, 0.75, who="bea")
    give(store, BO, 1.0, who="carl")
    assert store.undo("bea", "u1") == [ADA]
    assert store.states(LAB, "growth")["ada"].points == 0.5
    assert store.undo("bea", "u2") == [ADA]
    assert store.states(LAB, "growth")["ada"] == State()
    with pytest.raises(Refusal, match="nothing to undo"):
        store.undo("bea", "u3")
    assert store.states(LAB, "growth")["bo"].points == 1.0
    assert [deed.what for deed in store.history(ADA)] == ["marked", "marked", "undone", "undone"]


def test_undone_points_of_an_item_reach_answers_that_were_marked_meanwhile(store):
    item = store.items(LAB, ADA.question)[0]
    give(store, ADA, item.points, item.id)
    store.set_points(item.id, 0.5, "bea", "r1", n_seen=1)
    give(store, BO, 0.5, item.id, who="carl")
    assert set(store.undo("bea", "u1")) == {ADA, BO}
    states = store.states(LAB, ADA.question)
    assert {states[key.student].points for key in (ADA, BO)} == {item.points}


def test_points_of_an_item_that_somebody_else_changed_since_are_not_undone(store):
    item = store.items(LAB, ADA.question)[0]
    store.set_points(item.id, 0.5, "bea", "r1", n_seen=0)
    store.set_points(item.id, 0.75, "carl", "r2", n_seen=0)
    with pytest.raises(ConflictError, match=r"0\.75 points now"):
        store.undo("bea", "u1")
    assert store.items(LAB, ADA.question)[0].points == 0.75
    store.undo("carl", "u2")
    store.undo("bea", "u3")
    assert store.items(LAB, ADA.question)[0].points == item.points


def test_what_somebody_else_changed_since_is_not_undone(store):
    give(store, ADA, 0.5, who="bea")
    give(store, ADA, 0.75, who="carl")
    with pytest.raises(ConflictError, match="carl"):
        store.undo("bea", "u1")
    assert store.states(LAB, "growth")["ada"].points == 0.75


def test_new_points_of_an_item_change_all_answers_that_have_it_but_overridden_ones(store):
    first, second = store.items(LAB, "growth")[:2]
    give(store, ADA, 0.5, first.id, second.id)
    give(store, BO, 0.9, first.id)
    plan = store.plan_points(first.id, 0.5)
    assert {key.student: (old.points, new.points) for key, (old, new) in plan.changes.items()} == {
        "ada": (0.5, 0.75)
    }
    assert plan.kept == 1
    with pytest.raises(ConflictError):
        store.set_points(first.id, 0.5, "bea", "r0", n_seen=2)
    assert store.set_points(first.id, 0.5, "bea", "r1", n_seen=1)
    states = store.states(LAB, "growth")
    assert (states["ada"].points, states["bo"].points) == (0.75, 0.9)
    assert store.undo("bea", "r2") == [ADA]
    assert store.states(LAB, "growth")["ada"].points == 0.5
    assert store.items(LAB, "growth")[0].points == first.points


def test_items_and_history_survive_a_regrade_and_a_changed_answer_waits(out, store):
    item = store.items(LAB, "growth")[0]
    give(store, ADA, 0.25, item.id)
    give(store, BO, 0.25, item.id)
    record(out, [result_of("ada", fails=("training",))])
    record(out, [result_of("bo")], answers={"growth": "It grows with the square."})
    states = open_store(out).states(LAB, "growth")
    assert states["ada"] == State(0.25, "", (item.id,), False)
    assert states["bo"] == State(0.25, "", (item.id,), True)
    assert [deed.after.points for deed in store.history(ADA)] == [0.25]
    give(store, BO, 0.25, item.id)
    assert not store.states(LAB, "growth")["bo"].waits


def test_the_feedback_page_names_the_items_that_were_given(out, store):
    first, second = store.items(LAB, "growth")[:2]
    give(store, ADA, 0.25, first.id)
    done = CliRunner().invoke(app, ["report", str(out)])
    assert done.exit_code == 0, done.output
    page = (out / "feedback" / LAB / "ada.html").read_text()
    assert html.escape(first.text, quote=False) in page
    assert html.escape(second.text, quote=False) not in page


def test_items_that_people_changed_stay_when_the_desk_opens_again(out, store):
    item = store.items(LAB, "growth")[0]
    store.set_points(item.id, 0.4, "bea", "r", n_seen=0)
    store.add_item(LAB, "growth", "A unit is missing.", -0.1, "")
    items = open_store(out).items(LAB, "growth")
    assert items[0] == replace(item, points=0.4)
    assert [each.points for each in items[1:]] == [0.25, 0.25, 0.25, -0.1]


def test_every_mark_that_was_acknowledged_is_there_once_after_kills(out):
    """Two people mark at the same time, and are killed at any moment."""
    open_store(out)
    rng = random.Random(0)
    acknowledged = []
    for i in range(N_KILLS):
        people = [
            subprocess.Popen(
                [sys.executable, desk_store.__file__, out, f"{who}{i}"],
                stdout=subprocess.PIPE,
                text=True,
                env=os.environ | {"PYTHONPATH": REPOSITORY},
            )
            for who in ("bea", "carl")
        ]
        lines = [person.stdout.readline() for person in people]
        time.sleep(rng.random() * 0.05)
        for person in people:
            person.send_signal(signal.SIGKILL)
        for person, first in zip(people, lines, strict=True):
            acknowledged += (first + person.communicate()[0]).splitlines()
    store = open_store(out)
    by_request = {}
    for key in KEYS:
        deeds = store.history(key)
        for deed in deeds:
            by_request.setdefault(deed.after.comment, []).append(deed)
        before = [State(), *(deed.after for deed in deeds)]
        assert [deed.before for deed in deeds] == before[:-1]
        assert store.states(LAB, "growth")[key.student] == before[-1]
    assert len(acknowledged) > 2 * N_KILLS
    assert [request for request in acknowledged if len(by_request[request]) != 1] == []
    assert max(map(len, by_request.values())) == 1
